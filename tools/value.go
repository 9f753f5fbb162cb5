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
	// surrogate is 0 for a string without lone surrogates, else the position in runes, from 1, of the first lone
	// surrogate or of a replacement character before it.
	surrogate int
	members   []member // of an object; or of an array, without names
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

// given reports whether an optional field has a value: models that must fill every field send null, an empty text or a
// word such as None.
func (v value) given() bool {
	isWord := v.kind == '"' && v.surrogate == 0 && slices.Contains(nothings, strings.TrimSpace(v.text))
	return v.kind != 0 && v.kind != 'n' && !isWord
}

var nothings = []string{"", "null", "None", "undefined"}

// first returns the first value among the named fields that is present and not null, else the last field's value.
func (v value) first(name string, others ...string) value {
	found := v.get(name)
	if found.missing() && len(others) > 0 {
		return v.first(others[0], others[1:]...)
	}
	return found
}

// optional returns the first given value among the named fields; an absent value if none is given.
func (v value) optional(names ...string) value {
	for _, name := range names {
		if found := v.get(name); found.given() {
			return found
		}
	}
	return value{}
}

func (v value) name() string {
	if v.isBroken() {
		return "broken JSON"
	}
	names := map[jsontext.Kind]string{
		0: "nothing", 'n': "null", 't': "boolean", 'f': "boolean", '"': "string", '0': "number", '{': "object", '[': "array",
	}
	return names[v.kind]
}

// ErrInvalidJSON is the error of [Tool.Read] and [BuiltIn.Read] for input that is not JSON (T7).
var ErrInvalidJSON = errors.New("invalid JSON")

// ErrListLeftOut is wrapped by the error of [Tool.Read] for a call that lacks the list that its tool needs.
var ErrListLeftOut = errors.New("the list is left out")

// parse reads one JSON value. The rest of the input must match the pattern in after. Empty input is an absent value.
// The error is ErrInvalidJSON.
func parse(raw []byte, after *regexp.Regexp) (v value, err error) {
	if len(raw) == 0 {
		return value{}, nil
	}
	// The decoder reads a bytes.Buffer in place; the capacity of raw is cut off, so that nothing behind the arguments
	// is overwritten. Lone surrogates are accepted here and reported, with their position, where the text is used.
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
	for end := v.kind + 2; err == nil && d.PeekKind() != end; { // in ASCII, ']' and '}' are two after '[' and '{'
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

// blank matches the white space that may follow JSON.
var blank = regexp.MustCompile(`^\s*$`)

// debris matches remains that models leave after JSON sent as a string: closing tags, brackets and code fences.
var debris = regexp.MustCompile("^(\\s|</[A-Za-z_:][-A-Za-z0-9_:.]*>|[\\]}>`])*$")

// fence matches a code fence before JSON sent as a string.
var fence = regexp.MustCompile("^\\s*```[a-z]*\\s")

// unquote parses a string that contains a JSON array or object (V5). It returns any other value unchanged, and false.
func (v value) unquote() (inner value, ok bool) {
	text := v.inBrackets()
	inner, err := parse([]byte(text), debris)
	if text == "" || err != nil {
		return v, false
	}
	return inner, true
}

// inBrackets returns the content of a string that begins as an array or object, without a code fence; empty for any
// other value.
func (v value) inBrackets() string {
	if v.kind != '"' {
		return ""
	}
	text := strings.TrimSpace(fence.ReplaceAllString(v.text, ""))
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		return text
	}
	return ""
}

// isBroken reports whether a text is a cut-off or wrong JSON array or object. A text that begins with a word in
// brackets, such as [x], is not.
func (v value) isBroken() bool {
	_, ok := v.unquote()
	return !ok && v.inBrackets() != "" && !box.MatchString(strings.TrimSpace(v.text))
}

// excerpt quotes a text for a result or an error: cut to 40 runes, as a JSON string on one line, so that it cannot be
// mistaken for the words around it (BAD-INPUT 40, 41).
func excerpt(text string) string { return quote(todo.Excerpt(text)) }

func quote(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, text) // the error reports invalid UTF-8, which is replaced
	return string(quoted)
}

