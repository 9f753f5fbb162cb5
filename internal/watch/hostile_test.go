package watch

import (
	"errors"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 37, 38: no control or invisible character of a list or filter reaches
// the screen.
func TestHostileText(t *testing.T) {
	evil := "\x1b[2J\x1b]8;;http://x\a\x1b]52;c;aGk=\a\r\b\u009b31m\u202e\u200b\x00\xff"
	l := list("id"+evil, 2, 2, 0, "in_progress a"+evil, "pending b"+evil, evil+" c")
	l.List.Name, l.Writer = "name"+evil, todo.Writer{Client: "client" + evil, Variant: "variant" + evil}
	first := list("id"+evil, 1, 1, 0, "pending z"+evil)
	child := subList(list("agent"+evil, 3, 1, 0, "in_progress d"+evil), l.List.ID)
	m := modelWith(400, 30, l, child)
	m.sourceName, m.filter, m.lost = "here", evil, errors.New("lost"+evil)
	check := func(what string) {
		t.Helper()
		for _, line := range m.frame() {
			if i := strings.IndexFunc(line, func(r rune) bool {
				return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' || r == 0xfffd
			}); i >= 0 {
				t.Errorf("%s: raw at %d: %q", what, i, line)
			}
		}
	}
	check("overview")
	m.press("/")
	check("filter")
	m.press(keyEnter)
	m.press(keyEnter)
	check("opened")
	m.press(keyLeft)
	m.setHistory(l.List.ID, []todo.Snapshot{first, l}, nil)
	check("history")
	m.wanted, m.opened = evil, ""
	check("wanted")
}

// Lists that are each other's parent are still shown.
func TestParentCycle(t *testing.T) {
	m := modelWith(60, 20, subList(list("a", 1, 1, 0, "pending x"), "b"), subList(list("b", 2, 1, 0, "pending y"), "a"))
	if got := len(m.entries()); got != 2 {
		t.Errorf("%d entries", got)
	}
}

// Every state of the viewer can be drawn in every size of terminal.
func TestAnySize(t *testing.T) {
	m := modelWith(1, 1, exampleLists()...)
	for _, keys := range [][]key{nil, {keyDown}, {keyEnter}, {keyLeft}, {keyLeft}, {keyDown}, {"l", keyEscape, "/"}} {
		for _, k := range keys {
			if e := m.press(k); e.history != "" {
				m.setHistory(e.history, releaseHistory(), nil)
			}
		}
		for m.width = 0; m.width < 60; m.width += 1 + m.width/8 {
			for m.height = 0; m.height < 25; m.height += 1 + m.height/8 {
				if lines := m.frame(); len(lines) > max(m.height, 1) {
					t.Fatalf("%dx%d: %d lines", m.width, m.height, len(lines))
				}
			}
		}
	}
}
