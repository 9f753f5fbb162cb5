package watch

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// BAD-INPUT 37: no text of a list, a server's error or a filter reaches the screen
// or a plain line unescaped, in any view and size, and no view has more lines than
// the terminal.
//
// BAD-INPUT 37: Markup, event handlers, `javascript:` addresses; escape sequences, BEL, CR, C1;
// bidirectional and zero-width controls → Shown as text, made visible; emoji and CJK stay whole.
// The panel allows no inline script
func FuzzFrame(f *testing.F) {
	// Escape, Enter and the arrows; a tab searches the text; other runes are keys themselves.
	names := map[rune]key{'\x1b': "Esc", '\r': "Enter", '↓': "Down", '←': "Left"}
	const everywhere = "/\t\x1b\rG\r\x1bge\x1bbxufAAh↓\x1b?\x1b\x1b/\t\r"
	evil := "\x1b[2J\x1b]8;;http://x\a\x1b]52;c;aGk=\a\r\b\u009b31m\u202e\u200b\x00\xff"
	f.Add(evil, evil, everywhere, uint8(80), uint8(30))
	f.Add(evil, "x"+evil, everywhere, uint8(250), uint8(30))
	f.Add("\x1b[2J\u009b31m\u202e", "a\xff\r\n", "l", uint8(80), uint8(20))
	f.Add("👩🏽‍💻 分析", "\u200b\ufeff", "jh", uint8(7), uint8(3))
	f.Add("", " ", "/x\r", uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, text, other, keys string, width, height uint8) {
		if len(keys) > len(everywhere)+20 {
			return // more show nothing new
		}
		l := list("one", 2, 2, 0, "in_progress a", "pending b", "blocked c")
		l.Items[0].Text, l.Items[0].Active, l.Items[1].Text, l.Items[2].Reason = text, other, other, text
		l.List.Name, l.List.Workspace, l.GivenTitle = other, text, text
		l.List.Client, l.Writer = text, todo.Writer{Client: text, Variant: other}
		before := list("one", 1, 1, 0, "pending z")
		before.Items[0].Text = other
		child := subList(list("two", 3, 1, 0, "blocked d"), l.List.ID)
		child.List.Agent, child.Items[0].Reason = text, other
		l.List.Chat = other
		m := modelWith(int(width), int(height), l, child)
		m.standings["two"] = standing(todo.Waiting, other)
		m.sourceName, m.lost = render.Safe(other), errors.New(text) // the name as newModel sets it
		check := func() {
			t.Helper()
			lines := m.frame()
			if len(lines) > max(m.height, 1) {
				t.Fatalf("%d lines in a height of %d", len(lines), m.height)
			}
			for _, line := range lines {
				if hasRaw(line) || !utf8.ValidString(line) {
					t.Fatalf("raw: %q", line)
				}
				if n := render.Cells(line); n > m.width {
					t.Fatalf("a line of %d cells on a screen of %d: %q", n, m.width, line)
				}
			}
		}
		check()
		m.lost = nil
		for _, k := range keys {
			name := cmp.Or(names[k], key(k))
			e := m.press(name)
			if k == '\t' {
				m.setFilter(text)
			}
			if e.history != "" {
				m.showHistory([]todo.Snapshot{before, l}, nil)
			}
			if e.edit != nil {
				m.edited(*e.edit, l, board.Outcome{After: l, Changed: true}, nil)
				check()
				m.edited(*e.edit, l, board.Outcome{}, errors.New("refused"+other))
			}
			check()
		}
		m.opened, m.searching, m.page, m.lists = "one", false, nil, map[string]todo.Snapshot{"one": l}
		m.standings["one"], m.width = standing(todo.LeftOpen, ""), 2*m.width // so that all of who and when fits
		check()
		m.press("c")
		check()
		m.wanted, m.opened, m.lists = other, "", nil
		check()
		p := modelWith(80, 24)
		p.standings["one"] = standing(todo.Waiting, other)
		said := slices.Concat(p.events(before, l, Standing{}, true), p.events(todo.Snapshot{}, l, Standing{}, false))
		for _, text := range said {
			if hasRaw(strings.TrimSuffix(p.plainLine(l, text), "\n")) {
				t.Fatalf("%q", text)
			}
		}
	})
}

// hasRaw reports whether a painted text has a rune, roles aside, that a terminal may take
// for more than a character.
func hasRaw(text string) bool {
	return strings.ContainsFunc(unpainted(text), func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff
	})
}
