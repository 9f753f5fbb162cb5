package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth is how deep objects and arrays may nest in JSON: its parser has no bound
// of its own, and would use up the stack.
const maxDepth = 1000

type jsonSyntax struct{}

func (jsonSyntax) decode(data []byte) (map[string]any, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	root.Standardize()
	decoder := json.NewDecoder(bytes.NewReader(root.Pack()))
	decoder.UseNumber()
	var out map[string]any
	if err := decoder.Decode(&out); err != nil {
		return nil, &Error{Text: "this is not JSON"}
	}
	return out, nil
}

// parseJSON parses a document, whose root must be an object. An empty document is an
// empty object. The value shares no memory with data; packJSON makes it a document
// again.
func parseJSON(data []byte) (hujson.Value, error) {
	if len(bytes.Trim(data, " \t\r\n")) == 0 {
		return hujson.Value{Value: &hujson.Object{}, AfterExtra: hujson.Extra(lineEnd(data) + "\n")}, nil
	}
	if n := deeperThan(data, maxDepth); n >= 0 {
		return hujson.Value{}, errorAt(data, n, "more than %d levels of nesting", maxDepth)
	}
	// A comment at the end needs a line break, which packJSON takes away again.
	root, err := hujson.Parse(append(slices.Clone(data), '\n'))
	if err != nil {
		return root, jsonError(data, err)
	}
	if root.Value.Kind() != '{' {
		return root, errorAt(data, root.StartOffset, "this is not a JSON object")
	}
	return root, nil
}

// packJSON returns the text of a value that parseJSON returned.
func packJSON(root hujson.Value) []byte { return bytes.TrimSuffix(root.Pack(), []byte("\n")) }

// jsonError returns a parser's error without the value it quotes.
func jsonError(data []byte, err error) error {
	e := &Error{Text: "this is not JSON"}
	if _, noPosition := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &e.Line, &e.Column); noPosition != nil {
		return e
	}
	if end := errorAt(data, len(data), ""); e.Line > end.Line {
		e.Line, e.Column = end.Line, end.Column
	}
	text := strings.SplitN(err.Error(), ": ", 3)[2]
	if _, _, quotes := strings.Cut(text, "invalid literal"); quotes {
		text = "invalid literal"
	}
	e.Text += ": " + text
	return e
}

// deeperThan returns where JSON with comments nests deeper than most; -1 where it
// does nowhere.
func deeperThan(data []byte, most int) int {
	depth := 0
	for n := 0; n < len(data); n++ {
		switch data[n] {
		case '{', '[':
			if depth++; depth > most {
				return n
			}
		case '}', ']':
			depth--
		case '"':
			n = skipString(data, n)
		case '/':
			n = skipComment(data, n)
		}
	}
	return -1
}

// skipString returns the offset of the last byte of the string that begins at n.
func skipString(data []byte, n int) int {
	for n++; n < len(data) && data[n] != '"'; n++ {
		if data[n] == '\\' {
			n++
		}
	}
	return n
}

// skipComment returns the offset of the last byte of the comment that begins at n; n
// when there is none.
func skipComment(data []byte, n int) int {
	for begin, end := range map[string]string{"//": "\n", "/*": "*/"} {
		if !bytes.HasPrefix(data[n:], []byte(begin)) {
			continue
		}
		length := bytes.Index(data[n+2:], []byte(end))
		if length < 0 {
			return len(data)
		}
		return n + 2 + length + len(end) - 1
	}
	return n
}

// composite is an object or an array of a document: it has parts, members or items.
type composite interface {
	length() int
	// start returns where a part starts, its name or the item, and value what it holds.
	start(i int) *hujson.Value
	value(i int) *hujson.Value
	// end is what stands behind the last part.
	end() *hujson.Extra
	// find returns the position of the part at a step of a path, -1 when there is none.
	find(data []byte, step any) (int, error)
	// add adds a part for a step behind the others. Before it stands what is given.
	add(step any, before hujson.Extra, value hujson.Value)
	remove(i int)
}

type (
	jsonObject struct{ *hujson.Object }
	jsonArray  struct{ *hujson.Array }
)

func (o jsonObject) length() int               { return len(o.Members) }
func (o jsonObject) start(i int) *hujson.Value { return &o.Members[i].Name }
func (o jsonObject) value(i int) *hujson.Value { return &o.Members[i].Value }
func (o jsonObject) end() *hujson.Extra        { return &o.AfterExtra }
func (o jsonObject) remove(i int)              { o.Members = slices.Delete(o.Members, i, i+1) }
func (o jsonObject) add(step any, before hujson.Extra, value hujson.Value) {
	name := hujson.Value{BeforeExtra: before, Value: hujson.String(step.(string))}
	o.Members = append(o.Members, hujson.ObjectMember{Name: name, Value: value})
}

// find finds a member. Two of them are an error: programs do not agree which one
// counts.
func (o jsonObject) find(data []byte, step any) (int, error) {
	found := -1
	for i, m := range o.Members {
		if m.Name.Value.(hujson.Literal).String() != step {
			continue
		}
		if found >= 0 {
			return 0, errorAt(data, m.Name.StartOffset, "%q is there twice", step)
		}
		found = i
	}
	return found, nil
}

