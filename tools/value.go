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
)

// value is one JSON value of a call's arguments, kept as it was sent.
type value struct {
	kind jsontext.Kind // 'n' 'f' 't' '"' '0' '{' '[', or 0 when absent
	// text is the string's content, or the literal of a number.
	text string
	// surrogate is the position in runes, from 1, of a lone surrogate that the
	// string had; 0 when there was none.
	surrogate int
	members   []member
	elements  []value
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

// name is what the value is called in an error.
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
	// A lone surrogate is told with its place by whoever uses the text.
	jsontext.AllowInvalidUTF8(true),
}

// parse reads one JSON value with nothing behind it but white space.
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

// parsePrefix reads one JSON value and returns what stands behind it.
func parsePrefix(raw []byte) (value, []byte, error) {
	if !utf8.Valid(raw) {
		return value{}, nil, fmt.Errorf("invalid UTF-8")
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), decodeOptions...)
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
	// The error here can only be a lone surrogate: the decoder has judged the
	// syntax. What was replaced is told from a U+FFFD that was sent as such by
	// looking at the escapes.
	v := value{kind: '"', text: string(text)}
	if err != nil {
		v.surrogate = loneSurrogate(raw)
	}
	return v, nil
}

// loneSurrogate finds the first \uD800–\uDFFF escape that is not half of a
// pair, as a position in runes from 1.
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

// debris is what models leave behind a JSON text that they sent as a string:
// closing tags, brackets and fences of what they thought they were inside of.
var debris = regexp.MustCompile("^(\\s|</[A-Za-z_:][-A-Za-z0-9_:.]*>|[\\]}>`])*$")

// unquote reads a string that holds JSON, which some models send in place of
// the JSON itself (VARIANTS.md V5). ok is false when the string is not that.
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

// excerpt quotes a text for an error: cut, in one line, with nothing in it that
// could pass for the error's own words (BAD-INPUT 40, 41).
func excerpt(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) > most {
		runes = append(runes[:most:most], '…')
	}
	quoted, err := jsontext.AppendQuote(nil, string(runes))
	if err != nil {
		return `"?"`
	}
	return string(quoted)
}
