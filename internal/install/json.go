package install

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

type (
	field struct {
		key   string
		value any
	}
	object []field // a JSON object whose keys keep their order
)

// MarshalJSONTo implements [json.MarshalerTo].
func (o object) MarshalJSONTo(out *jsontext.Encoder) error {
	err := out.WriteToken(jsontext.BeginObject)
	for _, f := range o {
		err = errors.Join(err, out.WriteToken(jsontext.String(f.key)), json.MarshalEncode(out, f.value))
	}
	return errors.Join(err, out.WriteToken(jsontext.EndObject))
}

// inLine returns a value, made here or decoded from a file, as one line of JSON. The line is also JavaScript and, for a
// string, TOML. Invalid UTF-8, which a program's path may have, is replaced.
func inLine(value any) string {
	text, _ := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	return string(text)
}

// errorAt returns an error with a text and the line and column (in bytes) of the byte at index n of a file.
func errorAt(data []byte, n int, text string) error {
	before := data[:min(n, len(data))]
	line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
	return fmt.Errorf(":%d:%d: %s", line, column, text)
}

const maxDepth = 10_000 // how deep brackets may be nested: the parser recurses at each level

// isTooDeep reports whether brackets outside of strings are nested deeper than maxDepth.
func isTooDeep(data []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(data) && depth <= maxDepth; i++ {
		switch c := data[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++
		case !inText && (c == '{' || c == '['):
			depth++
		case !inText && (c == '}' || c == ']'):
			depth--
		}
	}
	return depth > maxDepth
}

// readJSON reads a file of JSON, perhaps with comments. Its root must be an object; an empty file counts as an empty
// object. A duplicate key is an error, since programs differ in which of the two values they use.
func readJSON(data []byte) (root map[string]any, err error) {
	if isBlank(data) {
		return nil, nil
	}
	if isTooDeep(data) {
		return nil, fmt.Errorf(": brackets stand in each other, more than %d deep", maxDepth)
	}
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n')) // the newline ends a comment
	if err != nil {
		line, column := 1, 1
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column)
		if line > 1+bytes.Count(data, []byte("\n")) { // past the end
			return nil, errorAt(data, len(data), "this is not JSON")
		}
		return nil, fmt.Errorf(":%d:%d: this is not JSON", line, column)
	}
	wrong := (*jsontext.SyntacticError)(nil)
	switch err := json.Unmarshal(plain, &root); {
	case errors.As(err, &wrong) && errors.Is(err, jsontext.ErrDuplicateName):
		return nil, errorAt(data, int(wrong.ByteOffset), strconv.Quote(wrong.JSONPointer.LastToken())+" is there twice")
	case errors.As(err, &wrong):
		return nil, errorAt(data, int(wrong.ByteOffset), "this is not JSON in UTF-8")
	case err != nil || root == nil:
		return nil, errorAt(data, len(data)-len(bytes.TrimLeft(data, whiteSpace)), "this is not a JSON object")
	}
	return root, nil
}

// pointer returns a path as a JSON pointer (RFC 6901).
func pointer(path []any) (text string) {
	for _, step := range path {
		if step == newItem {
			step = "-"
		}
		text += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step))
	}
	return text
}

// setJSON returns a file of JSON with the value at a path set, or removed if it is nil. All other bytes are kept.
func setJSON(data []byte, value any, path []any) ([]byte, error) {
	if isBlank(data) {
		data = []byte("{}\n")
	}
	tree, _ := hujson.Parse(append(bytes.Clone(data), '\n')) // cannot fail: readJSON has parsed it
	if value == nil {
		return removeJSON(data, &tree, path), nil
	}
	n := len(path)
	for tree.Find(pointer(path[:n])) == nil {
		n--
	}
	in := tree.Find(pointer(path[:n]))
	kind := in.Value.Kind()
	if n == len(path) || kind == 'n' {
		indent, _ := indentOf(data, in.StartOffset)
		lines := kind == 'n' || bytes.Contains(data[in.StartOffset:in.EndOffset], []byte("\n"))
		text, err := marshal(data, wrapped(value, path[n:]), indent, lines)
		return slices.Concat(data[:in.StartOffset], text, data[in.EndOffset:]), err
	}
	switch _, isName := path[n].(string); {
	case isName && kind != '{':
		return nil, fmt.Errorf(": %s is not an object", shownPath(path[:n]))
	case !isName && kind != '[':
		return nil, fmt.Errorf(": %s is not an array", shownPath(path[:n]))
	}
	return insertJSON(data, in, path[n], wrapped(value, path[n+1:]))
}

// wrapped puts a value into new objects and arrays, one for each step of a path.
func wrapped(value any, path []any) any {
	for _, step := range slices.Backward(path) {
		if name, isName := step.(string); isName {
			value = object{{name, value}}
		} else {
			value = []any{value}
		}
	}
	return value
}

