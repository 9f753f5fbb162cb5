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

// field is a key of an entry and its value; object is a JSON object whose keys keep
// their order.
type (
	field struct {
		key   string
		value any
	}
	object []field
)

// MarshalJSONTo writes the object.
func (o object) MarshalJSONTo(out *jsontext.Encoder) error {
	err := out.WriteToken(jsontext.BeginObject)
	for _, f := range o {
		err = errors.Join(err, out.WriteToken(jsontext.String(f.key)), json.MarshalEncode(out, f.value))
	}
	return errors.Join(err, out.WriteToken(jsontext.EndObject))
}

// inLine returns a value as JSON in one line.
func inLine(value any) (string, error) {
	text, err := json.Marshal(value, json.Deterministic(true), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	return string(text), err
}

// errorAt returns an error for the byte n of a file. Lines and columns count from 1, columns
// in bytes.
func errorAt(data []byte, n int, text string) error {
	before := data[:min(n, len(data))]
	line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
	return fmt.Errorf(":%d:%d: %s", line, column, text)
}

// maxBrackets is how many brackets a file may open. Each may be within the one before, and
// the parser would use up the stack.
const maxBrackets = 300_000

// readJSON reads a file of JSON, which may have comments. Its root must be an object; an
// empty file is as one that has an empty object. A name that is twice in an object is an
// error: programs take different ones of the two.
func readJSON(data []byte) (root map[string]any, err error) {
	if isBlank(data) {
		return nil, nil
	}
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxBrackets {
		return nil, fmt.Errorf(": it has more than %d brackets", maxBrackets)
	}
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n')) // which ends a comment
	if err != nil {
		line, column := 1, 1
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column)
		if line > 1+bytes.Count(data, []byte("\n")) { // behind the end
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

// setJSON returns a file of JSON with another value at a path, nil for none. All bytes stay
// that the value is not about. A new part stands behind the others.
func setJSON(data []byte, value any, path ...any) ([]byte, error) {
	if isBlank(data) {
		data = []byte("{}\n")
	}
	tree, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		return nil, err
	}
	n := len(path)
	for tree.Find(pointer(path[:n])) == nil {
		n--
	}
	in := tree.Find(pointer(path[:n]))
	kind := in.Value.Kind()
	switch {
	case value == nil:
		removeJSON(&tree, path)
	case n == len(path) || kind == 'n':
		indent, _ := indentOf(data, in.StartOffset)
		lines := kind == 'n' || bytes.Contains(data[in.StartOffset:in.EndOffset], []byte("\n"))
		in.Value, err = marshal(data, wrapped(value, path[n:]), indent, lines)
	case isName(path[n]) && kind != '{':
		err = fmt.Errorf(": %s is not an object", shownPath(path[:n]))
	case !isName(path[n]) && kind != '[':
		err = fmt.Errorf(": %s is not an array", shownPath(path[:n]))
	default:
		err = insertJSON(data, in, path[n], wrapped(value, path[n+1:]))
	}
	text := tree.Pack()
	return text[:len(text)-1], err
}

func isName(step any) bool {
	_, is := step.(string)
	return is
}

// wrapped returns a value with the objects and arrays around it that lead to it.
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

// part is a member of an object or an item of an array: its value, what stands before it
// and where it begins.
type part struct {
	value  *hujson.Value
	before *hujson.Extra
	from   int
}

// parts returns the parts of an object or array, and what stands behind them; nothing for
// another value.
func parts(in *hujson.Value) (all []part, end *hujson.Extra) {
	switch in := in.Value.(type) {
	case *hujson.Object:
		for i := range in.Members {
			m := &in.Members[i]
			all = append(all, part{&m.Value, &m.Name.BeforeExtra, m.Name.StartOffset})
		}
		end = &in.AfterExtra
	case *hujson.Array:
		for i := range in.Elements {
			item := &in.Elements[i]
			all = append(all, part{item, &item.BeforeExtra, item.StartOffset})
		}
		end = &in.AfterExtra
	}
	return all, end
}

const whiteSpace = " \t\r\n"

// indentOf returns the indentation of the line of a place, and whether the place is the first
// thing in it.
func indentOf(data []byte, at int) (indent string, ownLine bool) {
	line := data[bytes.LastIndexByte(data[:at], '\n')+1 : at]
	indent = string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	return indent, len(indent) == len(line) && len(line) < at
}

var firstIndent = regexp.MustCompile(`\n([ \t]+)"`)

// marshal returns a value in one line, or in lines with an indentation, as data has them.
func marshal(data []byte, value any, indent string, lines bool) (hujson.Literal, error) {
	if !lines {
		text, err := inLine(value)
		return hujson.Literal(text), err
	}
	text, err := json.Marshal(value, jsontext.WithIndentPrefix(indent), jsontext.WithIndent(unitOf(data)))
	return bytes.ReplaceAll(text, []byte("\n"), []byte(newlineOf(data))), err
}

// unitOf returns the indentation of one level.
func unitOf(data []byte) string {
	if first := firstIndent.FindSubmatch(data); first != nil {
		return string(first[1])
	}
	return "  "
}

// newlineOf returns what ends a line.
func newlineOf(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// insertJSON puts a new part behind the others of an object or array, and behind the
// comments in their line.
func insertJSON(data []byte, in *hujson.Value, step, value any) (err error) {
	all, end := parts(in)
	indent, _ := indentOf(data, in.StartOffset)
	newline, lines, fresh := newlineOf(data), true, hujson.Value{}
	if n := len(all); n > 0 {
		indent, lines = indentOf(data, all[n-1].from)
		if all[n-1].value.AfterExtra != nil { // there is a comma behind it
			fresh.AfterExtra = hujson.Extra{}
		}
	} else {
		if !bytes.Contains(*end, []byte("\n")) {
			*end = append(*end, newline+indent...)
		}
		indent += unitOf(data)
	}
	line, _, _ := bytes.Cut(*end, []byte("\n"))
	before := bytes.TrimRight(line, whiteSpace)
	*end = (*end)[len(before):]
	if before = bytes.Clone(before); lines {
		before = append(before, newline+indent...)
	} else {
		before = append(before, ' ')
	}
	fresh.Value, err = marshal(data, value, indent, lines)
	switch in := in.Value.(type) {
	case *hujson.Object:
		fresh.BeforeExtra = hujson.Extra(" ")
		name := hujson.Value{BeforeExtra: before, Value: hujson.String(step.(string))}
		in.Members = append(in.Members, hujson.ObjectMember{Name: name, Value: fresh})
	case *hujson.Array:
		fresh.BeforeExtra = before
		in.Elements = append(in.Elements, fresh)
	}
	return err
}

// removeJSON removes the value at a path, and the objects and arrays above it that have
// nothing else: some clients refuse a file without the object of its servers, which stays
// if it is all there is.
func removeJSON(tree *hujson.Value, path []any) {
	n := len(path) - 1
	above := func() *hujson.Value { return tree.Find(pointer(path[:n])) }
	gone := tree.Find(pointer(path))
	for {
		all, _ := parts(above())
		rest, _ := parts(tree)
		if n == 0 || len(all) != 1 || !above().IsStandard() || n == 1 && len(rest) == 1 {
			break
		}
		gone = above()
		n--
	}
	cutPart(above(), gone)
}

// cutPart cuts a part of an object or array out, with its line if that has nothing else.
// The comments around it stay.
func cutPart(in, gone *hujson.Value) {
	all, end := parts(in)
	i := slices.IndexFunc(all, func(p part) bool { return p.value == gone })
	next := end
	if i+1 < len(all) {
		next = all[i+1].before
	}
	kept := bytes.TrimRight(*all[i].before, " \t")
	if line, rest, ends := bytes.Cut(*next, []byte("\n")); ends && isBlank(line) && bytes.HasSuffix(kept, []byte("\n")) {
		*next = rest
	}
	*next = slices.Concat(kept, *next)
	if len(all) == 1 && isBlank(*next) {
		*next = nil
	}
	if i > 0 && i+1 == len(all) { // the one before is the last now
		last := all[i-1].value
		if gone.AfterExtra == nil {
			*next, last.AfterExtra = slices.Concat(last.AfterExtra, *next), nil
		} else if last.AfterExtra == nil {
			last.AfterExtra = hujson.Extra{}
		}
	}
	switch in := in.Value.(type) {
	case *hujson.Object:
		in.Members = slices.Delete(in.Members, i, i+1)
	case *hujson.Array:
		in.Elements = slices.Delete(in.Elements, i, i+1)
	}
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, whiteSpace)) == 0 }
