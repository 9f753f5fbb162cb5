package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"todo-mcp/internal/board"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// allKeys returns every key that means something, and some texts.
func allKeys() (keys []key) {
	for _, b := range bindings() {
		for k := range strings.FieldsSeq(b.keys) {
			keys = append(keys, key(k))
		}
	}
	return append(keys, "y", "漢", "👩‍👩‍👧", "Backspace", "Ctrl-U", "unknown")
}

// randomList draws a list of one of a few ids, at a revision above before.
func randomList(t *rapid.T, before map[string]todo.Snapshot, now time.Time) todo.Snapshot {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "list")
	statuses := rapid.SliceOfN(rapid.SampledFrom(todo.Statuses()), 0, 30).Draw(t, "statuses")
	s := todo.Snapshot{List: todo.List{ID: id, Name: "list " + id, Created: noon(), Workspace: "/" + rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "folder")},
		Revision: before[id].Revision + 1, Seq: int64(len(before)) + before[id].Seq + 1, Updated: now}
	for i, status := range statuses {
		text := rapid.SampledFrom([]string{"Ship", "漢字のテキスト", "👩‍👩‍👧 family", "नमस्ते", strings.Repeat("many words ", 30)}).Draw(t, "text")
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: text, Status: status})
	}
	if id >= "e" {
		s.List.Agent, s.List.Parent = "agent "+id, rapid.SampledFrom([]string{"a", "e", "f", "gone"}).Draw(t, "parent")
	}
	s.Archived = rapid.IntRange(0, 9).Draw(t, "archived") == 0
	s.Deleted = rapid.IntRange(0, 9).Draw(t, "deleted") == 0
	return s
}

// Whatever is pressed and whatever agents write, in any size: a frame can be
// drawn and fits, and a write does not move the cursor from its list while that
// is there.
func TestAnythingGoes(t *testing.T) {
	keys := allKeys()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(Options{List: rapid.SampledFrom([]string{"", "list b"}).Draw(t, "wanted")})
		m.now, m.width, m.height, m.standings = noon(), 80, 24, map[string]Standing{}
		known := map[string]todo.Snapshot{}
		draw := func() {
			lines := m.frame()
			if len(lines) != max(m.height, 1) {
				t.Fatalf("%d lines on a screen of %d", len(lines), m.height)
			}
			for _, l := range lines {
				if n := render.Cells(l.flat()); n > m.width {
					t.Fatalf("a line of %d cells on a screen of %d: %q", n, m.width, l.flat())
				}
			}
		}
		perform := func(e effect) {
			if e.history != "" {
				m.showHistory([]todo.Snapshot{known[e.history]}, nil)
			}
			if e.edit != nil {
				after := known[e.edit.list]
				after.Revision++
				known[e.edit.list] = after
				m.edited(*e.edit, known[e.edit.list], board.Outcome{After: after, Changed: rapid.Bool().Draw(t, "changed")},
					rapid.SampledFrom([]error{nil, errors.New("refused")}).Draw(t, "error"))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { draw() },
			"press": func(t *rapid.T) {
				perform(m.press(rapid.SampledFrom(keys).Draw(t, "key")))
			},
			"resize": func(t *rapid.T) {
				m.width, m.height = rapid.IntRange(0, 220).Draw(t, "width"), rapid.IntRange(0, 60).Draw(t, "height")
			},
			"write": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "seconds")) * time.Second)
				l := randomList(t, known, m.now)
				known[l.List.ID] = l
				selected := m.board.cursor
				m.receiveLists([]todo.Snapshot{l}, false)
				perform(m.take())
				draw()
				still := slices.ContainsFunc(m.boardRows(0), func(r row) bool { return r.id == selected })
				if selected != "" && still && m.board.cursor != selected && m.opened == "" {
					t.Fatalf("the cursor went from %s to %s", selected, m.board.cursor)
				}
			},
			"lose": func(t *rapid.T) {
				m.lost = errors.New(strings.Repeat("refused ", rapid.IntRange(1, 40).Draw(t, "times")))
			},
			"stand": func(t *rapid.T) {
				id := rapid.SampledFrom([]string{"a", "b", "e"}).Draw(t, "list")
				m.standings[id] = standing(rapid.SampledFrom([]todo.State{todo.Working, todo.Idle, todo.Waiting, todo.LeftOpen}).Draw(t, "state"), "")
			},
		})
	})
}
