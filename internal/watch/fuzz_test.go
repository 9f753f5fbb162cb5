package watch

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// The same bytes are the same keys in whatever pieces a terminal sends them, and
// no bytes are kept for ever.
func FuzzKeys(f *testing.F) {
	for _, keys := range []string{"jk/q", "\x1b[A\x1b[5~\x1bOB", "\x1b[1;5C\x1b", "\x1bx\r\x7f\x03", "é分\xff\xe2\x82", "\x1b[" + strings.Repeat("1", 40) + "A", "\x1b[\x1b[A",
		"\x1b[200~two\x1b[A lines\x1b[201~q", "\x1b]11;rgb:ff/ff/ff\x1b\\q", "\x1b]11;\x1b[A"} {
		f.Add([]byte(keys), uint8(1))
		f.Add([]byte(keys), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var whole, pieces keyDecoder
		want := whole.feed(slices.Clone(data))
		var got []key
		for piece := range slices.Chunk(data, int(size)+1) {
			got = append(got, pieces.feed(slices.Clone(piece))...)
			if pasting := strings.HasPrefix(string(pieces.rest), pasteBegin); len(pieces.rest) > maxSequence+1 && !pasting || len(pieces.rest) > maxPaste {
				t.Fatalf("%d bytes wait", len(pieces.rest))
			}
		}
		if !slices.Equal(got, want) || string(pieces.rest) != string(whole.rest) {
			t.Fatalf("%q in pieces of %d: %q and %q, at once %q and %q", data, size+1, got, pieces.rest, want, whole.rest)
		}
		for _, k := range got {
			if utf8.RuneCountInString(string(k)) == 1 && strings.IndexFunc(string(k), raw) >= 0 {
				t.Fatalf("key %q", k)
			}
		}
	})
}

// No text of a list, a server's error or a filter reaches the screen unescaped,
// in any view and size, and no view has more lines than the terminal
// (BAD-INPUT 37, 38).
func FuzzFrame(f *testing.F) {
	f.Add("\x1b[2J\u009b31m\u202e", "a\xff\r\n", "l", uint8(80), uint8(20))
	f.Add("👩🏽‍💻 分析", "\u200b\ufeff", "\r\x1b[D", uint8(7), uint8(3))
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
				if i := strings.IndexFunc(line.flat(), raw); i >= 0 || !utf8.ValidString(line.flat()) {
					t.Fatalf("raw at %d: %q", i, line.flat())
				}
			}
		}
		check()
		var decoder keyDecoder
		for _, k := range decoder.feed([]byte(keys)) {
			if e := m.press(k); e.history != "" {
				m.setHistory(e.history, []todo.Snapshot{l}, errors.New(other))
			}
			check()
		}
	})
}

// raw reports whether a terminal may take a rune for more than a character.
func raw(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff
}