func (a jsonArray) length() int               { return len(a.Elements) }
func (a jsonArray) start(i int) *hujson.Value { return &a.Elements[i] }
func (a jsonArray) value(i int) *hujson.Value { return &a.Elements[i] }
func (a jsonArray) end() *hujson.Extra        { return &a.AfterExtra }
func (a jsonArray) remove(i int)              { a.Elements = slices.Delete(a.Elements, i, i+1) }
func (a jsonArray) add(_ any, before hujson.Extra, value hujson.Value) {
	value.BeforeExtra = before
	a.Elements = append(a.Elements, value)
}

func (a jsonArray) find(_ []byte, step any) (int, error) {
	if i := step.(int); i < len(a.Elements) {
		return i, nil
	}
	return -1, nil
}

// jsonNode is an object or an array of a document and how it is laid out.
type jsonNode struct {
	composite
	indent string // of the line in which it begins
	jsonStyle
}

// jsonStyle is how a document is laid out.
type jsonStyle struct {
	data    []byte // the document
	newline string
	unit    string // by which a level is indented further
	space   string // what stands behind a colon, and behind a comma in a line
	flat    bool   // it is one line
}

// root returns the root of a document, which the caller may change.
func (jsonSyntax) root(data []byte) (hujson.Value, jsonNode, error) {
	value, err := parseJSON(data)
	if err != nil {
		return value, jsonNode{}, err
	}
	object := value.Value.(*hujson.Object)
	n := jsonNode{composite: jsonObject{object}, jsonStyle: jsonStyle{data: data, newline: lineEnd(data), unit: "  ", space: " "}}
	if len(object.Members) == 0 {
		return value, n, nil
	}
	first := object.Members[0]
	n.flat = !bytes.Contains(bytes.TrimSpace(data), []byte("\n"))
	if len(first.Value.BeforeExtra) == 0 {
		n.space = ""
	}
	if unit, ownLine := indentOf(first.Name.BeforeExtra); ownLine && unit != "" {
		n.unit = unit
	}
	return value, n, nil
}

// indentOf returns the white space behind the last line break of what stands before a
// name, and whether the name is the first in its line.
func indentOf(extra hujson.Extra) (indent string, ownLine bool) {
	n := bytes.LastIndexByte(extra, '\n')
	if n < 0 || len(bytes.TrimSpace(extra[n:])) > 0 {
		return "", false
	}
	return string(extra[n+1:]), true
}

// inner returns the object or array that is the part i.
func (n jsonNode) inner(i int) (inner jsonNode, ok bool) {
	inner = n.at(i)
	switch value := n.value(i).Value.(type) {
	case *hujson.Object:
		inner.composite = jsonObject{value}
	case *hujson.Array:
		inner.composite = jsonArray{value}
	default:
		return n, false
	}
	return inner, true
}

// at returns the node as it is laid out in the line of the part i.
func (n jsonNode) at(i int) jsonNode {
	if indent, ownLine := indentOf(n.start(i).BeforeExtra); ownLine {
		n.indent = indent
	}
	return n
}

func (s jsonSyntax) set(data []byte, path Path, fields []Field) ([]byte, error) {
	root, n, err := s.root(data)
	if err != nil {
		return nil, err
	}
	for i, step := range path {
		found, err := n.find(data, step)
		if err != nil {
			return nil, err
		}
		inner, ok := jsonNode{}, false
		if found >= 0 {
			inner, ok = n.inner(found)
		}
		if !ok {
			err := n.set(step, nested(path[i+1:], fields))
			return packJSON(root), err
		}
		n = inner
	}
	for _, f := range fields {
		if err := n.set(f.Key, f.Value); err != nil {
			return nil, err
		}
	}
	return packJSON(root), nil
}

// nested returns an object with fields, in the objects and arrays of a path: a value
// of []Field or []any.
func nested(path Path, fields []Field) any {
	var value any = slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.Value == nil })
	for _, step := range slices.Backward(path) {
		if name, ok := step.(string); ok {
			value = []Field{{name, value}}
		} else {
			value = []any{value}
		}
	}
	return value
}

// set gives the part at a step a value, adds it, or removes it.
func (n jsonNode) set(step, value any) error {
	i, err := n.find(n.data, step)
	switch {
	case err != nil:
		return err
	case value == nil && i >= 0:
		n.removePart(i)
		return nil
	case value == nil:
		return nil
	case i < 0:
		return n.insert(step, value)
	}
	parsed, err := hujson.Parse([]byte(n.at(i).text(value)))
	n.value(i).Value = parsed.Value
	return err
}

