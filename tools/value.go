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
	// text is the content of a string, or the literal of null, a boolean or a
	// number.
	text string
	// surrogate is the position in runes, from 1, of the first lone surrogate, or
	// replacement character, in a string with a lone surrogate; 0 when there is none.
	surrogate int
	members   []member // of an object, or of an array, where they have no names
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

// given reports whether a field that may be left out says something: models that must fill
// every field send null, an empty text, or the word for nothing.
func (v value) given() bool {
	isWord := v.kind == '"' && v.surrogate == 0 && slices.Contains(nothings, strings.TrimSpace(v.text))
	return v.kind != 0 && v.kind != 'n' && !isWord
}

var nothings = []string{"", "null", "None", "undefined"}

// first returns the value of the first of some fields that is there and not null.
func (v value) first(name string, others ...string) value {
	found := v.get(name)
	for n := 0; n < len(others) && (found.kind == 0 || found.kind == 'n'); n++ {
		found = v.get(others[n])
	}
	if found.kind == 'n' {
		return value{}
	}
	return found
}

// optional returns the value of the first of some fields that is given; every field that may
// be left out is read by it.
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

// ErrInvalidJSON is the error of [Tool.Read] and [BuiltIn.Read] for what is not JSON
// (docs/spec/variants.md T7).
var ErrInvalidJSON = errors.New("invalid JSON")

// ErrListLeftOut is wrapped by the error of [Tool.Read] for a call without the list that its
// tool needs.
var ErrListLeftOut = errors.New("the list is left out")

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
		// syntax. The replacement character stands in its place.
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

// blank matches what may stand behind JSON.
var blank = regexp.MustCompile(`^\s*$`)

// debris matches what models leave after JSON that they sent as a string:
// closing tags, brackets and code fences.
var debris = regexp.MustCompile("^(\\s|</[A-Za-z_:][-A-Za-z0-9_:.]*>|[\\]}>`])*$")

// fence matches the code fence that stands before such JSON.
var fence = regexp.MustCompile("^\\s*```[a-z]*\\s")

// unquote parses a string that contains an array or object as JSON, or as a literal of
// Python, which some models send instead of it (docs/spec/variants.md V5).
// ok is false for any other value.
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

// inBrackets returns a string, without a code fence, that begins as an array or object; empty for
// any other value.
func (v value) inBrackets() string {
	text := strings.TrimSpace(fence.ReplaceAllString(v.text, ""))
	if v.kind != '"' || !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") {
		return ""
	}
	return text
}

// isBroken reports whether a text is JSON of an array or object that is cut off or wrong. A
// word in brackets begins a text.
func (v value) isBroken() bool {
	_, ok := v.unquote()
	return !ok && v.inBrackets() != "" && !box.MatchString(strings.TrimSpace(v.text))
}

// excerpt quotes a text for a result or an error: cut to 40 runes and as a JSON
// string, so that it is one line and cannot be mistaken for the words around it
// (BAD-INPUT 40, 41).
func excerpt(text string) string {
	return quote(todo.Excerpt(text))
}

// quote returns a text as a JSON string, which hides no character.
func quote(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, text) // its error is of broken UTF-8, which it mends
	return string(quoted)
}
