package install

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// entry returns the entry of a server with a name as the client writes it.
func (c Client) entry(name string, s Server) (entry object) {
	form := c.Stdio
	if s.URL != "" {
		form = c.HTTP
	}
	for part := range strings.SplitSeq(form, ", ") {
		key, value, hasValue := strings.Cut(part, ": ")
		of := field{key, s.URL}
		switch {
		case hasValue:
			of.value = jsontext.Value(value)
		case key == "name":
			of.value = name
		case key == "args":
			of.value = append([]string{}, s.Args...)
		case key == "args?" && len(s.Args) == 0:
			continue
		case key == "args?":
			of = field{"args", s.Args}
		case key == "command+args":
			of = field{"command", append([]string{s.Command}, s.Args...)}
		case slices.Contains(commands(), key):
			of.value = s.Command
		}
		entry = append(entry, of)
	}
	return entry
}

// addresses are the keys by which some client or version writes an address, and commands
// the keys of a command. They have the same meaning in all clients.
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
		if address := texts(entry[key]); len(address) == 1 && address[0] != "" {
			return Server{URL: plain(address[0])}
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

// put writes how the server is reached into a client's file. All else in its entry stays, but
// for what leads elsewhere or belongs to another way to a server. The arguments are shown
// only where they were given now.
func (c Client) put(f serversFile, o Options, wanted Server) error {
	shown := wanted
	if o.Args == nil {
		shown = wanted.masked()
	}
	set, shownAs := c.entry(f.name, wanted), c.entry(f.name, shown)
	if f.entry == nil {
		return f.set(set, shownAs, c.Servers, f.name)
	}
	stale := slices.Concat(leads(), ofHTTP())
	if wanted.URL != "" {
		stale = slices.Concat(leads(), ofStdio())
	}
	var err error
	for i, of := range set {
		isMissing := slices.Contains(ofHTTP(), of.key) && f.entry[of.key] == nil
		if err == nil && (isMissing || slices.Contains(leads(), of.key)) {
			err = f.set(of.value, shownAs[i].value, c.Servers, f.name, of.key)
		}
	}
	for _, key := range stale {
		isSet := slices.ContainsFunc(set, func(of field) bool { return of.key == key })
		if err == nil && !isSet && f.entry[key] != nil {
			err = f.set(nil, nil, c.Servers, f.name, key)
		}
	}
	return err
}