// text returns a value as the document lays it out. A value of []Field is an object,
// one of []any an array with each item in lines of its own.
func (n jsonNode) text(value any) string {
	var items []string
	inner := n
	inner.indent += n.unit
	switch value := value.(type) {
	case []Field:
		for _, f := range value {
			items = append(items, n.text(f.Key)+":"+n.space+inner.text(f.Value))
		}
		return n.block("{", items, "}")
	case []any:
		for _, item := range value {
			items = append(items, inner.text(item))
		}
		return n.block("[", items, "]")
	case []string:
		for _, item := range value {
			items = append(items, n.text(item))
		}
		return "[" + strings.Join(items, ","+n.space) + "]"
	}
	return encodeJSON(value)
}

// block returns the parts of an object or array, each in a line of its own unless the
// document is one line.
func (n jsonNode) block(begin string, parts []string, end string) string {
	if n.flat {
		return begin + strings.Join(parts, ","+n.space) + end
	}
	line := n.newline + n.indent + n.unit
	return begin + line + strings.Join(parts, ","+line) + n.newline + n.indent + end
}

// encodeJSON returns a string, a number or a boolean as JSON.
func encodeJSON(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // has no error for these
	return strings.TrimSpace(b.String())
}

// insert adds a part behind the others. Comments behind the last one stay there.
func (n jsonNode) insert(step, content any) error {
	comments, space := n.splitExtra(*n.end())
	var before hujson.Extra
	value := n
	if indent, ownLine := n.partIndent(comments != ""); ownLine {
		before = hujson.Extra(comments + n.newline + indent)
		if !strings.Contains(space, "\n") {
			space = n.newline + n.indent
		}
		*n.end() = hujson.Extra(space)
		value.indent = indent
	} else {
		value.flat = true
		if n.length() > 0 {
			before = hujson.Extra(n.space)
		}
	}
	parsed, err := hujson.Parse([]byte(n.space + value.text(content)))
	if last := n.length() - 1; last >= 0 && n.value(last).AfterExtra != nil { // a comma stands behind the last one
		parsed.AfterExtra = hujson.Extra{}
	}
	n.add(step, before, parsed)
	return err
}

// partIndent returns the indentation of a new part, and whether it gets a line of its
// own, as it does in any case behind comments.
func (n jsonNode) partIndent(afterComments bool) (indent string, ownLine bool) {
	if last := n.length() - 1; last >= 0 {
		if indent, ownLine := indentOf(n.start(last).BeforeExtra); ownLine {
			return indent, true
		}
		return n.indent + n.unit, afterComments
	}
	return n.indent + n.unit, afterComments || !n.flat
}

// splitExtra returns the comments of what stands between two things, up to the end of
// the line of the last one, and the white space behind them.
func (n jsonNode) splitExtra(extra hujson.Extra) (comments, space string) {
	comments = strings.TrimRight(string(extra), " \t\r\n")
	space = string(extra[len(comments):])
	if comments == "" {
		return "", space
	}
	if line := strings.Index(space, n.newline); line > 0 {
		comments, space = comments+space[:line], space[line:]
	}
	return comments, space
}

// removePart removes a part. Comments before it stay.
func (n jsonNode) removePart(i int) {
	before, hasComma := n.start(i).BeforeExtra, n.value(i).AfterExtra != nil
	n.remove(i)
	comments, _ := n.splitExtra(before)
	behind := n.end()
	if i < n.length() {
		behind = &n.start(i).BeforeExtra
	} else if i > 0 {
		n.endWith(hasComma)
	}
	switch {
	case comments != "" && !strings.HasPrefix(string(*behind), n.newline):
		*behind = hujson.Extra(comments + n.newline + string(*behind))
	case comments != "":
		*behind = hujson.Extra(comments + string(*behind))
	case i == 0 && i < n.length() && len(bytes.TrimSpace(*behind)) == 0:
		*behind = before
	case n.length() == 0 && len(bytes.TrimSpace(*n.end())) == 0:
		*n.end() = nil
	}
}

// endWith makes the last part end with a comma or without.
func (n jsonNode) endWith(comma bool) {
	last := n.value(n.length() - 1)
	if comma && last.AfterExtra == nil {
		last.AfterExtra = hujson.Extra{}
	}
	if !comma {
		*n.end() = slices.Concat(last.AfterExtra, *n.end())
		last.AfterExtra = nil
	}
}

func (s jsonSyntax) remove(data []byte, path Path) ([]byte, error) {
	root, n, err := s.root(data)
	if err != nil {
		return nil, err
	}
	err = n.removePath(path, true)
	return packJSON(root), err
}

// removePath removes the object at a path below n, and what is above it and is left
// empty by that, but for items of arrays, and for an object that is all there is in the
// document: some clients refuse a file of theirs without it.
func (n jsonNode) removePath(path Path, isRoot bool) error {
	i, err := n.find(n.data, path[0])
	if err != nil || i < 0 {
		return err
	}
	if inner, ok := n.inner(i); ok && len(path) > 1 {
		err := inner.removePath(path[1:], false)
		isAll := isRoot && n.length() == 1
		if err != nil || isAll || isIndex(path[0]) || inner.length() > 0 || len(*inner.end()) > 0 {
			return err
		}
	}
	n.removePart(i)
	return nil
}
