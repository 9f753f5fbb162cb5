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

// jsonObject is an object of a document and how it is laid out.
type jsonObject struct {
	*hujson.Object
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
func (jsonSyntax) root(data []byte) (hujson.Value, jsonObject, error) {
	value, err := parseJSON(data)
	if err != nil {
		return value, jsonObject{}, err
	}
	o := jsonObject{Object: value.Value.(*hujson.Object)}
	o.jsonStyle = jsonStyle{data: data, newline: lineEnd(data), unit: "  ", space: " "}
	if len(o.Members) == 0 {
		return value, o, nil
	}
	first := o.Members[0]
	o.flat = !bytes.Contains(bytes.TrimSpace(data), []byte("\n"))
	if len(first.Value.BeforeExtra) == 0 {
		o.space = ""
	}
	if unit, ownLine := indentOf(first.Name.BeforeExtra); ownLine && unit != "" {
		o.unit = unit
	}
	return value, o, nil
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

// find returns the index of a member; -1 when there is none. Two of them are an error:
// programs do not agree which one counts.
func (o jsonObject) find(name string) (int, error) {
	found := -1
	for i, m := range o.Members {
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if found >= 0 {
			return 0, errorAt(o.data, m.Name.StartOffset, "%q is there twice", name)
		}
		found = i
	}
	return found, nil
}

// inner returns the object that is the member i.
func (o jsonObject) inner(i int) (jsonObject, bool) {
	if indent, ownLine := indentOf(o.Members[i].Name.BeforeExtra); ownLine {
		o.indent = indent
	}
	object, ok := o.Members[i].Value.Value.(*hujson.Object)
	o.Object = object
	return o, ok
}

func (s jsonSyntax) set(data []byte, path []string, fields []Field) ([]byte, error) {
	root, o, err := s.root(data)
	if err != nil {
		return nil, err
	}
	for i, name := range path {
		found, err := o.find(name)
		if err != nil {
			return nil, err
		}
		inner, ok := jsonObject{}, false
		if found >= 0 {
			inner, ok = o.inner(found)
		}
		if !ok {
			err := o.setField(Field{name, nested(path[i+1:], fields)})
			return packJSON(root), err
		}
		o = inner
	}
	for _, f := range fields {
		if err := o.setField(f); err != nil {
			return nil, err
		}
	}
	return packJSON(root), nil
}

// nested returns an object with fields, in the objects of a path.
func nested(path []string, fields []Field) []Field {
	value := slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.Value == nil })
	for _, name := range slices.Backward(path) {
		value = []Field{{name, value}}
	}
	return value
}

// setField gives a member a value, adds it, or removes it.
func (o jsonObject) setField(f Field) error {
	i, err := o.find(f.Key)
	switch {
	case err != nil:
		return err
	case f.Value == nil && i >= 0:
		o.removeMember(i)
		return nil
	case f.Value == nil:
		return nil
	case i < 0:
		return o.insert(f)
	}
	if indent, ownLine := indentOf(o.Members[i].Name.BeforeExtra); ownLine {
		o.indent = indent
	}
	value, err := hujson.Parse([]byte(o.text(f.Value)))
	o.Members[i].Value.Value = value.Value
	return err
}

// text returns a value as the document lays it out. A value of []Field is an object.
func (o jsonObject) text(value any) string {
	var items []string
	switch value := value.(type) {
	case []Field:
		inner := o
		inner.indent += o.unit
		for _, f := range value {
			items = append(items, o.text(f.Key)+":"+o.space+inner.text(f.Value))
		}
		if o.flat {
			return "{" + strings.Join(items, ","+o.space) + "}"
		}
		line := o.newline + inner.indent
		return "{" + line + strings.Join(items, ","+line) + o.newline + o.indent + "}"
	case []string:
		for _, item := range value {
			items = append(items, o.text(item))
		}
		return "[" + strings.Join(items, ","+o.space) + "]"
	}
	return encodeJSON(value)
}

// encodeJSON returns a string, a number or a boolean as JSON.
func encodeJSON(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // has no error for these
	return strings.TrimSpace(b.String())
}

