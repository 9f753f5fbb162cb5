package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"todo-mcp/internal/todo"
)

// What follows reads lists that models write as text in place of JSON
// (docs/spec/variants.md V5).

// listNames are what tools call their list; a model may take one for another.
var listNames = []string{"todos", "items", "tasks", "plan", "todoList", "list"}

var (
	// listMarker matches what begins a line of a list, and box what says its status.
	listMarker = regexp.MustCompile(`^(?:[-*+•]|[0-9]{1,4}[.)])(?:\s+|$)`)
	box        = regexp.MustCompile(`^\[([^][{}"']{0,20})\](?:\s+|$)`)
)

// boxes are the marks in a box, and what they mean.
var boxes = map[string]todo.Status{
	"": todo.Pending, "x": todo.Completed, "X": todo.Completed, "✓": todo.Completed, "✔": todo.Completed,
	"-": todo.InProgress, "~": todo.InProgress, "/": todo.InProgress, ">": todo.InProgress, "!": todo.Failed,
}

// textLine is a line of a list as text.
type textLine struct {
	whole, text string
	isMarked    bool   // it begins as a line of a list
	box         string // what is in a box, as a status if it is known
	isKnown     bool
}

func parseLine(view todo.View, line string) textLine {
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
	} else if word := todo.Fold(l.box); word != "" {
		isWord := func(w string) bool { return todo.Fold(w) == word }
		_, l.isKnown = otherStatuses[word]
		l.isKnown = l.isKnown || slices.ContainsFunc(slices.Concat(view.Accepts(), todo.CoreView().Accepts()), isWord)
	}
	if l.isKnown {
		l.text = l.text[len(m[0]):]
	}
	return l
}

// element returns the line as an item of the arguments, whose text is under a key. isText is false when it is JSON of
// one, or broken JSON: that stays a text, for an error, since what it says of a status is lost.
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
	return member{value: value{kind: '{', members: []member{
		{key, text}, {"status", value{kind: '"', text: status}}}}}, true
}

// listed reads a text of numbered lines, bullets or boxes as a list; ok is false for any
// other text. Lines between them are left out, which the answer says.
func (r *reader) listed(text string, list wholeList) (elements []member, ok bool) {
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	var lines []textLine
	for line := range strings.Lines(text) {
		if l := parseLine(list.view, line); l.whole != "" {
			lines = append(lines, l)
		}
	}
	hasBoxes := slices.ContainsFunc(lines, func(l textLine) bool { return l.isKnown })
	for _, l := range lines {
		if m := box.FindString(l.text); m != "" && hasBoxes && l.isMarked && !l.isKnown {
			l.isKnown, l.text = true, l.text[len(m):] // a status that is none: an error says so
		}
		switch {
		case l.isMarked || l.isKnown:
			element, _ := l.element(list.text)
			elements = append(elements, element)
		default:
			r.leftOut = append(r.leftOut, todo.Item{Text: l.whole})
		}
	}
	if len(elements) == 0 {
		r.leftOut = nil
	}
	return elements, len(elements) > 0
}

// objects returns elements of which texts have become items: JSON of one, a line of a list,
// or what to do. asText is true when there were some.
func (r *reader) objects(elements []member, list wholeList) (items []member, asText bool) {
	items = slices.Clone(elements)
	for i, e := range items {
		if e.value.kind != '"' || e.value.surrogate > 0 || strings.TrimSpace(e.value.text) == "" {
			continue
		}
		var isText bool
		items[i], isText = parseLine(list.view, e.value.text).element(list.text)
		asText = asText || isText
	}
	return items, asText
}

// noteLeftOut says in the answer which lines of a text are no items.
func (r *reader) noteLeftOut(d *todo.Draft) {
	d.Note(fmt.Sprintf(r.words().LeftOut, firstFew(r.words(), r.leftOut)))
}

// fromPython returns JSON for a literal of Python, in which models write lists as well; nil
// for what is none.
func fromPython(text string) (out []byte) {
	words := map[string]string{"True": "true", "False": "false", "None": "null"}
	isLetter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	for len(text) > 0 {
		end := 1
		switch c := text[0]; {
		case c == '\'' || c == '"':
			var ok bool
			if out, text, ok = appendString(out, text[1:], c); !ok {
				return nil
			}
			continue
		case isLetter(c):
			for end < len(text) && isLetter(text[end]) {
				end++
			}
			if word, ok := words[text[:end]]; ok {
				out, text = append(out, word...), text[end:]
				continue
			}
		case c == ',': // perhaps behind the last element
			if rest := strings.TrimSpace(text[1:]); rest != "" && (rest[0] == ']' || rest[0] == '}') {
				text = rest
				continue
			}
		}
		out, text = append(out, text[:end]...), text[end:]
	}
	return out
}

// appendString appends as JSON a string of Python whose first quote was read, and returns
// what stands behind it; ok is false when it has no end.
func appendString(out []byte, text string, quote byte) (_ []byte, rest string, ok bool) {
	var b strings.Builder
	for text != "" && text[0] != quote {
		if text[0] == '\'' || text[0] == '"' || text[0] == '\n' { // the other quote, or a line break
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		if strings.HasPrefix(text, `\'`) || strings.HasPrefix(text, `\"`) {
			b.WriteByte(text[1])
			text = text[2:]
			continue
		}
		c, _, tail, err := strconv.UnquoteChar(text, quote)
		if err != nil {
			return out, text, false
		}
		b.WriteRune(c)
		text = tail
	}
	if text == "" {
		return out, text, false
	}
	out, err := jsontext.AppendQuote(out, b.String())
	return out, text[1:], err == nil
}
