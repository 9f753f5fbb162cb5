package install

import "slices"

// addresses are the keys by which some client or version writes an address.
func addresses() []string { return []string{"url", "httpUrl", "serverUrl", "uri"} }

// ofStdio and ofHTTP are the keys that belong to one way to a server. Some clients
// refuse an entry that has those of both.
func ofStdio() []string { return []string{"env", "envs", "env_keys", "env_vars", "envFile", "cwd"} }
func ofHTTP() []string {
	return []string{"headers", "http_headers", "env_http_headers", "bearer_token_env_var", "oauth", "auth"}
}

// read returns the server of an entry; the zero server of one that has none.
func (s shape) read(entry map[string]any) Server {
	for _, key := range addresses() {
		if address, ok := entry[key].(string); ok {
			return Server{URL: address}
		}
	}
	all := append(texts(entry[s.command]), texts(entry[s.args])...)
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

// fields returns a whole entry.
func (s shape) fields(name string, server Server) object {
	fields := slices.Clone(s.kind(server))
	if s.name != "" {
		fields = append(fields, field{s.name, name})
	}
	return slices.Concat(fields, s.reach(server), s.both)
}

// kind returns the fields that say which kind of server it is.
func (s shape) kind(server Server) object {
	if server.URL != "" {
		return s.http
	}
	return s.stdio
}

// reach returns the fields that say where the server is.
func (s shape) reach(server Server) object {
	switch {
	case server.URL != "":
		return object{{s.url, server.URL}}
	case s.args == "":
		return object{{s.command, append([]string{server.Command}, server.Args...)}}
	}
	fields := object{{s.command, server.Command}}
	if s.noArgs || len(server.Args) > 0 {
		fields = append(fields, field{s.args, append([]string{}, server.Args...)})
	}
	return fields
}

// update returns what makes an entry, which is nil for none, lead to a server: the keys
// to set, and others that lead elsewhere or belong to the other way to a server.
func (s shape) update(name string, entry map[string]any, wanted Server) (set object, drop []string) {
	if entry == nil {
		return s.fields(name, wanted), nil
	}
	set = slices.Concat(s.kind(wanted), s.reach(wanted))
	others := ofHTTP()
	if wanted.URL != "" {
		others = ofStdio()
	}
	others = slices.Concat(others, addresses(), []string{s.command, s.args})
	for _, f := range slices.Concat(s.stdio, s.http) {
		others = append(others, f.key)
	}
	for _, key := range others {
		isSet := slices.ContainsFunc(set, func(f field) bool { return f.key == key })
		if !isSet && entry[key] != nil && !slices.Contains(drop, key) {
			drop = append(drop, key)
		}
	}
	return set, drop
}