// insert adds a member behind the others. Comments behind the last one stay there.
func (o jsonObject) insert(f Field) error {
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(f.Key)}}
	comments, space := o.splitExtra(o.AfterExtra)
	value := o
	if indent, ownLine := o.memberIndent(comments != ""); ownLine {
		m.Name.BeforeExtra = hujson.Extra(comments + o.newline + indent)
		if !strings.Contains(space, "\n") {
			space = o.newline + o.indent
		}
		o.AfterExtra = hujson.Extra(space)
		value.indent = indent
	} else {
		value.flat = true
		if len(o.Members) > 0 {
			m.Name.BeforeExtra = hujson.Extra(o.space)
		}
	}
	parsed, err := hujson.Parse([]byte(o.space + value.text(f.Value)))
	m.Value = parsed
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil { // a comma stands behind the last one
		m.Value.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, m)
	return err
}

// memberIndent returns the indentation of a new member, and whether it gets a line of
// its own, as it does in any case behind comments.
func (o jsonObject) memberIndent(afterComments bool) (indent string, ownLine bool) {
	if n := len(o.Members); n > 0 {
		if indent, ownLine := indentOf(o.Members[n-1].Name.BeforeExtra); ownLine {
			return indent, true
		}
		return o.indent + o.unit, afterComments
	}
	return o.indent + o.unit, afterComments || !o.flat
}

// splitExtra returns the comments of what stands between two things, up to the end of
// the line of the last one, and the white space behind them.
func (o jsonObject) splitExtra(extra hujson.Extra) (comments, space string) {
	comments = strings.TrimRight(string(extra), " \t\r\n")
	space = string(extra[len(comments):])
	if comments == "" {
		return "", space
	}
	if n := strings.Index(space, o.newline); n > 0 {
		comments, space = comments+space[:n], space[n:]
	}
	return comments, space
}

// removeMember removes a member. Comments before it stay.
func (o jsonObject) removeMember(i int) {
	m := o.Members[i]
	o.Members = slices.Delete(o.Members, i, i+1)
	comments, _ := o.splitExtra(m.Name.BeforeExtra)
	behind := &o.AfterExtra
	if i < len(o.Members) {
		behind = &o.Members[i].Name.BeforeExtra
	} else if i > 0 {
		o.endWith(m.Value.AfterExtra != nil)
	}
	switch {
	case comments != "" && !strings.HasPrefix(string(*behind), o.newline):
		*behind = hujson.Extra(comments + o.newline + string(*behind))
	case comments != "":
		*behind = hujson.Extra(comments + string(*behind))
	case i == 0 && i < len(o.Members) && len(bytes.TrimSpace(*behind)) == 0:
		*behind = m.Name.BeforeExtra
	case len(o.Members) == 0 && len(bytes.TrimSpace(o.AfterExtra)) == 0:
		o.AfterExtra = nil
	}
}

// endWith makes the last member end with a comma or without.
func (o jsonObject) endWith(comma bool) {
	last := &o.Members[len(o.Members)-1].Value
	if comma && last.AfterExtra == nil {
		last.AfterExtra = hujson.Extra{}
	}
	if !comma {
		o.AfterExtra = slices.Concat(last.AfterExtra, o.AfterExtra)
		last.AfterExtra = nil
	}
}

func (s jsonSyntax) remove(data []byte, path []string) ([]byte, error) {
	root, o, err := s.root(data)
	if err != nil {
		return nil, err
	}
	err = o.removePath(path, true)
	return packJSON(root), err
}

// removePath removes the object at a path below o, and those above it that this leaves
// empty, but for one that is all there is in the document: some clients refuse a file
// of theirs without it.
func (o jsonObject) removePath(path []string, isRoot bool) error {
	i, err := o.find(path[0])
	if err != nil || i < 0 {
		return err
	}
	if inner, ok := o.inner(i); ok && len(path) > 1 {
		err := inner.removePath(path[1:], false)
		isAll := isRoot && len(o.Members) == 1
		if err != nil || isAll || len(inner.Members) > 0 || len(inner.AfterExtra) > 0 {
			return err
		}
	}
	o.removeMember(i)
	return nil
}
