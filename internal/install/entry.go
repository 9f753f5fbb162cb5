package install

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func (c Client) entry(name string, s Server) object {
	form := c.Stdio
	if s.URL != "" {
		form = c.HTTP
	}
	args := append([]string{}, s.Args...)
	if len(args) == 0 {
		form = strings.TrimSuffix(form, ", args?")
	}
	return fill(form, map[string]any{
		"name": name, "args": args, "args?": args, "command+args": append([]string{s.Command}, args...),
		"command": s.Command, "cmd": s.Command, "url": s.URL, "httpUrl": s.URL, "serverUrl": s.URL, "uri": s.URL,
	})
}

// fill makes an object from a form, such as `type: "stdio", command, args?`. The JSON after a colon is the field's
// value. A field without a colon takes its value from the map values. A key loses a final ?, and all from a + on.
func fill(form string, values map[string]any) (all object) {
	for part := range strings.SplitSeq(form, ", ") {
		key, text, hasValue := strings.Cut(part, ": ")
		of := field{strings.TrimRight(key, "?"), values[key]}
		if of.key, _, _ = strings.Cut(of.key, "+"); hasValue {
			of.value = jsontext.Value(text)
		}
		all = append(all, of)
	}
	return all
}

var (
	// addresses are the keys that clients of any version use for an address; commands are the keys for a command.
	addresses = []string{"url", "httpUrl", "serverUrl", "uri"}
	commands  = []string{"command", "cmd", "args"}
	// leads are all keys that say how to reach a server.
	leads = slices.Concat(addresses, commands, []string{"type", "source"})
	// ofStdio are keys that fit only a command, ofHTTP keys that fit only an address. Some clients refuse unfit keys.
	ofStdio = []string{"env", "envs", "env_keys", "env_vars", "envFile", "cwd"}
	ofHTTP  = []string{"headers", "http_headers", "env_http_headers", "bearer_token_env_var", "oauth", "auth"}
)

// read returns the server of an entry; the zero Server for none.
func read(entry map[string]any) Server {
	for _, key := range addresses {
		if address := texts(entry[key]); len(address) == 1 && address[0] != "" {
			return Server{URL: plain(address[0])}
		}
	}
	var all []string
	for _, key := range commands {
		all = append(all, texts(entry[key])...)
	}
	if len(all) == 0 {
		return Server{}
	}
	return Server{Command: all[0], Args: all[1:]}
}

// texts returns a string, or an array of strings, as a list.
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

// put writes the server's command or address into its entry, and removes keys for the other transport (stdio or HTTP).
func (c Client) put(f serversFile, wanted Server) (err error) {
	set, shown := c.entry(f.name, wanted), c.entry(f.name, Server{wanted.Command, wanted.shownArgs(), wanted.URL})
	if f.entry == nil {
		return f.setShown(set, shown, c.Servers, f.name)
	}
	stale := slices.Concat(leads, ofHTTP)
	if wanted.URL != "" {
		stale = slices.Concat(leads, ofStdio)
	}
	for i, of := range set {
		isMissing := slices.Contains(ofHTTP, of.key) && f.entry[of.key] == nil
		if isMissing || slices.Contains(leads, of.key) {
			err = cmp.Or(err, f.setShown(of.value, shown[i].value, c.Servers, f.name, of.key))
		}
		stale = slices.DeleteFunc(stale, func(key string) bool { return key == of.key })
	}
	for _, key := range stale {
		err = cmp.Or(err, f.set(nil, c.Servers, f.name, key))
	}
	return err
}
