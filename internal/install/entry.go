package install

import "slices"

// shape returns the entry of a server with a name as a client writes it. The keys that
// lead to the server have the same meaning in all clients, see [read].
type shape func(name string, s Server) object

// usual is the shape that most clients have, but for the key of the address.
func usual(url string) shape {
	return func(_ string, s Server) object {
		switch {
		case s.URL != "":
			return object{{url, s.URL}}
		case len(s.Args) == 0:
			return object{{"command", s.Command}}
		}
		return object{{"command", s.Command}, {"args", s.Args}}
	}
}

// typed is the shape of a client that has the kind of a server in the field type, and the
// arguments also if there are none. More fields stand behind.
func typed(stdio, http string, more ...field) shape {
	return func(_ string, s Server) object {
		if s.URL != "" {
			return append(object{{"type", http}, {"url", s.URL}}, more...)
		}
		return append(object{{"type", stdio}, {"command", s.Command}, {"args", append([]string{}, s.Args...)}}, more...)
	}
}

// zedShape has the source, which versions of 2025 need, and the arguments, which all do.
func zedShape(_ string, s Server) object {
	if s.URL != "" {
		return object{{"url", s.URL}}
	}
	return object{{"source", "custom"}, {"command", s.Command}, {"args", append([]string{}, s.Args...)}}
}

func gooseShape(name string, s Server) object {
	entry := object{{"type", "stdio"}, {"name", name}, {"cmd", s.Command}, {"args", append([]string{}, s.Args...)}}
	if s.URL != "" {
		entry = object{{"type", "streamable_http"}, {"name", name}, {"uri", s.URL}}
	}
	return append(entry, object{{"enabled", true}, {"description", "The todo list"}, {"timeout", 300}}...)
}

// addresses are the keys by which some client or version writes an address, and commands
// the keys of a command.
func addresses() []string { return []string{"url", "httpUrl", "serverUrl", "uri"} }
func commands() []string  { return []string{"command", "cmd", "args"} }

// leads are the keys that lead to a server, with those that say which way.
func leads() []string { return slices.Concat(addresses(), commands(), []string{"type", "source"}) }

// ofStdio and ofHTTP are the keys that belong to one way to a server. Some clients
// refuse an entry that has keys of both.
func ofStdio() []string { return []string{"env", "envs", "env_keys", "env_vars", "envFile", "cwd"} }
func ofHTTP() []string {
	return []string{"headers", "http_headers", "env_http_headers", "bearer_token_env_var", "oauth", "auth"}
}

// read returns the server of an entry; the zero server of one that has none.
func read(entry map[string]any) Server {
	for _, key := range addresses() {
		if address := texts(entry[key]); len(address) == 1 {
			return Server{URL: address[0]}
		}
	}
	var all []string
	for _, key := range commands() {
		all = append(all, texts(entry[key])...)
	}
	if len(all) == 0 {
		return Server{}
	}
	return Server{Command: all[0], Args: all[1:]}
}

// texts returns a text, or a list of texts, as a list.
func texts(value any) (out []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, item := range value {
			text, _ := item.(string)
			out = append(out, text)
		}
	}
	return out
}

// put writes how the server is reached into a client's file, and shows a part of that. All
// else in its entry stays, but for what leads elsewhere or belongs to another way to a server.
func (c Client) put(f serversFile, wanted, shown Server) error {
	set, shownAs := c.shape(f.name, wanted), c.shape(f.name, shown)
	if f.entry == nil {
		return f.set(set, shownAs, c.servers, f.name)
	}
	stale := slices.Concat(leads(), ofHTTP())
	if wanted.URL != "" {
		stale = slices.Concat(leads(), ofStdio())
	}
	for i, of := range set {
		stale = slices.DeleteFunc(stale, func(key string) bool { return key == of.key })
		if !slices.Contains(leads(), of.key) {
			continue
		}
		if err := f.set(of.value, shownAs[i].value, c.servers, f.name, of.key); err != nil {
			return err
		}
	}
	for _, key := range stale {
		if f.entry[key] == nil {
			continue
		}
		if err := f.set(nil, nil, c.servers, f.name, key); err != nil {
			return err
		}
	}
	return nil
}
