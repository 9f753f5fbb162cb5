package install

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A server stands in a TOML file as a block between two marks, at its end. The block
// alone is edited: what stands outside of it is read.

// decodeTOML returns what a file says.
func decodeTOML(data []byte) (root map[string]any, err error) {
	var wrong *toml.DecodeError
	if err = toml.Unmarshal(bytes.TrimPrefix(data, []byte(byteOrderMark)), &root); errors.As(err, &wrong) {
		e := &placeError{text: "this is not TOML"}
		e.line, e.column = wrong.Position()
		return nil, e
	}
	if err != nil {
		return nil, &placeError{text: "this is not TOML"}
	}
	return root, nil
}

// block returns the form of the block of a server, with the empty line before it.
func block(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?ms)(?:^\r?\n)?^# >>> todo-mcp ` + name + `\r?\n(.*?)^# <<< todo-mcp ` + name + `$(?:\r?\n)?`)
}

// setTOML sets keys of the block of a server in a table, and drops others. A new block
// stands behind all else.
func setTOML(data []byte, table, name string, set object, drop []string) ([]byte, error) {
	var b strings.Builder
	header := fmt.Sprintf("[%s.%s]\n", table, name)
	fmt.Fprintf(&b, "# >>> todo-mcp %s\n%s", name, header)
	for _, f := range set {
		drop = append(drop, f.key)
		value, err := inLine(f.value) // which TOML has as JSON has it
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s = %s\n", f.key, value)
	}
	form, end := block(name), "# <<< todo-mcp "+name+"\n"
	var edited []byte
	if at := form.FindSubmatchIndex(data); at != nil {
		for line := range strings.Lines(strings.TrimPrefix(string(data[at[2]:at[3]]), header)) {
			key, _, _ := strings.Cut(line, "=")
			if !slices.Contains(drop, strings.TrimSpace(key)) {
				b.WriteString(line)
			}
		}
		edited = slices.Concat(data[:at[0]], emptyLine(data[:at[0]]), []byte(b.String()+end), data[at[1]:])
	} else {
		if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
			data = append(bytes.Clone(data), '\n')
		}
		edited = slices.Concat(data, emptyLine(data), []byte(b.String()+end))
	}
	if _, err := decodeTOML(edited); err != nil {
		return nil, errors.New("it is written in a way that cannot be added to safely: --print shows what to write")
	}
	return edited, nil
}

// emptyLine returns an empty line behind what is not empty.
func emptyLine(before []byte) []byte {
	if len(before) == 0 {
		return nil
	}
	return []byte("\n")
}
