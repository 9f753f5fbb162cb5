package install

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// format reads and edits files of one syntax. A path consists of keys (strings) and indices (ints).
type format struct {
	read func(data []byte) (map[string]any, error)
	// write returns data with the value set at a path, and adds missing parents. A nil value removes the old value.
	write func(data []byte, value any, path []any) ([]byte, error)
}

func formatOf(path string) format {
	switch filepath.Ext(path) {
	case ".js":
		return format{readPlugin, setPlugin}
	case ".toml":
		return format{readTOML, setTOML}
	}
	return format{readJSON, setJSON}
}

const newItem = -1 // the index of an item to append

func readTOML(data []byte) (root map[string]any, err error) {
	root = make(map[string]any)
	err = toml.Unmarshal(data, &root)
	if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
		line, column := wrong.Position()
		err = fmt.Errorf(":%d:%d: this is not TOML", line, column)
	} else if err != nil {
		err = errors.New(": this is not TOML")
	}
	return root, err
}

// setTOML implements format.write for two kinds of paths: a table, a server in it and perhaps a key; or an array of
// tables and an index, to append or remove an item. It writes the server or item anew, without comments, where it
// was or at the end of the file, and keeps all other lines. If that is not possible, it returns errNotEdited.
func setTOML(data []byte, value any, path []any) ([]byte, error) {
	old, err := readTOML(data)
	block, wrong := tomlOf(old, value, path)
	table := path[0].(string)
	before, behind := cutTOML(string(data), table, path[1])
	newline := newlineOf(data)
	if strings.HasSuffix(before, newline+newline) {
		before = strings.TrimSuffix(before, newline)
	}
	if block != "" {
		if before != "" {
			before = strings.TrimSuffix(before, newline) + newline + newline
		}
		before += strings.ReplaceAll(block, "\n", newline)
	}
	text := []byte(before + behind)
	now, broken := readTOML(text)
	added := path[1]
	if items, _ := now[table].([]any); added == newItem {
		added = len(items) - 1
	} else if block == "" {
		added = nil
	}
	if broken != nil || besides(old, table, path[1]) != besides(now, table, added) {
		wrong = errNotEdited
	}
	return text, cmp.Or(err, wrong)
}

// besides returns a file as text without one server, given by its name, or one item, given by its index. For nil or
// newItem nothing is left out.
func besides(root map[string]any, table string, which any) string {
	servers, isTable := root[table].(map[string]any)
	items, isArray := root[table].([]any)
	if name, isServer := which.(string); isServer {
		delete(servers, name)
	} else if n, isItem := which.(int); isItem && n != newItem {
		items = slices.Delete(items, n, n+1)
		root[table] = items
	}
	if (isTable || isArray) && len(servers)+len(items) == 0 { // an empty table counts as none
		delete(root, table)
	}
	return fmt.Sprintf("%#v", root) // DeepEqual would find NaN unequal
}

// tomlOf returns the TOML of the whole server or item at a path after a value is set in it; empty if it is removed.
func tomlOf(root map[string]any, value any, path []any) (block string, err error) {
	table := path[0].(string)
	entry, _ := at(root, path[:2]).(map[string]any)
	fields, isWhole := value.(object)
	switch {
	case len(path) == 2 && !isWhole:
		return "", nil
	case path[1] == newItem:
		block = "[[" + table + "]]\n"
		for _, of := range fields {
			block += of.key + " = " + inLine(of.value) + "\n"
		}
		return block, nil
	case isWhole:
		entry, _ = plainJSON(value).(map[string]any)
	case value == nil:
		delete(entry, path[2].(string))
	default:
		entry[path[2].(string)] = plainJSON(value)
	}
	data, err := toml.Marshal(map[string]any{table: map[string]any{path[1].(string): entry}})
	_, block, _ = strings.Cut(string(data), "\n") // cuts the header of the outer table
	return block, err
}

// cutTOML cuts a server's tables, given by its name, or an item, given by its index, out of a text. It returns the text
// before the first cut, and the rest. Comments and blank lines before another table stay.
func cutTOML(text, table string, which any) (before, behind string) {
	var kept [2]strings.Builder
	at, isCut, lead, n := 0, false, "", 0
	name, _ := which.(string)
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		if root, err := readTOML([]byte(line)); err == nil && strings.HasPrefix(content, "[") {
			servers, _ := root[table].(map[string]any)
			items, _ := root[table].([]any)
			if isCut = servers[name] != nil || len(items) > 0 && which == n; isCut {
				at = 1
			}
			n += len(items)
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

// yamlOf returns an object as YAML, for [Client.ByHand]. Strings and arrays stay JSON, which is valid YAML.
func yamlOf(all map[string]any, indent string) (out string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out += indent + key + ":"
		if below, isObject := all[key].(map[string]any); isObject {
			out += "\n" + yamlOf(below, indent+"  ")
		} else {
			out += " " + inLine(all[key]) + "\n"
		}
	}
	return out
}

var (
	//go:embed opencode.js
	opencodePlugin string
	//go:embed sidebar.js
	sidebarPlugin string
)

func plugin(host, command string, kinds []Kind) string {
	return strings.NewReplacer(`"todo-mcp hook"`, inLine(command), "const kinds = []", "const kinds = "+inLine(kinds),
		`const host = "opencode"`, `const host = "`+host+`"`).Replace(opencodePlugin)
}

const sidebarCommand = "show --json" // the command whose output the sidebar draws

var kindsLine = regexp.MustCompile(`(?m)^const kinds = .*$`) // the line of a plugin with its kinds

// readPlugin returns, for a plugin of ours, a root whose only value is the whole text; nil for another plugin.
func readPlugin(data []byte) (root map[string]any, err error) {
	for _, text := range []string{opencodePlugin, sidebarPlugin} {
		if begin, _, _ := strings.Cut(text, "\n"); bytes.HasPrefix(data, []byte(begin)) {
			root = map[string]any{pluginPath: string(data)}
		}
	}
	return root, nil
}

// setPlugin returns the new content of a plugin: the given text, or nothing for nil. It refuses data of other plugins.
func setPlugin(data []byte, text any, _ []any) ([]byte, error) {
	if root, _ := readPlugin(data); root == nil && len(data) > 0 {
		return nil, errors.New(": this is another plugin, which stays")
	}
	after, _ := text.(string)
	return []byte(after), nil
}
