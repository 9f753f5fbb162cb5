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
	set(data []byte, path []string, fields []Field) ([]byte, error)
	// remove removes the object at path, which is there, and the objects above it
	// that this leaves empty, as [Format.Remove] says.
	remove(data []byte, path []string) ([]byte, error)
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
func (f Format) Object(data []byte, path ...string) (map[string]any, error) {
	root, err := f.decode(data)
	if err != nil {
		return nil, err
	}
	return object(root, path)
}

// Set sets fields of the object at path. It makes the object, and those above it, if
// they are not there; new fields stand behind those that are. Fields that have their
// value already are not touched.
func (f Format) Set(data []byte, path []string, fields []Field) ([]byte, error) {
	return f.edit(data, path, fields, func(s syntax, body []byte, there map[string]any) ([]byte, error) {
		pending := slices.DeleteFunc(slices.Clone(fields), func(field Field) bool { return Equal(there[field.Key], field.Value) })
		if there != nil && len(pending) == 0 {
			return body, nil
		}
		return s.set(body, path, pending)
	})
}

// Remove removes the object at path, and the objects above it that this leaves without
// fields and comments. Tables of TOML that have a header of their own stay, and in JSON
// one that is all there is in the document. It does nothing if there is no such object.
func (f Format) Remove(data []byte, path []string) ([]byte, error) {
	return f.edit(data, path, nil, func(s syntax, body []byte, there map[string]any) ([]byte, error) {
		if there == nil {
			return body, nil
		}
		return s.remove(body, path)
	})
}

// edit applies an edit, which is given the object at path, and checks that it did what
// it should, and that all else means what it meant before.
func (f Format) edit(data []byte, path []string, fields []Field, apply func(s syntax, body []byte, there map[string]any) ([]byte, error)) ([]byte, error) {
	before, err := f.decode(data)
	if err != nil {
		return nil, err
	}
	old, err := object(before, path)
	if err != nil {
		return nil, err
	}
	bom, body := cutBOM(data)
	edited, err := apply(f.syntax(), body, old)
	if err != nil || bytes.Equal(edited, body) {
		return data, err
	}
	after, err := f.decode(edited)
	if err != nil {
		return nil, errForm
	}
	now, err := object(after, path)
	if err != nil || !isEdited(old, now, fields) || !reflect.DeepEqual(without(before, path), without(after, path)) {
		return nil, errForm
	}
	return slices.Concat(bom, edited), nil
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
func object(root map[string]any, path []string) (map[string]any, error) {
	for i, name := range path {
		switch value := root[name].(type) {
		case nil:
			return nil, nil
		case map[string]any:
			root = value
		default:
			return nil, &Error{Text: strings.Join(path[:i+1], ".") + " is not an object"}
		}
	}
	return root, nil
}

// isEdited reports whether an object is as setting fields makes it from an old one;
// with no fields, whether it is gone.
func isEdited(old, now map[string]any, fields []Field) bool {
	if len(fields) == 0 || now == nil {
		return len(fields) == 0 && now == nil
	}
	otherThan := func(object map[string]any) map[string]any {
		object = maps.Clone(object)
		for _, f := range fields {
			delete(object, f.Key)
		}
		return object
	}
	isOther := func(f Field) bool { return !Equal(now[f.Key], f.Value) }
	return !slices.ContainsFunc(fields, isOther) && maps.EqualFunc(otherThan(old), otherThan(now), func(x, y any) bool { return reflect.DeepEqual(x, y) })
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

// without returns a tree without the value at a path, and without the objects above
// it that have nothing else.
func without(root map[string]any, path []string) map[string]any {
	out := make(map[string]any, len(root))
	for name, value := range root {
		if name != path[0] {
			out[name] = value
			continue
		}
		inner, isObject := value.(map[string]any)
		if len(path) == 1 || !isObject {
			continue
		}
		if rest := without(inner, path[1:]); len(rest) > 0 {
			out[name] = rest
		}
	}
	return out
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
