package watch

import (
	"errors"
	"io"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 37, 38: no control or invisible character of a list or filter reaches
// the screen.
func TestHostileText(t *testing.T) {
	evil := "\x1b[2J\x1b]8;;http://x\a\x1b]52;c;aGk=\a\r\b\u009b31m\u202e\u200b\x00\xff"
	l := list("id"+evil, 2, 2, 0, "in_progress a"+evil, "pending b"+evil, "blocked c"+evil+"|reason"+evil)
	l.GivenTitle, l.List.Workspace, l.List.Client = "title"+evil, "/w/"+evil, "client"+evil
	l.List.Name, l.Writer = "name"+evil, todo.Writer{Client: "client" + evil, Variant: "variant" + evil}
	first := list("id"+evil, 1, 1, 0, "pending z"+evil)
	child := subList(list("agent"+evil, 3, 1, 0, "in_progress d"+evil), l.List.ID)
	m := modelWith(400, 30, l, child)
	m.sourceName = "here"
	check := func(what string) {
		t.Helper()
		for _, l := range m.frame() {
			if hasRaw(l.flat(), isRaw) {
				t.Errorf("%s: raw: %q", what, l.flat())
			}
		}
	}
	for _, width := range []int{80, 400} {
		m.width = width
		check("overview")
		m.press("/")
		m.press(keyPaste + key(evil))
		check("search")
		m.press(keyEscape)
		m.press(keyEnter)
		check("opened")
		m.press("G")
		m.press(keyEnter)
		check("sub-agent")
		m.press(keyEscape)
		m.press("g")
		for _, k := range []key{"e", "b", "r", "n", "D"} {
			m.press(k)
			check("prompt " + string(k))
			m.press(keyEscape)
		}
		m.edited(edit{Edit: todo.Edit{Do: todo.EditText, Item: "1", Text: evil}, list: l.List.ID}, l, todo.Outcome{}, errors.New("refused"+evil))
		check("refused")
		m.press(keyEscape)
		m.edited(edit{Edit: todo.Edit{Do: todo.EditStatus, Item: "1"}, list: l.List.ID}, l, todo.Outcome{After: l, Changed: true}, nil)
		check("edited")
		m.press("h")
		m.setHistory(l.List.ID, []todo.Snapshot{first, l}, nil)
		check("history")
		m.press(keyEscape)
		m.press("?")
		check("overlay")
		m.press(keyEscape)
		m.press(keyEscape)
		m.filter = evil
		check("filtered")
		m.filter = ""
	}
	m.wanted, m.opened, m.lists = evil, "", nil
	check("wanted")
	for _, text := range m.notices([]todo.Snapshot{list("x"+evil, 9, 1, 0, "blocked b|"+evil)}) {
		if strings.ContainsFunc(text, isRaw) {
			t.Errorf("notice %q", text)
		}
	}
	p := newPlain(io.Discard, noon)
	for _, event := range append(p.events(first, l, true, false), p.events(todo.Snapshot{}, l, false, true)...) {
		if line := p.line(l, event); strings.ContainsFunc(strings.TrimSuffix(line, "\n"), isRaw) {
			t.Errorf("plain %q", line)
		}
	}
}

// isRaw reports whether a terminal would act on a character, or not show it.
func isRaw(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' || r == 0xfffd
}

// Lists that are each other's parent are still shown.
func TestParentCycle(t *testing.T) {
	m := modelWith(60, 20, subList(list("a", 1, 1, 0, "pending x"), "b"), subList(list("b", 2, 1, 0, "pending y"), "a"))
	if got := len(m.families()); got != 2 {
		t.Errorf("%d entries", got)
	}
}

// Every state of the viewer can be drawn in every size of terminal.
func TestAnySize(t *testing.T) {
	m := modelWith(1, 1, exampleLists()...)
	for _, keys := range [][]key{nil, {keyDown}, {keyEnter}, {keyEnter, "G", keyEnter}, {"e"}, {keyEnter, keyEscape, "h"}, {"["}, {"[", keyDown}, {"?"}, {keyDown}, {keyEscape, keyEscape, keyEscape, "/", "o"}} {
		for _, k := range keys {
			if e := m.press(k); e.history != "" {
				m.setHistory(e.history, releaseHistory(), nil)
			}
		}
		for m.width = 0; m.width < 250; m.width += 1 + m.width/4 {
			for m.height = 0; m.height < 60; m.height += 1 + m.height/4 {
				lines := m.frame()
				if len(lines) > max(m.height, 1) {
					t.Fatalf("%dx%d: %d lines", m.width, m.height, len(lines))
				}
				for _, l := range lines {
					if n := paintedCells(l.flat()); n > m.width {
						t.Fatalf("%dx%d after %q: line of %d cells: %q", m.width, m.height, keys, n, l.flat())
					}
				}
			}
		}
		m.width, m.height = 80, 24
	}
}
