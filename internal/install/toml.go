package install

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A server stands in a TOML file as its table and the tables below it, as codex mcp add
// writes them, too. Their lines alone are edited.

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

// errUnsafe is what is said of an entry of TOML that the edit of its lines would not do
// right, such as one in an inline table.
var errUnsafe = errors.New("it is written in a way that cannot be edited safely")

// section is a part of a TOML file: a header and what stands below it. The first one of a
// file has no header.
type section struct {
	lead string   // the comments and empty lines before the header
	path []string // the keys that the header names
	head string   // its line
	body string
}

// isBelow reports whether a section is the table at a path, or below it.
func (s section) isBelow(path ...string) bool {
	return len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path)
}

// sections returns the parts of a file. The comments and empty lines at its end are the
// lead of one without a header.
func sections(text string) (all []section) {
	lines := slices.Collect(strings.Lines(text))
	s, from := section{}, 0
	for n, line := range append(lines, "") {
		path := headerPath(line)
		if path == nil && n < len(lines) {
			continue
		}
		to := n
		for to > from && isNoContent(lines[to-1]) {
			to--
		}
		s.body = strings.Join(lines[from:to], "")
		all = append(all, s)
		s, from = section{lead: strings.Join(lines[to:n], ""), path: path, head: line}, n+1
	}
	return append(all, s)
}

// isNoContent reports whether a line is empty or a comment.
func isNoContent(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// headerPath returns the keys that a line names which is a header; nil for another line.
func headerPath(line string) (path []string) {
	if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "[") {
		return nil
	}
	root, err := decodeTOML([]byte(line))
	for err == nil && len(root) == 1 {
		for key, value := range root {
			path = append(path, key)
			if list, ok := value.([]any); ok && len(list) == 1 {
				value = list[0]
			}
			root, _ = value.(map[string]any)
		}
	}
	if err != nil || root == nil || len(root) > 0 {
		return nil
	}
	return path
}

// tomlKey is a key in the body of a section, with the lines that its value goes over; or
// lines without one, whose key is empty.
type tomlKey struct{ key, text string }

// tomlKeys returns the keys in the body of a section.
func tomlKeys(body string) (all []tomlKey) {
	var k tomlKey
	for line := range strings.Lines(body) {
		k.text += line
		root, err := decodeTOML([]byte(k.text))
		if err != nil {
			continue // the value goes on
		}
		for key := range root {
			k.key = key
		}
		all, k = append(all, k), tomlKey{}
	}
	return append(all, k)
}

// behind returns the comment behind the value of a key, with the space before it, and the
// line break.
func (k tomlKey) behind() string {
	for n := range len(k.text) {
		if k.text[n] != '#' {
			continue
		}
		if _, err := decodeTOML([]byte(k.text[:n])); err == nil {
			n = len(strings.TrimRight(k.text[:n], whiteSpace))
			return k.text[n:]
		}
	}
	return k.text[len(strings.TrimRight(k.text, "\r\n")):]
}

// setKeys gives the keys in the body of a section other values, and drops others. What is
// new stands behind the last one that is there.
func setKeys(body, newline string, set []tomlKey, drop []string) string {
	all, last := tomlKeys(body), 0
	all = slices.DeleteFunc(all, func(k tomlKey) bool { return k.key != "" && slices.Contains(drop, k.key) })
	for i, k := range all {
		if k.key != "" {
			last = i + 1
		}
	}
	for _, s := range set {
		if i := slices.IndexFunc(all, func(k tomlKey) bool { return k.key == s.key }); i >= 0 {
			indent := all[i].text[:len(all[i].text)-len(strings.TrimLeft(all[i].text, " \t"))]
			all[i].text = indent + s.text + all[i].behind()
		} else {
			all = slices.Insert(all, last, tomlKey{s.key, s.text + newline})
			last++
		}
	}
	var out strings.Builder
	for _, k := range all {
		out.WriteString(k.text)
	}
	return out.String()
}

