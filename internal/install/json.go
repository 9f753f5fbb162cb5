package install

import (
	"bytes"
	"errors"
	"fmt"
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

// fields returns the object as a map.
func (o object) fields() map[string]any {
	all := make(map[string]any)
	for _, f := range o {
		all[f.key] = f.value
	}
	return all
}

// MarshalJSONTo writes the object.
func (o object) MarshalJSONTo(out *jsontext.Encoder) error {
	err := out.WriteToken(jsontext.BeginObject)
	for _, f := range o {
		err = errors.Join(err, out.WriteToken(jsontext.String(f.key)), json.MarshalEncode(out, f.value))
	}
	return errors.Join(err, out.WriteToken(jsontext.EndObject))
}

// spaced is how JSON in one line is written.
func spaced() json.Options {
	return json.JoinOptions(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
}

// inLine returns a value as JSON in one line.
func inLine(value any) (string, error) {
	text, err := json.Marshal(value, json.Deterministic(true), spaced())
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

// jsonFile is a JSON file, which may have comments, as it is edited. What an edit is not
// about stays as it was.
type jsonFile struct {
	tree    hujson.Value
	mark    []byte // a byte order mark, if there is one
	newline string
	unit    string // by which a level is indented
	isLine  bool   // it is one line
}

const byteOrderMark = "\ufeff"

// parseJSON reads a file, whose root must be an object. An empty file is as one that has
// an empty object.
func parseJSON(data []byte) (*jsonFile, error) {
	text := bytes.TrimPrefix(data, []byte(byteOrderMark))
	d := &jsonFile{mark: data[:len(data)-len(text)], newline: "\n", unit: "  "}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if n := tooDeep(text); n >= 0 {
		return nil, errorAt(text, n, "this is nested too deeply")
	}
	var err error
	if d.tree, err = parseTree(text); err != nil {
		return nil, err
	}
	root, ok := d.tree.Value.(*hujson.Object)
	if !ok {
		return nil, errorAt(text, d.tree.StartOffset, "this is not a JSON object")
	}
	if bytes.Contains(text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	if len(root.Members) > 0 {
		d.isLine = !bytes.Contains(bytes.TrimSpace(text), []byte("\n"))
		if unit, ownLine := indentOf(root.Members[0].Name.BeforeExtra); ownLine && unit != "" {
			d.unit = unit
		}
	}
	return d, nil
}

// maxDepth is how deep brackets may be open: the parser has no bound of its own and
// would use up the stack. It is far above what texts with brackets in them add up to.
const maxDepth = 100_000

// tooDeep returns where more brackets are open than maxDepth; -1 where there are not.
func tooDeep(text []byte) int {
	depth := 0
	for n, b := range text {
		switch b {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxDepth {
			return n
		}
	}
	return -1
}

// parseTree parses JSON with comments, and checks what hujson does not: that it is UTF-8,
// and that no name is in an object twice: programs take different ones of the two.
func parseTree(text []byte) (hujson.Value, error) {
	tree, err := hujson.Parse(bytes.Clone(text))
	if err != nil { // a comment at the end needs a line break
		if ended, endedErr := hujson.Parse(append(bytes.Clone(text), '\n')); endedErr == nil {
			tree, err = ended, nil
		}
	}
	if err != nil {
		line, column := 1, 1
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column)
		return tree, contentError(fmt.Sprintf(":%d:%d: this is not JSON", line, column))
	}
	plain := tree.Clone()
	plain.Standardize()
	var wrong *jsontext.SyntacticError
	if err := jsontext.NewDecoder(bytes.NewReader(plain.Pack())).SkipValue(); errors.As(err, &wrong) {
		what := "this is not JSON in UTF-8"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			what = strconv.Quote(wrong.JSONPointer.LastToken()) + " is there twice"
		}
		return tree, errorAt(text, int(wrong.ByteOffset), what)
	}
	return tree, nil
}

// text returns the file as it is now.
func (d *jsonFile) text() []byte { return slices.Concat(d.mark, d.tree.Pack()) }

// A path has names of keys, and for items of arrays their positions behind a NUL, which no
// client's key begins with. newItem is an item behind the others.
const newItem = "\x00-"

func position(n int) string       { return fmt.Sprintf("\x00%d", n) }
func isPosition(step string) bool { return strings.HasPrefix(step, "\x00") }

// shownPath returns a path as a.b[0]; an array for a new item of it.
func shownPath(path []string) (text string) {
	for i, step := range path {
		switch {
		case step == newItem:
		case isPosition(step):
			text += "[" + step[1:] + "]"
		case i > 0:
			text += "." + step
		default:
			text = step
		}
	}
	return text
}

// pointer returns the JSON Pointer of a path.
func pointer(path ...string) string {
	var p jsontext.Pointer
	for _, step := range path {
		if isPosition(step) {
			step = step[1:]
		}
		p = p.AppendToken(step)
	}
	return string(p)
}

func (d *jsonFile) at(path ...string) (value any) {
	found := d.tree.Find(pointer(path...))
	if found == nil {
		return nil
	}
	plain := found.Clone()
	plain.Standardize()
	_ = json.Unmarshal(plain.Pack(), &value) // which parseTree has checked
	return value
}

// set puts a new part behind the others.
func (d *jsonFile) set(value any, path ...string) error {
	if isSame(d.at(path...), value) {
		return nil
	}
	if value == nil {
		return d.remove(path)
	}
	depth, err := d.depth(path)
	if err != nil {
		return err
	}
	for _, step := range slices.Backward(path[depth:]) {
		if step == newItem {
			value = []any{value}
		} else {
			value = object{{step, value}}
		}
	}
	return d.put(value, path[:depth]...)
}

// errNotEdited is what is said of a file that would not say what was wanted.
const errNotEdited = contentError(": this is written in a way that cannot be edited safely: " +
	"change it by hand; --print shows what install writes")

// depth returns how much of a path leads to what is there, or to a new part of that.
func (d *jsonFile) depth(path []string) (int, error) {
	for n := 1; n < len(path); n++ {
		found := d.tree.Find(pointer(path[:n]...))
		if found == nil || found.Value.Kind() == 'n' {
			return n, nil
		}
		switch kind := found.Value.Kind(); {
		case isPosition(path[n]) && kind != '[':
			return 0, contentError(": " + shownPath(path[:n]) + " is not an array")
		case !isPosition(path[n]) && kind != '{':
			return 0, contentError(": " + shownPath(path[:n]) + " is not an object")
		}
	}
	return len(path), nil
}

// put sets the value at a path. All but its last step is there.
func (d *jsonFile) put(value any, path ...string) error {
	above := d.tree.Find(pointer(path[:len(path)-1]...)).Value
	before := d.lineBefore(above, len(path))
	options := spaced()
	if indent, ownLine := indentOf(hujson.Extra(before)); ownLine {
		options = json.JoinOptions(jsontext.WithIndentPrefix(indent), jsontext.WithIndent(d.unit))
	}
	text, err := json.Marshal(value, options)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("\n"), []byte(d.newline))
	was, end := parts(above)
	closing := spaceBehind(*end)
	if len(was) == 0 && before != "" && !bytes.ContainsRune(closing, '\n') {
		closing = []byte(d.newline + strings.Repeat(d.unit, len(path)-1))
	}
	err = d.tree.Patch(fmt.Appendf(nil, `[{"op": "add", "path": %s, "value": %s}]`, []byte(hujson.String(pointer(path...))), text))
	if now, _ := parts(above); len(now) > len(was) {
		added := now[len(was)]
		*added.before = d.withSpace(*added.before, before)
		*end = d.withSpace(*end, string(closing))
		if len(was) > 0 && *now[len(was)-1].after != nil { // a comma stands behind the last one
			*added.after = hujson.Extra{}
		}
		if above, ok := above.(*hujson.Object); ok {
			above.Members[len(was)].Value.BeforeExtra = hujson.Extra(" ")
		}
	}
	return err
}

// lineBefore returns what stands before a new part of an object or array: what stands
// before the last one that is there, without its comments.
func (d *jsonFile) lineBefore(above hujson.ValueTrimmed, depth int) string {
	if all, _ := parts(above); len(all) > 0 {
		indent, ownLine := indentOf(*all[len(all)-1].before)
		if !ownLine {
			return " "
		}
		return d.newline + indent
	}
	if d.isLine {
		return ""
	}
	return d.newline + strings.Repeat(d.unit, depth)
}

// part is a member or item: what stands before it and, unless that is nil, between it
// and the comma behind it.
type part struct{ before, after *hujson.Extra }

// parts returns the parts of an object or array, and what stands behind the last one;
// nil for another value.
func parts(value hujson.ValueTrimmed) (all []part, end *hujson.Extra) {
	switch value := value.(type) {
	case *hujson.Object:
		for i := range value.Members {
			all = append(all, part{&value.Members[i].Name.BeforeExtra, &value.Members[i].Value.AfterExtra})
		}
		end = &value.AfterExtra
	case *hujson.Array:
		for i := range value.Elements {
			all = append(all, part{&value.Elements[i].BeforeExtra, &value.Elements[i].AfterExtra})
		}
		end = &value.AfterExtra
	}
	return all, end
}

const whiteSpace = " \t\r\n"

// spaceBehind returns the white space behind the comments of what stands between two
// things.
func spaceBehind(extra hujson.Extra) []byte {
	return bytes.Clone(extra[len(bytes.TrimRight(extra, whiteSpace)):])
}

// withSpace returns what stands between two things with other white space behind its
// comments. A line comment keeps its line break.
func (d *jsonFile) withSpace(extra hujson.Extra, space string) hujson.Extra {
	extra = bytes.TrimRight(bytes.Clone(extra), whiteSpace)
	_, err := hujson.Parse(append(bytes.Clone(extra), '0')) // which a line comment hides
	if err != nil && !strings.Contains(space, "\n") {
		space = d.newline + space
	}
	return append(extra, space...)
}

// indentOf returns the white space behind the last line break of what stands before a
// part, and whether there is one.
func indentOf(extra hujson.Extra) (indent string, ownLine bool) {
	line := extra[bytes.LastIndexByte(extra, '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]), len(line) < len(extra)
}

// remove removes the value at a path, and the objects and arrays above it that have
// nothing else: some clients refuse a file without the object of its servers, which stays
// if it is all there is.
func (d *jsonFile) remove(path []string) (err error) {
	for n := len(path); n > 0 && err == nil; n-- {
		found := d.tree.Find(pointer(path[:n]...))
		isAll := n == 1 && len(d.tree.Value.(*hujson.Object).Members) == 1
		if found == nil || n < len(path) && (isAll || !isEmpty(*found)) {
			break
		}
		err = d.cut(path[:n]...)
	}
	return err
}

// isEmpty reports whether a value is an object or array without parts or comments.
func isEmpty(value hujson.Value) bool {
	all, end := parts(value.Value)
	return end != nil && len(all) == 0 && value.IsStandard()
}

// cut removes the value at a path. The line that ends what is around it stays as it is.
func (d *jsonFile) cut(path ...string) error {
	above := d.tree.Find(pointer(path[:len(path)-1]...)).Value
	all, end := parts(above)
	comma, closing := *all[len(all)-1].after, spaceBehind(*end)
	err := d.tree.Patch(fmt.Appendf(nil, `[{"op": "remove", "path": %s}]`, []byte(hujson.String(pointer(path...)))))
	left, _ := parts(above)
	if len(left) > 0 && comma == nil { // its own goes, but not a comment before that
		*end = slices.Concat(bytes.TrimRight(*left[len(left)-1].after, whiteSpace), *end)
	}
	*end = d.withSpace(*end, string(closing))
	if len(left) > 0 {
		*left[len(left)-1].after = comma
	} else if len(closing) == len(*end) {
		*end = nil
	}
	return err
}

// isBare takes the version and empty objects for what every file has.
func (d *jsonFile) isBare() bool {
	isContent := func(m hujson.ObjectMember) bool {
		return !isEmpty(m.Value) && m.Name.Value.(hujson.Literal).String() != versionKey
	}
	return d.tree.IsStandard() && !slices.ContainsFunc(d.tree.Value.(*hujson.Object).Members, isContent)
}
