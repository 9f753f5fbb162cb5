package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// This file reads lists that models send as text instead of JSON (V5).

// listNames are the names that tools have for their list; a model may confuse them.
var listNames = []string{"todos", "items", "tasks", "plan", "todoList", "list"}

var (
	// listMarker matches the beginning of a line in a list, and box the sign of its status.
	listMarker = regexp.MustCompile(`^(?:[-*+•]|[0-9]{1,4}[.)])(?:\s+|$)`)
	box        = regexp.MustCompile(`^\[([^][{}"']{0,20})\](?:\s+|$)`)
)

// boxes are the signs in a box.
var boxes = map[string]todo.Status{
	"": todo.Pending, "x": todo.Completed, "X": todo.Completed, "✓": todo.Completed, "✔": todo.Completed,
	"-": todo.InProgress, "~": todo.InProgress, "/": todo.InProgress, ">": todo.InProgress, "!": todo.Failed,
}

// textLine is a line of a list as text.
type textLine struct {
	whole, text string
	isMarked    bool   // it begins with a list marker
	box         string // the content of its box, as a status if it is known
	isKnown     bool   // the box is a known status
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

// element returns the line as an item whose text is under key. isText is false for a line that is JSON of an item,
// and for broken JSON, which becomes an error since its status is lost.
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
	return member{value: value{kind: '{', members: []member{{key, text}, {"status", value{kind: '"', text: status}}}}}, true
}

// listed reads a text of numbered lines, bullets or boxes as a list; ok is false for any other text. Lines between
// them are left out, which the answer says.
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
			l.isKnown, l.text = true, l.text[len(m):] // an unknown status, which an error reports
		}
		if l.isMarked || l.isKnown {
			element, _ := l.element(list.text)
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

// objects converts texts among elements to items: JSON of an item, a line of a list, or a plain text. asText is true
// if some were no JSON.
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

// noteLeftOut adds a note about the lines of a text that were left out, if there are any.
func (r *reader) noteLeftOut(d *todo.Draft) {
	if len(r.leftOut) > 0 {
		d.Note(fmt.Sprintf(r.words().LeftOut, firstFew(r.words(), r.leftOut)))
	}
}

// python matches what Python literals write otherwise than JSON: strings, three words, and a comma after the last
// element. inPython converts the inside of a string to that of a JSON string.
var (
	python   = regexp.MustCompile(`(?s)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?:True|False|None)\b|,\s*[\]}]`)
	inPython = strings.NewReplacer(`\\`, `\\`, `\'`, `'`, `\"`, `\"`, `\x`, `\u00`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
)

// fromPython converts a Python literal to JSON. The result for other texts is not valid JSON.
func fromPython(text string) []byte {
	words := map[string]string{"True": "true", "False": "false", "None": "null"}
	return python.ReplaceAllFunc([]byte(text), func(found []byte) []byte {
		switch found[0] {
		case '\'', '"':
			return []byte(`"` + inPython.Replace(string(found[1:len(found)-1])) + `"`)
		case ',':
			return found[len(found)-1:]
		}
		return []byte(words[string(found)])
	})
}
