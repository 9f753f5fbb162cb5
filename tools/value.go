package tools

import (
	"bytes"
	"errors"
	"regexp"
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
	names := map[jsontext.Kind]string{
		0: "nothing", 'n': "null", 't': "boolean", 'f': "boolean", '"': "string", '0': "number", '{': "object", '[': "array",
	}
	return names[v.kind]
}

// ErrInvalidJSON is the error of [Tool.Read] and [BuiltIn.Read] for what is not JSON
// (docs/spec/variants.md T7).
var ErrInvalidJSON = errors.New("invalid JSON")

// parse reads one JSON value, behind which may stand what after matches. Nothing is an
// absent value. It returns ErrInvalidJSON for anything else.
func parse(raw []byte, after *regexp.Regexp) (v value, err error) {
	if len(raw) == 0 {
		return value{}, nil
	}
	// A buffer, and not another reader, is read in place. Its capacity is cut off, so
	// that nothing behind the arguments is written to. Lone surrogates are accepted
	// here; whoever uses the text reports them with their position.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw[:len(raw):len(raw)]), jsontext.AllowInvalidUTF8(true))
	if v, err = decode(d); err != nil || !utf8.Valid(raw) || !after.Match(raw[d.InputOffset():]) {
		return value{}, ErrInvalidJSON
	}
	return v, nil
}

func decode(d *jsontext.Decoder) (v value, err error) {
	v.kind = d.PeekKind()
	if v.kind != '{' && v.kind != '[' {
		raw, err := d.ReadValue()
		if err != nil || v.kind != '"' {
			v.text = string(raw)
			return v, err
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		// The error can only be a lone surrogate, since the decoder has checked the
		// syntax.
		if v.text = string(text); err != nil {
			v.surrogate = loneSurrogate(raw)
		}
		return v, nil
	}
	if _, err := d.ReadToken(); err != nil {
		return v, err
	}
	if v.kind == '{' {
		v.members = make([]member, 0, 4)
	}
	for end := v.kind + 2; d.PeekKind() != end; { // ']' and '}' stand two behind '[' and '{'
		var name string
		if v.kind == '{' {
			token, err := d.ReadToken()
			if err != nil {
				return v, err
			}
			name = token.String()
		}
		inner, err := decode(d)
		switch {
		case err != nil:
			return v, err
		case v.kind == '{':
			v.members = append(v.members, member{name, inner})
		default:
			v.elements = append(v.elements, inner)
		}
	}
	_, err = d.ReadToken()
	return v, err
}

// escape matches an escape in a JSON string, and U+FFFD itself.
var escape = regexp.MustCompile(`\\(u[0-9A-Fa-f]{4}|.)|\x{FFFD}`)

// loneSurrogate returns the position in runes, from 1, of the first surrogate in a
// JSON string that is not half of a pair. There must be one.
func loneSurrogate(raw []byte) int {
	// What is U+FFFD in the text then was none of these.
	raw = escape.ReplaceAllFunc(raw, func(e []byte) []byte {
		if bytes.EqualFold(e, []byte(`\ufffd`)) || string(e) == "\uFFFD" {
			return []byte("x")
		}
		return e
	})
	text, _ := jsontext.AppendUnquote(nil, raw)
	before, _, _ := bytes.Cut(text, []byte("\uFFFD"))
	return utf8.RuneCount(before) + 1
}

// blank matches what may stand behind JSON.
var blank = regexp.MustCompile(`^\s*$`)

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
	inner, err := parse([]byte(text), debris)
	return inner, err == nil
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
