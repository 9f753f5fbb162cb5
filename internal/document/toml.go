package document

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlSyntax edits the lines of a document. Where they are it learns from the parser
// of go-toml, whose package is called unstable for its interface.
type tomlSyntax struct{}

func (tomlSyntax) decode(data []byte) (map[string]any, error) {
	out := make(map[string]any)
	err := toml.Unmarshal(data, &out)
	if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
		line, column := wrong.Position()
		return nil, &Error{Line: line, Column: column, Text: "this is not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	}
	if err != nil {
		return nil, &Error{Text: "this is not TOML"}
	}
	return out, nil
}

// expression is the header of a table or a key with its value.
type expression struct {
	path       []string // whole, also of a key in a table
	isTable    bool     // else it is a key
	start, end int      // of a key: of it and its value, without the comment behind
	value      int      // of a key: where its name ends
	line, next int      // where its first line begins, and the one behind its last
}

// expressions returns what a document consists of, besides comments and empty lines.
// Arrays of tables have a path of their own, in which no other table is.
func expressions(data []byte) ([]expression, error) {
	parser := unstable.Parser{}
	parser.Reset(data)
	var out []expression
	var table []string
	for parser.NextExpression() {
		node := parser.Expression()
		e := expression{isTable: node.Kind != unstable.KeyValue}
		keys := node.Key()
		for first := true; keys.Next(); first = false {
			key := keys.Node()
			e.path = append(e.path, string(key.Data))
			if e.value = int(key.Raw.Offset + key.Raw.Length); first {
				e.start = int(key.Raw.Offset)
			}
		}
		switch node.Kind {
		case unstable.ArrayTable:
			table = append([]string{"[]"}, e.path...)
			e.path = table
		case unstable.Table:
			table = e.path
		default:
			e.end = int(node.Raw.Offset + node.Raw.Length)
			e.path = slices.Concat(table, e.path)
		}
		e.line = 1 + bytes.LastIndexByte(data[:e.start], '\n')
		e.next = nextLine(data, max(e.end, e.value))
		out = append(out, e)
	}
	return out, parser.Error()
}

// nextLine returns where the line behind an offset begins.
func nextLine(data []byte, offset int) int {
	if n := bytes.IndexByte(data[offset:], '\n'); n >= 0 {
		return offset + n + 1
	}
	return len(data)
}

// isIn reports whether an expression is at a path or below it.
func (e expression) isIn(path []string) bool {
	return len(e.path) >= len(path) && slices.Equal(e.path[:len(path)], path)
}

func (tomlSyntax) set(data []byte, steps Path, fields []Field) ([]byte, error) {
	path, err := steps.names()
	if err != nil {
		return nil, err
	}
	all, err := expressions(data)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(e expression) bool { return e.isIn(path) }) {
		return appendTable(data, path, fields), nil
	}
	var splices []splice
	for _, f := range fields {
		s, err := setKey(data, all, path, f)
		if err != nil {
			return nil, err
		}
		splices = append(splices, s...)
	}
	return apply(data, splices), nil
}

// appendTable adds a table behind all others, after an empty line. A document whose
// last line does not end is left so.
func appendTable(data []byte, path []string, fields []Field) []byte {
	eol := lineEnd(data)
	var lines []string
	switch {
	case len(data) > 0 && data[len(data)-1] != '\n':
		lines = []string{string(data), ""}
	case len(data) > 0:
		lines = []string{string(data)}
	}
	lines = append(lines, "["+tomlKey(path...)+"]")
	for _, f := range fields {
		if f.Value != nil {
			lines = append(lines, tomlKey(f.Key)+" = "+encodeTOML(f.Value))
		}
	}
	if len(data) == 0 || data[len(data)-1] == '\n' {
		lines = append(lines, "")
	}
	return []byte(strings.Join(lines, eol))
}

// setKey returns how a key of a table is set.
func setKey(data []byte, all []expression, path []string, f Field) ([]splice, error) {
	whole := append(slices.Clone(path), f.Key)
	here := func(e expression) bool { return e.isIn(whole) }
	if f.Value == nil {
		return removeExpressions(data, all, whole), nil
	}
	line := tomlKey(f.Key) + " = " + encodeTOML(f.Value)
	if i := slices.IndexFunc(all, here); i >= 0 {
		if e := all[i]; !e.isTable && len(e.path) == len(whole) {
			return []splice{{e.value, e.end, " = " + encodeTOML(f.Value)}}, nil
		}
		return nil, errForm
	}
	header := slices.IndexFunc(all, func(e expression) bool { return e.isTable && slices.Equal(e.path, path) })
	if header < 0 {
		return nil, errForm
	}
	last := header
	for last+1 < len(all) && !all[last+1].isTable {
		last++
	}
	at := all[last].next
	if eol := lineEnd(data); at == len(data) && data[at-1] != '\n' {
		return []splice{{at, at, eol + line}}, nil
	} else {
		return []splice{{at, at, line + eol}}, nil
	}
}

// removeExpressions returns how all at a path and below it is removed, with what
// stands between.
func removeExpressions(data []byte, all []expression, path []string) (out []splice) {
	for i := 0; i < len(all); i++ {
		if !all[i].isIn(path) {
			continue
		}
		first := i
		for i+1 < len(all) && all[i+1].isIn(path) {
			i++
		}
		s := splice{start: all[first].line, end: all[i].next}
		if all[first].isTable {
			s = withEmptyLine(data, s)
		}
		out = append(out, s)
	}
	return out
}

// withEmptyLine returns the removal of a table with the empty line before it, unless
// another table stands directly behind.
func withEmptyLine(data []byte, s splice) splice {
	eol := lineEnd(data)
	before, behind := string(data[:s.start]), string(data[s.end:])
	if behind != "" && !strings.HasPrefix(behind, eol) {
		return s
	}
	if strings.HasSuffix(before, "\n"+eol) {
		s.start -= len(eol)
	}
	if behind == "" && data[s.end-1] != '\n' { // the last line does not end, as the one before shall not
		s.start -= len(eol)
	}
	s.start = max(s.start, 0)
	return s
}

func (tomlSyntax) remove(data []byte, steps Path) ([]byte, error) {
	path, err := steps.names()
	if err != nil {
		return nil, err
	}
	all, err := expressions(data)
	return apply(data, removeExpressions(data, all, path)), err
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// tomlKey returns a dotted key.
func tomlKey(path ...string) string {
	var parts []string
	for _, name := range path {
		if !bareKey.MatchString(name) {
			name = encodeJSON(name)
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ".")
}

// encodeTOML returns a value as TOML in one line. Strings are written as in JSON,
// which says the same in TOML.
func encodeTOML(value any) string {
	list, ok := value.([]string)
	if !ok {
		return encodeJSON(value)
	}
	var items []string
	for _, item := range list {
		items = append(items, encodeJSON(item))
	}
	return "[" + strings.Join(items, ", ") + "]"
}
