package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"todo-mcp/internal/todo"
)

// value is one JSON value of a call's arguments.
type value struct {
	kind jsontext.Kind // 'n' 'f' 't' '"' '0' '{' '[', or 0 when absent
	// text is the content of a string, or the literal of null, a boolean or a
	// number.
	text string
	// surrogate is the position in runes, from 1, of the first lone surrogate
	// in a string; 0 when there is none.
	surrogate int
	members   []member // of an object
	elements  []value  // of an array
}

type member struct {
	name  string
	value value
}

// get returns the member with a name; the zero value when there is none.
func (v value) get(name string) value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return value{}
}

// missing reports whether the value was left out or null.
func (v value) missing() bool { return v.kind == 0 || v.kind == 'n' }

// name returns the JSON type of the value, for errors.
func (v value) name() string {
	switch v.kind {
	case 0:
		return "nothing"
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	default:
		return "array"
	}
}

var decodeOptions = []jsontext.Options{
	// Lone surrogates are accepted here; whoever uses the text reports them
	// with their position.
	jsontext.AllowInvalidUTF8(true),
}

// parse reads one JSON value, which only white space may follow.
func parse(raw []byte) (value, error) {
	v, rest, err := parsePrefix(raw)
	if err != nil {
		return value{}, err
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return value{}, fmt.Errorf("text after the end of the JSON: %s", excerpt(string(rest)))
	}
	return v, nil
}

// parsePrefix reads one JSON value and returns it and the bytes after it.
func parsePrefix(raw []byte) (value, []byte, error) {
	if !utf8.Valid(raw) {
		return value{}, nil, fmt.Errorf("invalid UTF-8")
	}
	// A buffer, and not another reader, is read in place. Its capacity is cut off, so
	// that nothing behind the arguments is written to.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw[:len(raw):len(raw)]), decodeOptions...)
	v, err := decode(d)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return value{}, nil, err
	}
	return v, raw[d.InputOffset():], nil
}

func decode(d *jsontext.Decoder) (value, error) {
	switch kind := d.PeekKind(); kind {
	case '{':
		return decodeObject(d)
	case '[':
		return decodeArray(d)
	case '"':
		raw, err := d.ReadValue()
		if err != nil {
			return value{}, err
		}
		return stringValue(raw)
	default:
		raw, err := d.ReadValue()
		return value{kind: kind, text: string(raw)}, err
	}
}

func decodeObject(d *jsontext.Decoder) (value, error) {
	v := value{kind: '{'}
	if _, err := d.ReadToken(); err != nil {
		return v, err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return v, err
		}
		key := name.String()
		val, err := decode(d)
		if err != nil {
			return v, err
		}
		if v.members == nil {
			v.members = make([]member, 0, 4)
		}
		v.members = append(v.members, member{key, val})
	}
	_, err := d.ReadToken()
	return v, err
}

func decodeArray(d *jsontext.Decoder) (value, error) {
	v := value{kind: '['}
	if _, err := d.ReadToken(); err != nil {
		return v, err
	}
	for d.PeekKind() != ']' {
		val, err := decode(d)
		if err != nil {
			return v, err
		}
		v.elements = append(v.elements, val)
	}
	_, err := d.ReadToken()
	return v, err
}

func stringValue(raw []byte) (value, error) {
	text, err := jsontext.AppendUnquote(nil, raw)
	// The error can only be a lone surrogate, since the decoder has checked the
	// syntax. In text it is U+FFFD, which may also have been sent as such, so
	// its position is found in the escapes.
	v := value{kind: '"', text: string(text)}
	if err != nil {
		v.surrogate = loneSurrogate(raw)
	}
	return v, nil
}

// loneSurrogate returns the position in runes, from 1, of the first
// \uD800–\uDFFF escape that is not half of a pair; 0 when there is none.
func loneSurrogate(raw []byte) int {
	pos := 0
	for i := 1; i < len(raw)-1; {
		pos++
		if raw[i] != '\\' {
			_, n := utf8.DecodeRune(raw[i:])
			i += n
			continue
		}
		if raw[i+1] != 'u' {
			i += 2
			continue
		}
		switch unit := hex4(raw[i+2:]); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return pos
		case unit >= 0xD800 && unit <= 0xDBFF:
			if next := hex4(bytes.TrimPrefix(raw[i+6:], []byte(`\u`))); raw[i+6] != '\\' || next < 0xDC00 || next > 0xDFFF {
				return pos
			}
			i += 6
		}
		i += 6
	}
	return 0
}

// hex4 returns the value of the first four hexadecimal digits, -1 if they are
// none.
func hex4(b []byte) int {
	if len(b) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// debris matches what models leave after JSON that they sent as a string:
// closing tags, brackets and code fences.
var debris = regexp.MustCompile("^(\\s|</[A-Za-z_:][-A-Za-z0-9_:.]*>|[\\]}>`])*$")

// unquote parses a string that contains a JSON array or object, which some
// models send instead of the array or object itself (docs/spec/variants.md V5).
// ok is false for any other value.
func (v value) unquote() (inner value, ok bool) {
	if v.kind != '"' {
		return value{}, false
	}
	text := strings.TrimSpace(v.text)
	if !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") {
		return value{}, false
	}
	inner, rest, err := parsePrefix([]byte(text))
	if err != nil || !debris.Match(rest) {
		return value{}, false
	}
	return inner, true
}

// excerpt quotes a text for a result or an error: cut to 40 runes and as a JSON
// string, so that it is one line and cannot be mistaken for the words around it
// (BAD-INPUT 40, 41).
func excerpt(text string) string {
	return quote(todo.Excerpt(text))
}

// quote returns a text as a JSON string, which hides no character.
func quote(text string) string {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return `"?"`
	}
	return string(quoted)
}
