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
	if !g.Next() {
		return "", s
	}
	return g.Value(), s[len(g.Value()):]
}

func cutLast(s string) (head, last string) {
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		last = g.Value()
	}
	return s[:len(s)-len(last)], last
}

// line draws a field behind a label in a width; what is around the cursor is
// shown where not all fits.
func (m *model) fieldLine(label string, f field, width int) string {
	const cursor, least = 1, 4
	before, after := render.Safe(f.before), render.Safe(f.after)
	label = render.Cut(label, max(width-least-cursor, 0))
	room := width - render.Cells(label) - cursor - 1
	for render.Cells(before) > max(room, 0) {
		_, before = cutFirst(before)
	}
	return paint(accent, label) + before + paint(accent, "▏") + render.Cut(after, room-render.Cells(before))
}

// prompt asks a person for a text, or to confirm.
type prompt struct {
	label string
	field field
	// question is true where y or Enter says yes and any other key no.
	question bool
	// check says what is wrong with the text; nil for a question.
	check func(text string) error
	// accept makes the edit from the text.
	accept  func(text string) edit
	problem string
}

// pressPrompt passes a key to the prompt.
func (m *model) pressPrompt(k key) effect {
	p := m.prompt
	switch {
	case p.question:
		m.prompt = nil
		if k == "y" || k == "Y" || k == keyEnter {
			return m.send(p.accept(""))
		}
		m.say(dim, "Nothing was changed.")
	case k == keyEscape:
		m.prompt = nil
	case k == keyEnter:
		if err := p.check(p.field.text()); err != nil {
			p.problem = err.Error()
			return effect{}
		}
		if m.lost != nil {
			p.problem = "not live: kept until the server is back"
			return effect{}
		}
		m.prompt = nil
		return m.send(p.accept(p.field.text()))
	default:
		p.field.press(k)
		p.problem = ""
	}
	return effect{}
}

// promptLine draws the prompt.
func (m *model) promptLine() string {
	p := m.prompt
	if p.question {
		return paint(warn, render.Cut(" "+p.label, m.width))
	}
	problem := ""
	if p.problem != "" {
		problem = "  " + render.Cut(render.Safe(p.problem), m.width/2)
	}
	return m.fieldLine(" "+p.label+" ", p.field, m.width-render.Cells(problem)) + paint(bad, problem)
}