// setTOML sets keys of a server in a table, and drops others. A new server stands behind
// all else.
func setTOML(data []byte, table, name string, set object, drop []string) ([]byte, error) {
	now, err := takeEntry(data, table, name)
	if err != nil {
		return nil, err
	}
	set = slices.DeleteFunc(slices.Clone(set), func(f field) bool { return isValue(now.entry, f) })
	if now.entry != nil && len(set)+len(drop) == 0 {
		return data, nil
	}
	text, newline := endedText(data)
	var keys []tomlKey
	for _, f := range set {
		value, err := inLine(f.value) // which TOML has as JSON has it
		if err != nil {
			return nil, err
		}
		keys = append(keys, tomlKey{f.key, f.key + " = " + value})
	}
	var edited string
	if now.entry == nil {
		edited, err = addTable(text, table, name, newline)
		edited += setKeys("", newline, keys, nil)
	} else {
		edited = editSections(text, func(s *section) (stays bool) {
			if len(s.path) == 2 && s.isBelow(table, name) {
				s.body = setKeys(s.body, newline, keys, drop)
			}
			return !slices.ContainsFunc(drop, func(key string) bool { return s.isBelow(table, name, key) })
		})
	}
	if err != nil || !isAsWanted(edited, table, name, now, set, drop) {
		return nil, errUnsafe
	}
	return []byte(edited), nil
}

// endedText returns a file whose last line has an end, and its line break.
func endedText(data []byte) (text, newline string) {
	text, newline = string(data), "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	if text != "" && text != byteOrderMark && !strings.HasSuffix(text, "\n") {
		text += newline
	}
	return text, newline
}

// addTable adds the header of a server's table behind what a file has, and an empty line
// before it.
func addTable(text, table, name, newline string) (edited string, err error) {
	key := name
	if !nameForm.MatchString(name) {
		key, err = inLine(name)
	}
	if strings.TrimPrefix(text, byteOrderMark) != "" {
		text += newline
	}
	return text + fmt.Sprintf("[%s.%s]%s", table, key, newline), err
}

// removeTOML removes a server from a table.
func removeTOML(data []byte, table, name string) ([]byte, error) {
	now, err := takeEntry(data, table, name)
	if err != nil {
		return nil, err
	}
	edited := editSections(string(data), func(s *section) bool { return !s.isBelow(table, name) })
	then, err := takeEntry([]byte(edited), table, name)
	if err != nil || then.entry != nil || then.rest != now.rest {
		return nil, errUnsafe
	}
	return []byte(edited), nil
}

// editSections edits the sections of a file. One that does not stay goes with the empty
// line before it, or with all that stands between it and another that went.
func editSections(text string, edit func(*section) (stays bool)) string {
	mark := ""
	if strings.HasPrefix(text, byteOrderMark) {
		mark, text = byteOrderMark, strings.TrimPrefix(text, byteOrderMark)
	}
	var out strings.Builder
	wentBefore := false
	for _, s := range sections(text) {
		stays := edit(&s)
		switch {
		case stays:
			out.WriteString(s.lead + s.head + s.body)
		case !wentBefore:
			lines := slices.Collect(strings.Lines(s.lead))
			if n := len(lines); n > 0 && strings.TrimSpace(lines[n-1]) == "" {
				lines = lines[:n-1]
			}
			out.WriteString(strings.Join(lines, ""))
		}
		wentBefore = !stays
	}
	return mark + out.String()
}

// entryAndRest is what a file says of a server, and of all else. The rest is a text since
// values may be no numbers, which are not equal to themselves.
type entryAndRest struct {
	entry map[string]any
	rest  string
}

// takeEntry reads what a file says.
func takeEntry(data []byte, table, name string) (e entryAndRest, err error) {
	root, err := decodeTOML(data)
	if servers, ok := root[table].(map[string]any); ok {
		e.entry, _ = servers[name].(map[string]any)
		if e.entry != nil {
			delete(servers, name)
		}
		if len(servers) == 0 {
			delete(root, table)
		}
	}
	e.rest = fmt.Sprintf("%#v", root)
	return e, err
}

// isAsWanted reports whether an edited file says what was wanted of a server, and all
// else as before.
func isAsWanted(edited, table, name string, before entryAndRest, set object, drop []string) bool {
	after, err := takeEntry([]byte(edited), table, name)
	if err != nil || after.rest != before.rest {
		return false
	}
	for _, f := range set {
		if !isValue(after.entry, f) {
			return false
		}
		delete(before.entry, f.key)
		delete(after.entry, f.key)
	}
	for _, key := range drop {
		delete(before.entry, key)
	}
	return len(before.entry) == len(after.entry) && (len(after.entry) == 0 || fmt.Sprintf("%#v", before.entry) == fmt.Sprintf("%#v", after.entry))
}

// isValue reports whether an entry has a value by its key.
func isValue(entry map[string]any, f field) bool {
	wanted, _ := inLine(f.value)
	now, err := inLine(entry[f.key])
	return err == nil && entry[f.key] != nil && now == wanted
}
