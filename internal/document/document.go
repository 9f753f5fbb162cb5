// Package document edits configuration files that belong to other programs: JSON
// with comments, TOML and YAML. All that an edit is not about stays as it was, byte
// for byte: comments, order, indentation, line ends, a byte order mark. An edit that
// cannot keep that promise is an error, and so is a document that is not valid.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the syntax of a document.
type Format string

// The formats. JSON may have comments and trailing commas.
const (
	JSON Format = "JSON"
	TOML Format = "TOML"
	YAML Format = "YAML"
)

// Field is a key of an object (a table, a mapping) and its value: a string, a bool,
// an int, a []string, or nil, which means that the key is not there.
type Field struct {
	Key   string
	Value any
}

// Path leads to a value in a document: from its root, the names of keys (string) and
// the positions of items of arrays (int, from 0). Only JSON may have the latter.
type Path []any

// Error says what is wrong with a document. It quotes none of its values, which may
// be secret.
type Error struct {
	// Line and Column count from 1, the column in bytes. Line 0 is no position, and
	// Column 0 none in the line.
	Line, Column int
	Text         string
}

func (e *Error) Error() string { return e.Text }

// errForm is the error for a document in which an edit cannot be made by itself.
var errForm = errors.New("it is written in a way that cannot be edited safely")

// syntax reads and edits documents of one format, of valid UTF-8 and without a byte
// order mark. Its edits may be wrong: [Format.edit] checks them.
type syntax interface {
	// decode returns the root, which is an object; an empty one for an empty document.
	decode(data []byte) (map[string]any, error)
	// set sets fields of the object at path, and makes it if it is not there. None of
	// the fields has its value already.
	set(data []byte, path Path, fields []Field) ([]byte, error)
	// remove removes the object at path, which is there, and what is above it and is
	// left empty by that, as [Format.Remove] says.
	remove(data []byte, path Path) ([]byte, error)
}

func (f Format) syntax() syntax {
	switch f {
	case TOML:
		return tomlSyntax{}
	case YAML:
		return yamlSyntax{}
	default:
		return jsonSyntax{}
	}
}

// Object returns the object at a path, as a generic value; nil when there is none.
// Numbers are of the types of the format's decoder.
func (f Format) Object(data []byte, path ...any) (map[string]any, error) {
	root, err := f.decode(data)
	if err != nil {
		return nil, err
	}
	return object(root, path)
}

// Set sets fields of the object at path. It makes the object, and the objects and
// arrays above it, if they are not there; new fields stand behind those that are, and
// so does an item whose position is the number of those that are. Fields that have
// their value already are not touched.
func (f Format) Set(data []byte, path Path, fields []Field) ([]byte, error) {
	return f.edit(data, path, func(s syntax, body []byte, before, there map[string]any) ([]byte, error) {
		pending := slices.DeleteFunc(slices.Clone(fields), func(field Field) bool { return Equal(there[field.Key], field.Value) })
		if there != nil && len(pending) == 0 {
			return body, nil
		}
		edited, err := s.set(body, path, pending)
		return edited, f.check(edited, err, func(after map[string]any) bool {
			now, err := object(after, path)
			return err == nil && isSet(there, now, fields) && isSame(without(before, path, true), without(after, path, true))
		})
	})
}

// Remove removes the object at path, and the objects and arrays above it that this
// leaves without content and comments. An item of an array goes only by itself. Tables
// of TOML that have a header of their own stay, and in JSON an object that is all there
// is in the document. It does nothing if there is no such object.
func (f Format) Remove(data []byte, path Path) ([]byte, error) {
	return f.edit(data, path, func(s syntax, body []byte, before, there map[string]any) ([]byte, error) {
		if there == nil {
			return body, nil
		}
		edited, err := s.remove(body, path)
		return edited, f.check(edited, err, func(after map[string]any) bool {
			return isSame(without(before, path, true), without(after, path, false))
		})
	})
}

// IsEmpty reports whether a document has nothing but empty objects and arrays, and no
// comments.
func (f Format) IsEmpty(data []byte) bool {
	root, err := f.decode(data)
	return err == nil && isEmpty(root) && !bytes.ContainsAny(data, "#/")
}

// isEmpty reports whether there is no value in another that is not empty itself.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(value, func(inner any) bool { return !isEmpty(inner) })
	}
	return value == nil
}

// edit applies an edit to a document without its byte order mark. The edit is given
// the root and the object at path.
func (f Format) edit(data []byte, path Path, apply func(s syntax, body []byte, before, there map[string]any) ([]byte, error)) ([]byte, error) {
	before, err := f.decode(data)
	if err != nil {
		return nil, err
	}
	there, err := object(before, path)
	if err != nil {
		return nil, err
	}
	bom, body := cutBOM(data)
	edited, err := apply(f.syntax(), body, before, there)
	if err != nil || bytes.Equal(edited, body) {
		return data, err
	}
	return slices.Concat(bom, edited), nil
}

// check returns an error unless a document can be read and is as it should be: what
// was edited is, and all else means what it meant before.
func (f Format) check(edited []byte, err error, isRight func(after map[string]any) bool) error {
	if err != nil {
		return err
	}
	if after, err := f.decode(edited); err != nil || !isRight(after) {
		return errForm
	}
	return nil
}

// decode returns the root of a document.
func (f Format) decode(data []byte) (map[string]any, error) {
	_, body := cutBOM(data)
	if n := invalidUTF8(body); n >= 0 {
		return nil, errorAt(body, n, "this is not UTF-8")
	}
	return f.syntax().decode(body)
}

