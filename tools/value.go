package tools

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// value is one JSON value of a call's arguments.
type value struct {
	kind jsontext.Kind // 'n' 'f' 't' '"' '0' '{' '[', or 0 when absent
	text string        // the content of a string, or the literal of null, a boolean or a number
	// surrogate is 0 for a string without lone surrogates, else the position in runes, from 1,
	// of the first one or of a replacement character before it.
	surrogate int
	members   []member // of an object, or of an array, then without names
}

type member struct {
	name  string
	value value
}

func (v value) get(name string) value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return value{}
}

func (v value) missing() bool { return v.kind == 0 || v.kind == 'n' }

// given reports whether an optional field has a value: models that must fill every field send null, an empty text or
// a word for nothing.
func (v value) given() bool {
	isWord := v.kind == '"' && v.surrogate == 0 && slices.Contains(nothings, strings.TrimSpace(v.text))
	return !v.missing() && !isWord
}

var nothings = []string{"", "null", "None", "undefined"}

// first returns the value of the first of some fields that is there and not null.
func (v value) first(name string, others ...string) value {
	if found := v.get(name); !found.missing() {
		return found
	}
	for _, other := range others {
		if found := v.get(other); !found.missing() {
			return found
		}
	}
	return value{}
}

// optional returns the value of the first of some optional fields that is given.
func (v value) optional(names ...string) value {
	for _, name := range names {
		if found := v.get(name); found.given() {
			return found
		}
	}
	return value{}
}

// name returns the JSON type of the value, for errors.
func (v value) name() string {
	if v.isBroken() {
		return "broken JSON"
	}
	names := map[jsontext.Kind]string{
		0: "nothing", 'n': "null", 't': "boolean", 'f': "boolean", '"': "string", '0': "number", '{': "object", '[': "array",
	}
	return names[v.kind]
}

// ErrInvalidJSON is the error of [Tool.Read] and [BuiltIn.Read] for what is not JSON (T7).
var ErrInvalidJSON = errors.New("invalid JSON")

// ErrListLeftOut is wrapped by the error of [Tool.Read] for a call without the list that its tool needs.
var ErrListLeftOut = errors.New("the list is left out")

// parse reads one JSON value; after matches what may follow it. Empty input is an absent value. The error is
// ErrInvalidJSON.
func parse(raw []byte, after *regexp.Regexp) (v value, err error) {
	if len(raw) == 0 {
		return value{}, nil
	}
	// The decoder reads a bytes.Buffer in place; its capacity is cut off, so that nothing behind the arguments is
	// overwritten. Lone surrogates are accepted here and reported, with their position, where the text is used.
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
		// The syntax is already checked, so an error means a lone surrogate, which was replaced.
		if v.text = string(text); err != nil {
			before, _, _ := strings.Cut(v.text, string(utf8.RuneError))
			v.surrogate = utf8.RuneCountInString(before) + 1
		}
		return v, nil
	}
	v.members = make([]member, 0, 4)
	_, err = d.ReadToken()
	for end := v.kind + 2; err == nil && d.PeekKind() != end; { // ']' and '}' stand two behind '[' and '{'
		var m member
		if v.kind == '{' {
			var name jsontext.Token
			name, err = d.ReadToken()
			m.name = name.String()
		}
		if err == nil {
			m.value, err = decode(d)
		}
		v.members = append(v.members, m)
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return v, err
}

// blank matches what may follow JSON.
var blank = regexp.MustCompile(`^\s*$`)

// debris matches what models leave behind JSON sent as a string: closing tags, brackets and code fences.
var debris = regexp.MustCompile("^(\\s|</[A-Za-z_:][-A-Za-z0-9_:.]*>|[\\]}>`])*$")

// fence matches a code fence before such JSON.
var fence = regexp.MustCompile("^\\s*```[a-z]*\\s")

// unquote parses a string that contains an array or object as JSON, or as a Python literal (V5). ok is false for any
// other value.
func (v value) unquote() (inner value, ok bool) {
	text := v.inBrackets()
	if text == "" {
		return value{}, false
	}
	inner, err := parse([]byte(text), debris)
	if err != nil {
		inner, err = parse(fromPython(text), debris)
	}
	return inner, err == nil
}

// inBrackets returns the content of a string that begins as an array or object, without a code fence; empty for any
// other value.
func (v value) inBrackets() string {
	text := strings.TrimSpace(fence.ReplaceAllString(v.text, ""))
	if v.kind != '"' || !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") {
		return ""
	}
	return text
}

// isBroken reports whether a text is a cut-off or wrong JSON array or object, and not a text that begins with a word
// in brackets.
func (v value) isBroken() bool {
	_, ok := v.unquote()
	return !ok && v.inBrackets() != "" && !box.MatchString(strings.TrimSpace(v.text))
}

// excerpt quotes a text for a result or an error: cut to 40 runes, as a JSON string on one line, so that it cannot be
// mistaken for the words around it (BAD-INPUT 40, 41).
func excerpt(text string) string { return quote(todo.Excerpt(text)) }

// quote returns a text as a JSON string.
func quote(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, text) // the error is about broken UTF-8, which it replaces
	return string(quoted)
}
