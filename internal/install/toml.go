package install

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlFile is a TOML file as it is edited: of a server, which stands as a table and the
// tables below it, all lines are written anew, as Codex itself writes them, without
// comments. All else stays. Its paths are the table, the server and, if any, a key.
type tomlFile struct{ data []byte }

func parseTOML(data []byte) (*tomlFile, error) {
	_, err := decodeTOML(string(data))
	return &tomlFile{data}, err
}

// decodeTOML returns what a file says.
func decodeTOML(text string) (root map[string]any, err error) {
	err = toml.Unmarshal([]byte(strings.TrimPrefix(text, byteOrderMark)), &root)
	if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
		line, column := wrong.Position()
		err = contentError(fmt.Sprintf(":%d:%d: this is not TOML", line, column))
	} else if err != nil {
		err = contentError(": this is not TOML")
	}
	return root, err
}

func (f *tomlFile) text() []byte { return f.data }

func (f *tomlFile) isBare() bool { return len(bytes.TrimSpace(f.data)) == 0 }

func (f *tomlFile) at(path ...string) (value any) {
	value, _ = decodeTOML(string(f.data)) // which parseTOML has checked
	for _, key := range path {
		table, _ := value.(map[string]any)
		value = table[key]
	}
	return value
}

func (f *tomlFile) set(value any, path ...string) error {
	if isSame(f.at(path...), value) {
		return nil
	}
	entry, _ := f.at(path[:2]...).(map[string]any)
	fields, isWhole := value.(object)
	switch {
	case len(path) == 3 && value == nil:
		delete(entry, path[2])
	case len(path) == 3:
		entry[path[2]] = value
	case isWhole:
		entry = fields.fields()
	default:
		entry = nil
	}
	return f.write(entry, path[0], path[1])
}

// write writes a server in a table anew, or takes it out if entry is nil. A new one stands
// behind all else.
func (f *tomlFile) write(entry map[string]any, table, name string) error {
	newline := "\n"
	if bytes.Contains(f.data, []byte("\r\n")) {
		newline = "\r\n"
	}
	text, isMarked := strings.CutPrefix(string(f.data), byteOrderMark)
	before, behind := cutServer(text, table, name)
	block := ""
	if entry != nil {
		marshalled, err := toml.Marshal(map[string]any{table: map[string]any{name: entry}})
		if err != nil {
			return err
		}
		_, block, _ = strings.Cut(string(marshalled), "\n") // the header of the table of servers
		block = strings.ReplaceAll(block, "\n", newline)
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += newline
		}
		if before != "" {
			before += newline
		}
	}
	f.data = []byte(before + block + behind)
	if isMarked {
		f.data = append([]byte(byteOrderMark), f.data...)
	}
	return nil
}

// cutServer returns what stands before the tables of a server, without the empty line
// before them, and what stands behind, with the comments and empty lines before another
// table.
func cutServer(text, table, name string) (before, behind string) {
	var kept, lead []string
	at, isCut := -1, false
	for line := range strings.Lines(text) {
		if root, err := decodeTOML(line); err == nil && strings.HasPrefix(strings.TrimSpace(line), "[") {
			servers, _ := root[table].(map[string]any)
			wasCut := isCut
			isCut = servers[name] != nil
			if n := len(kept); isCut && !wasCut && n > 0 && strings.TrimSpace(kept[n-1]) == "" {
				kept = kept[:n-1]
			}
			if isCut && at < 0 {
				at = len(kept)
			}
		}
		content := strings.TrimSpace(line)
		switch {
		case !isCut:
			kept, lead = append(append(kept, lead...), line), nil
		case content == "" || content[0] == '#':
			lead = append(lead, line)
		default:
			lead = nil
		}
	}
	kept = append(kept, lead...)
	if at < 0 {
		at = len(kept)
	}
	return strings.Join(kept[:at], ""), strings.Join(kept[at:], "")
}
