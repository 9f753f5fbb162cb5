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

// isSame reports whether two values are the same in JSON.
func isSame(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	err := errors.Join(errX, errY, (*jsontext.Value)(&x).Canonicalize(), (*jsontext.Value)(&y).Canonicalize())
	return err == nil && bytes.Equal(x, y)
}

// errorAt returns an error for the byte n of a file. Lines and columns count from 1, columns
// in bytes.
func errorAt(data []byte, n int, text string) error {
	before := data[:min(n, len(data))]
	line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
	return contentError(fmt.Sprintf(":%d:%d: %s", line, column, text))
}

// maxDepth is how deep brackets may be open: the parser has no bound of its own and
// would use up the stack. It is far above what texts with brackets in them add up to.
const maxDepth = 100_000

// readJSON reads a file of JSON, which may have comments. Its root must be an object; an
// empty file is as one that has an empty object. A name that is twice in an object is an
// error: programs take different ones of the two.
func readJSON(data []byte) (root map[string]any, err error) {
	if isBlank(data) {
		return nil, nil
	}
	depth := 0
	for n, b := range data {
		switch b {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxDepth {
			return nil, errorAt(data, n, "this is nested too deeply")
		}
	}
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n')) // which ends a comment
	if err != nil {
		line, column := 1, 1
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column)
		if line > 1+bytes.Count(data, []byte("\n")) { // behind the end
			return nil, errorAt(data, len(data), "this is not JSON")
		}
		return nil, contentError(fmt.Sprintf(":%d:%d: this is not JSON", line, column))
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

// part is a member of an object or an item of an array: where its name or else its value
// begins, where its value ends, and where the comma behind it stands; -1 without one.
type part struct {
	value           *hujson.Value
	name            string
	from, to, comma int
}

// parts returns the parts of an object or array; nil for another value.
func parts(in *hujson.Value) (all []part) {
	add := func(v *hujson.Value, name string, from int) {
		all = append(all, part{v, name, from, v.EndOffset, v.EndOffset + len(v.AfterExtra)})
	}
	switch in := in.Value.(type) {
	case *hujson.Object:
		for i := range in.Members {
			m := &in.Members[i]
			add(&m.Value, m.Name.Value.(hujson.Literal).String(), m.Name.StartOffset)
		}
	case *hujson.Array:
		for i := range in.Elements {
			add(&in.Elements[i], "", in.Elements[i].StartOffset)
		}
	}
	if n := len(all); n > 0 && all[n-1].value.AfterExtra == nil {
		all[n-1].comma = -1
	}
	return all
}

// position returns where a step of a path leads among parts; -1 if it leads nowhere.
func position(step any, all []part) int {
	if n, isItem := step.(int); isItem && n < len(all) {
		return n
	}
	return slices.IndexFunc(all, func(p part) bool { return p.name == step })
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
	if value == nil {
		return removeJSON(data, &tree, path), nil
	}
	in := &tree
	for n, step := range path {
		kind := in.Value.Kind()
		_, isItem := step.(int)
		switch all := parts(in); {
		case kind == 'n':
			return replaceJSON(data, in, wrapped(value, path[n:]))
		case isItem && kind != '[':
			return nil, contentError(": " + shownPath(path[:n]) + " is not an array")
		case !isItem && kind != '{':
			return nil, contentError(": " + shownPath(path[:n]) + " is not an object")
		case position(step, all) < 0:
			return insertJSON(data, in, step, wrapped(value, path[n+1:]))
		default:
			in = all[position(step, all)].value
		}
	}
	return replaceJSON(data, in, value)
}

// replaceJSON returns data with another value in the place of one, unless it is the same.
func replaceJSON(data []byte, old *hujson.Value, value any) ([]byte, error) {
	plain := old.Clone()
	plain.Standardize()
	if isSame(jsontext.Value(plain.Pack()), value) {
		return data, nil
	}
	indent, _ := indentOf(data, old.StartOffset)
	lines := old.Value.Kind() == 'n' || bytes.Contains(data[old.StartOffset:old.EndOffset], []byte("\n"))
	text, err := marshal(data, value, indent, lines)
	return splice(data, old.StartOffset, old.EndOffset, text), err
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

// splice returns data with a text in the place of a part.
func splice(data []byte, from, to int, text string) []byte {
	return slices.Concat(data[:from], []byte(text), data[to:])
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
func marshal(data []byte, value any, indent string, lines bool) (string, error) {
	if !lines {
		return inLine(value)
	}
	text, err := json.Marshal(value, jsontext.WithIndentPrefix(indent), jsontext.WithIndent(unitOf(data)))
	return strings.ReplaceAll(string(text), "\n", newlineOf(data)), err
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
func insertJSON(data []byte, in *hujson.Value, step, value any) ([]byte, error) {
	all, at, end := parts(in), in.StartOffset+1, in.EndOffset-1
	indent, _ := indentOf(data, at)
	newline, lines, before, behind := newlineOf(data), true, "", ""
	if n := len(all); n > 0 {
		indent, lines = indentOf(data, all[n-1].from)
		if at, before = all[n-1].to, ","; all[n-1].comma >= 0 {
			at, before, behind = all[n-1].comma+1, "", ","
		}
	} else {
		if !bytes.Contains(data[at:end], []byte("\n")) {
			behind = newline + indent
		}
		indent += unitOf(data)
	}
	line, _, _ := bytes.Cut(data[at:end], []byte("\n"))
	comments := bytes.TrimRight(line, whiteSpace)
	if before += string(comments); lines {
		before += newline + indent
	} else {
		before += " "
	}
	if name, isName := step.(string); isName {
		before += string(hujson.String(name)) + ": "
	}
	text, err := marshal(data, value, indent, lines)
	return splice(data, at, at+len(comments), before+text+behind), err
}

// removeJSON removes the value at a path, and the objects and arrays above it that have
// nothing else: some clients refuse a file without the object of its servers, which stays
// if it is all there is.
func removeJSON(data []byte, tree *hujson.Value, path []any) []byte {
	in, at := []*hujson.Value{tree}, []int{}
	for n, step := range path {
		all := parts(in[n])
		i := position(step, all)
		if i < 0 {
			return data
		}
		in, at = append(in, all[i].value), append(at, i)
	}
	n := len(path) - 1
	for n > 0 && len(parts(in[n])) == 1 && in[n].IsStandard() && (n > 1 || len(parts(tree)) > 1) {
		n--
	}
	return cutPart(data, in[n], at[n])
}

// cutPart cuts a part of an object or array out, with its lines if they have nothing else,
// and with its comma, or else the one before.
func cutPart(data []byte, in *hujson.Value, i int) []byte {
	all, begin, end, comma := parts(in), in.StartOffset+1, in.EndOffset-1, -1
	from, to := all[i].from, max(all[i].to, all[i].comma+1)
	if i > 0 && all[i].comma < 0 {
		comma = all[i-1].comma
	}
	indent, ownLine := indentOf(data, from)
	if rest, _, ends := bytes.Cut(data[to:], []byte("\n")); ownLine && ends && isBlank(rest) {
		from, to = from-len(indent), to+len(rest)+1
	} else {
		from = len(bytes.TrimRight(data[:from], " \t"))
	}
	if len(all) == 1 && isBlank(data[begin:from]) && isBlank(data[to:end]) {
		from, to = begin, end
	}
	data = splice(data, from, to, "")
	if comma >= 0 {
		data = splice(data, comma, comma+1, "")
	}
	return data
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, whiteSpace)) == 0 }
