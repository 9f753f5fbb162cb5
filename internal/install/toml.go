package install

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// readTOML returns what a TOML file says.
func readTOML(data []byte) (root map[string]any, err error) {
	err = toml.Unmarshal(data, &root)
	if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
		line, column := wrong.Position()
		err = contentError(fmt.Sprintf(":%d:%d: this is not TOML", line, column))
	} else if err != nil {
		err = contentError(": this is not TOML")
	}
	return root, err
}

// setTOML returns a TOML file with another value at a path, nil for none: a table, a server
// in it and, if any, a key. All lines of the server, which stands as a table and the tables
// below it, are written anew, as Codex itself writes them, without comments. All else stays.
// A new server stands behind all else.
func setTOML(data []byte, value any, path ...any) ([]byte, error) {
	root, err := readTOML(data)
	if err != nil || isSame(find(root, path), value) {
		return data, err
	}
	entry := value
	if len(path) > 2 {
		all, _ := find(root, path[:2]).(map[string]any)
		all[path[2].(string)] = value
		maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
		entry = all
	} else if fields, ok := value.(object); ok {
		fresh := make(map[string]any)
		for _, f := range fields {
			fresh[f.key] = f.value
		}
		entry = fresh
	}
	table, name := path[0].(string), path[1].(string)
	before, behind := cutServer(string(data), table, name)
	newline := newlineOf(data)
	if strings.HasSuffix(before, newline+newline) {
		before = strings.TrimSuffix(before, newline)
	}
	if entry == nil {
		return []byte(before + behind), nil
	}
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += newline
	}
	if before != "" {
		before += newline
	}
	block, err := toml.Marshal(map[string]any{table: map[string]any{name: entry}})
	_, text, _ := strings.Cut(string(block), "\n") // without the header of the table of servers
	return []byte(before + strings.ReplaceAll(text, "\n", newline) + behind), err
}

// cutServer returns what stands before the first table of a server, and what stands behind,
// with the comments and empty lines before another table.
func cutServer(text, table, name string) (before, behind string) {
	var kept [2]strings.Builder
	at, isCut, lead := 0, false, ""
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		if root, err := readTOML([]byte(line)); err == nil && strings.HasPrefix(content, "[") {
			servers, _ := root[table].(map[string]any)
			if isCut = servers[name] != nil; isCut {
				at = 1
			}
		}
		switch {
		case !isCut:
			kept[at].WriteString(lead + line)
			lead = ""
		case content == "" || content[0] == '#':
			lead += line
		default:
			lead = ""
		}
	}
	return kept[0].String(), kept[1].String() + lead
}
