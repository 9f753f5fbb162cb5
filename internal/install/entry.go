package install

import (
	"slices"

	"todo-mcp/internal/document"
)

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
func (s shape) fields(name string, server Server) []document.Field {
	fields := slices.Clone(s.kind(server))
	if s.name != "" {
		fields = append(fields, document.Field{Key: s.name, Value: name})
	}
	return slices.Concat(fields, s.reach(server), s.both)
}

// kind returns the fields that say which kind of server it is.
func (s shape) kind(server Server) []document.Field {
	if server.URL != "" {
		return s.http
	}
	return s.stdio
}

// reach returns the fields that say where the server is.
func (s shape) reach(server Server) []document.Field {
	switch {
	case server.URL != "":
		return []document.Field{{Key: s.url, Value: server.URL}}
	case s.args == "":
		return []document.Field{{Key: s.command, Value: append([]string{server.Command}, server.Args...)}}
	}
	fields := []document.Field{{Key: s.command, Value: server.Command}}
	if s.noArgs || len(server.Args) > 0 {
		fields = append(fields, document.Field{Key: s.args, Value: append([]string{}, server.Args...)})
	}
	return fields
}

// update returns what makes an entry lead to another server. All else in it stays, but
// for what belongs to the other way to a server when that changes.
func (s shape) update(entry map[string]any, old, wanted Server) []document.Field {
	if old.URL == wanted.URL && old.Command == wanted.Command && slices.Equal(old.Args, wanted.Args) && s.isKind(entry, wanted) {
		return nil
	}
	fields := slices.Concat(s.kind(wanted), s.reach(wanted))
	var others []string
	switch {
	case old.URL == "" && wanted.URL != "":
		others = slices.Concat([]string{s.command, s.args}, ofStdio())
	case old.URL != "" && wanted.URL == "":
		others = slices.Concat(addresses(), ofHTTP())
	case wanted.URL != "":
		others = addresses()
	case !s.noArgs:
		others = []string{s.args}
	}
	for _, f := range s.kind(old) {
		others = append(others, f.Key)
	}
	for _, key := range others {
		if !slices.ContainsFunc(fields, func(f document.Field) bool { return f.Key == key }) && entry[key] != nil {
			fields = append(fields, document.Field{Key: key})
		}
	}
	return fields
}

// isKind reports whether an entry says nothing else than the kind of a server.
func (s shape) isKind(entry map[string]any, server Server) bool {
	return !slices.ContainsFunc(s.kind(server), func(f document.Field) bool {
		return entry[f.Key] != nil && !document.Equal(entry[f.Key], f.Value)
	})
}
