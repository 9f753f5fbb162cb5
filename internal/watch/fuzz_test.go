package watch

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// No text of a list, a server's error or a filter reaches the screen unescaped,
// in any view and size, and no view has more lines than the terminal
// (BAD-INPUT 37, 38).
func FuzzFrame(f *testing.F) {
	f.Add("\x1b[2J\u009b31m\u202e", "a\xff\r\n", "l", uint8(80), uint8(20))
	f.Add("👩🏽‍💻 分析", "\u200b\ufeff", "jh", uint8(7), uint8(3))
	f.Add("", " ", "/x\r", uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, text, other, keys string, width, height uint8) {
		if len(keys) > 12 {
			return // more show nothing new
		}
		l := list("one", 2, 2, 0, "in_progress a", "pending b")
		l.Items[0].Text, l.Items[0].Active, l.Items[1].Text = text, other, other
		l.List.Name, l.List.Workspace, l.Writer = other, text, todo.Writer{Client: text, Variant: other}
		child := subList(list("two", 3, 1, 0, "blocked d"), l.List.ID)
		child.List.Agent, child.Items[0].Reason = text, other
		m := modelWith(int(width), int(height), l, child)
		m.sourceName, m.filter, m.lost = render.Safe(other), text, errors.New(text) // the name as run sets it
		check := func() {
			lines := m.frame()
			if len(lines) > max(m.height, 1) {
				t.Fatalf("%d lines in a height of %d", len(lines), m.height)
			}
			for _, line := range lines {
				if flat := line.flat(); hasRaw(flat, raw) || !utf8.ValidString(flat) {
					t.Fatalf("raw: %q", flat)
				}
			}
		}
		check()
		for _, k := range keys {
			if e := m.press(key(k)); e.history != "" {
				m.setHistory(e.history, []todo.Snapshot{l}, errors.New(other))
			}
			check()
		}
	})
}

// hasRaw reports whether a painted text has a rune that is raw, or a role that is none.
func hasRaw(text string, raw func(rune) bool) bool {
	for i, part := range strings.Split(text, roleMark) {
		if i > 0 && (part == "" || role(part[0]) < plainText || role(part[0]) > struck) {
			return true
		}
	}
	return strings.ContainsFunc(unpainted(text), raw)
}

// raw reports whether a terminal may take a rune for more than a character.
func raw(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff
}