// object returns the object at a path below root, nil when there is none. An empty
// value (null) on the path is as none.
func object(root map[string]any, path Path) (map[string]any, error) {
	var value any = root
	for i, step := range path {
		inner, ok := child(value, step)
		switch {
		case value == nil:
			return nil, nil
		case !ok && isIndex(step):
			return nil, &Error{Text: path[:i].String() + " is not an array"}
		case !ok:
			return nil, &Error{Text: path[:i].String() + " is not an object"}
		}
		value = inner
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return value, nil
	}
	return nil, &Error{Text: path.String() + " is not an object"}
}

// child returns what is at a step below a value, nil where nothing is, and whether the
// value is of the kind that has such steps.
func child(value, step any) (inner any, ok bool) {
	switch value := value.(type) {
	case map[string]any:
		name, ok := step.(string)
		return value[name], ok
	case []any:
		i, ok := step.(int)
		if ok && i < len(value) {
			return value[i], true
		}
		return nil, ok
	}
	return nil, false
}

func isIndex(step any) bool { _, ok := step.(int); return ok }

// String returns a path as a.b[0].
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case isIndex(step):
			fmt.Fprintf(&b, "[%d]", step)
		case i > 0:
			fmt.Fprintf(&b, ".%s", step)
		default:
			fmt.Fprint(&b, step)
		}
	}
	return b.String()
}

// names returns a path that leads through objects alone.
func (p Path) names() ([]string, error) {
	names := make([]string, len(p))
	for i, step := range p {
		name, ok := step.(string)
		if !ok {
			return nil, errForm
		}
		names[i] = name
	}
	return names, nil
}

// isSet reports whether an object is as setting fields makes it from an old one.
func isSet(old, now map[string]any, fields []Field) bool {
	if now == nil {
		return false
	}
	otherThan := func(object map[string]any) map[string]any {
		object = maps.Clone(object)
		for _, f := range fields {
			delete(object, f.Key)
		}
		return object
	}
	isOther := func(f Field) bool { return !Equal(now[f.Key], f.Value) }
	return !slices.ContainsFunc(fields, isOther) && maps.EqualFunc(otherThan(old), otherThan(now), isSame)
}

// isSame reports whether two values that were read are the same, also if they are or have
// what is no number, which equals nothing.
func isSame(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		return ok && maps.EqualFunc(x, y, isSame)
	case []any:
		y, ok := y.([]any)
		return ok && slices.EqualFunc(x, y, isSame)
	case float64:
		y, ok := y.(float64)
		return ok && (x == y || math.IsNaN(x) && math.IsNaN(y))
	default:
		return reflect.DeepEqual(x, y)
	}
}

// Equal reports whether a value that was read is that of a [Field].
func Equal(read, value any) bool {
	switch value := value.(type) {
	case nil:
		return read == nil
	case []string:
		list, ok := read.([]any)
		return ok && slices.EqualFunc(list, value, func(a any, b string) bool { return a == b })
	case int:
		return fmt.Sprint(read) == fmt.Sprint(value)
	default:
		return read == value
	}
}

// without returns a tree without the value at a path, if it goes, and without what is
// above it and has nothing else. Nothing is nil.
func without(value any, path Path, goes bool) any {
	if len(path) == 0 {
		if goes {
			return nil
		}
		return value
	}
	inner, ok := child(value, path[0])
	if !ok {
		return value
	}
	rest := without(inner, path[1:], goes)
	switch step := path[0].(type) {
	case string:
		object := maps.Clone(value.(map[string]any))
		if object[step] = rest; rest == nil {
			delete(object, step)
		}
		return orNil(object, len(object))
	case int:
		list := slices.Clone(value.([]any))
		switch {
		case step >= len(list) || len(path) == 1 && !goes:
		case rest == nil:
			list = slices.Delete(list, step, step+1)
		default:
			list[step] = rest
		}
		return orNil(list, len(list))
	}
	return value
}

// orNil returns a value, nil if its length is 0.
func orNil(value any, length int) any {
	if length == 0 {
		return nil
	}
	return value
}

// cutBOM returns the byte order mark of a document, if it has one, and the rest.
func cutBOM(data []byte) (bom, body []byte) {
	if mark := []byte("\ufeff"); bytes.HasPrefix(data, mark) {
		return mark, data[len(mark):]
	}
	return nil, data
}

// invalidUTF8 returns where data is not UTF-8; -1 when all of it is.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	n := 0
	for len(data[n:]) > 0 {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size == 1 {
			return n
		}
		n += size
	}
	return -1
}

// errorAt returns an error at an offset of a document.
func errorAt(data []byte, offset int, format string, args ...any) *Error {
	head := data[:min(offset, len(data))]
	return &Error{
		Line:   1 + bytes.Count(head, []byte("\n")),
		Column: len(head) - bytes.LastIndexByte(head, '\n'),
		Text:   fmt.Sprintf(format, args...),
	}
}

// lineEnd returns what a document ends its lines with.
func lineEnd(data []byte) string {
	if n := bytes.IndexByte(data, '\n'); n > 0 && data[n-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splice replaces a part of a document.
type splice struct {
	start, end int
	text       string
}

// apply makes replacements, which must not overlap.
func apply(data []byte, splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, s := range splices {
		out = append(append(out, data[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, data[at:]...)
}
