package watch

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"todo-mcp/internal/render"
)

// field is a line of text that a person types, with its cursor between the two
// parts.
type field struct{ before, after string }

func (f field) text() string { return f.before + f.after }

// press edits the text and reports whether the key meant something to it. The
// cursor moves and deletes by whole characters, as joined emoji are.
func (f *field) press(k key) bool {
	switch k {
	case keyLeft:
		head, last := cutLast(f.before)
		f.before, f.after = head, last+f.after
	case keyRight:
		first, rest := cutFirst(f.after)
		f.before, f.after = f.before+first, rest
	case keyHome:
		f.before, f.after = "", f.text()
	case keyEnd:
		f.before, f.after = f.text(), ""
	case keyBackspace:
		f.before, _ = cutLast(f.before)
	case keyDelete:
		_, f.after = cutFirst(f.after)
	case keyEraseAll:
		f.before = ""
	case keyEraseWord:
		head := strings.TrimRight(f.before, " ")
		f.before = head[:strings.LastIndexByte(head, ' ')+1]
	default:
		text, ok := k.typed()
		if ok {
			f.before += text
		}
		return ok
	}
	return true
}

// typed returns the text that a key types: a character, or what was pasted.
func (k key) typed() (string, bool) {
	if text, ok := strings.CutPrefix(string(k), string(keyPaste)); ok {
		return text, true
	}
	return string(k), utf8.RuneCountInString(string(k)) == 1
}

func cutFirst(s string) (first, rest string) {
	g := displaywidth.StringGraphemes(s)
	g.Next()
	return g.Value(), s[len(g.Value()):]
}

func cutLast(s string) (head, last string) {
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		last = g.Value()
	}
	return s[:len(s)-len(last)], last
}

// line draws the field behind a label in a width; what is around the cursor is
// shown where not all fits.
func (f field) line(label string, width int) string {
	const cursor, least = 1, 4
	before, after := render.Safe(f.before), render.Safe(f.after)
	label = render.Cut(label, max(width-least-cursor, 0))
	room := width - render.Cells(label) - cursor - 1
	for render.Cells(before) > max(room, 0) {
		_, before = cutFirst(before)
	}
	return paint(accent, label) + before + paint(accent, "▏") + render.Cut(after, room-render.Cells(before))
}

// prompt is what stands in the last line while a person types a text or answers a question.
type prompt struct {
	kind  promptKind
	label string
	field
	edit    edit // is sent, with the text that was typed; zero for the search
	problem string
}

type promptKind int

const (
	forText   promptKind = iota
	forAnswer            // y or Enter says yes, any other key no
	forSearch            // the board shows what matches at each key
)

// ask opens a prompt for the text of an edit.
func (m *model) ask(label, text string, e edit) {
	m.prompt = &prompt{label: label, field: field{before: text}, edit: e}
}

// confirm opens a question.
func (m *model) confirm(question string, e edit) {
	m.prompt = &prompt{kind: forAnswer, label: question + "  y yes · any other key no", edit: e}
}

func (m *model) search() {
	m.prompt = &prompt{kind: forSearch, label: "/", field: field{before: m.filter}}
}

// pressPrompt passes a key to the prompt.
func (m *model) pressPrompt(k key) {
	switch p := m.prompt; {
	case p.kind == forAnswer:
		m.prompt = nil
		if k == "y" || k == "Y" || k == keyEnter {
			m.send(p.edit)
		} else {
			m.say(dim, "Nothing was changed.")
		}
	case k == keyEscape:
		m.prompt = nil
		if p.kind == forSearch {
			m.setFilter("")
		}
	case p.kind == forSearch:
		m.pressSearch(k)
	case k == keyEnter:
		m.accept()
	default:
		p.press(k)
		p.problem = ""
	}
}

// pressSearch edits the search, or moves in what it found.
func (m *model) pressSearch(k key) {
	switch k {
	case keyEnter:
		m.prompt = nil
	case keyUp, keyDown, keyPageUp, keyPageDown:
		m.pressBinding(k)
	default:
		if m.prompt.press(k) {
			m.setFilter(m.prompt.text())
		}
	}
}

// accept sends the edit of a prompt, unless its text is none for it.
func (m *model) accept() {
	p := m.prompt
	p.edit.Text = p.text()
	if err := p.edit.Check(); err != nil {
		p.problem = err.Error()
		return
	}
	if m.lost != nil {
		p.problem = "not live: kept until the server is back"
		return
	}
	m.prompt = nil
	m.send(p.edit)
}

// promptLine draws the prompt.
func (m *model) promptLine() string {
	p := m.prompt
	if p.kind == forAnswer {
		return paint(warn, render.Cut(" "+p.label, m.width))
	}
	problem := ""
	if p.problem != "" {
		problem = "  " + render.Cut(render.Safe(p.problem), m.width/2)
	}
	return p.line(" "+p.label+" ", m.width-render.Cells(problem)) + paint(bad, problem)
}