// part has the offsets of a member or item, and of the comma after it; if none follows, of the closing bracket.
type part struct{ from, to, comma int }

// parts returns the parts of an object or array; none for other values.
func parts(in *hujson.Value) (all []part) {
	add := func(from int, v hujson.Value) {
		all = append(all, part{from, v.EndOffset, v.EndOffset + len(v.AfterExtra)})
	}
	switch in := in.Value.(type) {
	case *hujson.Object:
		for _, m := range in.Members {
			add(m.Name.StartOffset, m.Value)
		}
	case *hujson.Array:
		for _, item := range in.Elements {
			add(item.StartOffset, item)
		}
	}
	return all
}

const whiteSpace = " \t\r\n"

// indentOf returns the indentation of the line at an offset, and whether nothing else in the line precedes the offset.
func indentOf(data []byte, at int) (indent string, ownLine bool) {
	line := data[bytes.LastIndexByte(data[:at], '\n')+1 : at]
	indent = string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	return indent, len(indent) == len(line) && len(line) < at
}

var firstIndent = regexp.MustCompile(`\n([ \t]+)"`)

// marshal returns a value as JSON on one line or, if lines is true, on several: in data's style, indented by indent.
func marshal(data []byte, value any, indent string, lines bool) ([]byte, error) {
	if !lines {
		return []byte(inLine(value)), nil
	}
	text, err := json.Marshal(value, jsontext.WithIndentPrefix(indent), jsontext.WithIndent(unitOf(data)))
	return bytes.ReplaceAll(text, []byte("\n"), []byte(newlineOf(data))), err
}

// unitOf returns the indentation of one level in data.
func unitOf(data []byte) string {
	if first := firstIndent.FindSubmatch(data); first != nil {
		return string(first[1])
	}
	return "  "
}

// newlineOf returns the line end that data uses.
func newlineOf(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// insertJSON appends a part to an object or array. A comment on the line of the last part stays on that line.
func insertJSON(data []byte, in *hujson.Value, step, value any) ([]byte, error) {
	all, newline := parts(in), newlineOf(data)
	indent, _ := indentOf(data, in.StartOffset)
	at, lines, comma, behind := in.StartOffset+1, true, "", ""
	if n := len(all); n > 0 {
		last := all[n-1]
		indent, lines = indentOf(data, last.from)
		at, comma = last.to, ","
		if data[last.comma] == ',' {
			at, comma, behind = last.comma+1, "", ","
		}
	} else {
		if !bytes.Contains(data[at:in.EndOffset], []byte("\n")) {
			behind = newline + indent
		}
		indent += unitOf(data)
	}
	line, _, _ := bytes.Cut(data[at:in.EndOffset-1], []byte("\n"))
	comments := bytes.TrimRight(line, whiteSpace)
	begin := " "
	if lines {
		begin = newline + indent
	}
	if name, isName := step.(string); isName {
		begin += inLine(name) + ": "
	}
	text, err := marshal(data, value, indent, lines)
	return slices.Concat(data[:at], []byte(comma), comments, []byte(begin), text, []byte(behind), data[at+len(comments):]), err
}

// removeJSON removes the value at a path with one comma, and its line if that becomes empty; comments stay. It also
// removes each surrounding object or array that becomes empty. The only member of the root stays, even if empty: some
// clients refuse a file without the object of servers.
func removeJSON(data []byte, tree *hujson.Value, path []any) []byte {
	n := len(path) - 1
	in, gone := tree.Find(pointer(path[:n])), tree.Find(pointer(path))
	for n > 0 && len(parts(in)) == 1 && in.IsStandard() && (n > 1 || len(parts(tree)) > 1) {
		n--
		in, gone = tree.Find(pointer(path[:n])), in
	}
	all := parts(in)
	i := slices.IndexFunc(all, func(p part) bool { return p.to == gone.EndOffset })
	before, between, behind := data[:all[i].from], data[all[i].to:all[i].comma], data[all[i].comma:]
	if behind[0] == ',' {
		behind = behind[1:]
	} else if i > 0 {
		at := all[i-1].comma
		before = slices.Concat(before[:at], before[at+1:])
	}
	before, behind = bytes.TrimRight(before, " \t"), slices.Concat(between, behind)
	if line, rest, ends := bytes.Cut(behind, []byte("\n")); ends && isBlank(line) && bytes.HasSuffix(before, []byte("\n")) {
		behind = rest
	}
	if from := in.StartOffset + 1; len(all) == 1 && isBlank(before[from:]) {
		before, behind = before[:from], bytes.TrimLeft(behind, whiteSpace)
	}
	return slices.Concat(before, behind)
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, whiteSpace)) == 0 }
