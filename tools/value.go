package tools

import (
	"bytes"
	"errors"
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

// parse reads one JSON value and returns it and the bytes after it.
func parse(raw []byte) (v value, rest []byte, err error) {
	if !utf8.Valid(raw) {
		return value{}, nil, errors.New("invalid UTF-8")
	}
	// A buffer, and not another reader, is read in place. Its capacity is cut off, so
	// that nothing behind the arguments is written to. Lone surrogates are accepted
	// here; whoever uses the text reports them with their position.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw[:len(raw):len(raw)]), jsontext.AllowInvalidUTF8(true))
	if v, err = decode(d); err != nil {
		return value{}, nil, err
	}
	return v, raw[d.InputOffset():], nil
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
		// syntax. In text it is U+FFFD, which may also have been sent as such, so its
		// position is found in the escapes.
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
	inner, rest, err := parse([]byte(text))
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