// The rest of this file reads lists that models send as text instead of JSON (V5).

// listNames are the names of the tools' fields for the list; a model may send the name of another tool.
var listNames = []string{"todos", "items", "tasks", "plan", "todoList", "list"}

var (
	// listMarker matches the bullet or number that begins a line of a list, and box the status in brackets after it.
	listMarker = regexp.MustCompile(`^(?:[-*+•]|[0-9]{1,4}[.)])(?:\s+|$)`)
	box        = regexp.MustCompile(`^\[([^][{}"']{0,20})\](?:\s+|$)`)
)

var boxes = map[string]todo.Status{
	"": todo.Pending, "x": todo.Completed, "X": todo.Completed, "✓": todo.Completed, "✔": todo.Completed,
	"-": todo.InProgress, "~": todo.InProgress, "/": todo.InProgress, ">": todo.InProgress, "!": todo.Failed,
}

type textLine struct {
	whole, text string
	isMarked    bool   // the line begins with a list marker
	box         string // the content of its box; for a known sign, the status that the sign means
	isKnown     bool   // the box has a known status
}

func parseLine(line string) textLine {
	whole := strings.TrimSpace(line)
	mark := listMarker.FindString(whole)
	l := textLine{whole: whole, text: whole[len(mark):], isMarked: mark != ""}
	m := box.FindStringSubmatch(l.text)
	if m == nil {
		return l
	}
	l.box = strings.TrimSpace(m[1])
	if status, ok := boxes[l.box]; ok {
		l.box, l.isKnown = string(status), true
	} else {
		_, l.isKnown = statusWords[todo.Fold(l.box)]
	}
	if l.isKnown {
		l.text = l.text[len(m[0]):]
	}
	return l
}

// element returns the line as an item with its text under key. isText is false for JSON: an object is itself the item,
// and an array or broken JSON later becomes an error because its status is lost.
func (l textLine) element(key string) (m member, isText bool) {
	status, text := string(todo.Pending), value{kind: '"', text: l.text}
	if l.isKnown {
		status = l.box
	}
	if inner, ok := text.unquote(); ok && inner.kind == '{' {
		return member{value: inner}, false
	} else if ok || text.isBroken() {
		return member{value: text}, false
	}
	return item(key, text, status), true
}

// item returns an object with a status and, under key, a text.
func item(key string, text value, status string) member {
	return member{value: value{kind: '{', members: []member{{key, text}, {"status", value{kind: '"', text: status}}}}}
}

// listed reads a text of numbered lines, bullets or boxes as a list; ok is false for any other text. Other lines of the
// text are left out, and the answer names them.
func (r *reader) listed(text, key string) (elements []member, ok bool) {
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	var lines []textLine
	for line := range strings.Lines(text) {
		if l := parseLine(line); l.whole != "" {
			lines = append(lines, l)
		}
	}
	hasBoxes := slices.ContainsFunc(lines, func(l textLine) bool { return l.isKnown })
	for _, l := range lines {
		if m := box.FindString(l.text); m != "" && hasBoxes && l.isMarked && !l.isKnown {
			l.isKnown, l.text = true, l.text[len(m):] // an unknown status, which an error reports
		}
		if l.isMarked || l.isKnown {
			element, _ := l.element(key)
			elements = append(elements, element)
		} else {
			r.leftOut = append(r.leftOut, todo.Item{Text: l.whole})
		}
	}
	if len(elements) == 0 {
		r.leftOut = nil
	}
	return elements, len(elements) > 0
}

// objects converts elements that are texts (an item in JSON, a line of a list, or plain text) to items. asText is true
// if one of these texts was not JSON.
func (r *reader) objects(elements []member, key string) (items []member, asText bool) {
	items = slices.Clone(elements)
	for i, e := range items {
		if e.value.kind != '"' {
			continue
		}
		isText := true
		if items[i] = item(key, e.value, string(todo.Pending)); e.value.surrogate == 0 {
			items[i], isText = parseLine(e.value.text).element(key)
		}
		asText = asText || isText
	}
	return items, asText
}
