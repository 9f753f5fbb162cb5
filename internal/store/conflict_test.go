package store_test

import (
	"path/filepath"
	"testing"

	"todo-mcp/internal/store"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
)

// A conflict is another writer of the same list (docs/operations.md, TodoConflicts):
// two processes on one file whose agents write each its own list have none.
func TestOwnListsAreNoConflict(t *testing.T) {
	path, c := filepath.Join(t.TempDir(), "todo.db"), &calls{ended: map[string]int{}}
	var boards []*todo.Board
	for range 2 {
		s, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b := todo.NewBoard(store.Observed(s, c))
		t.Cleanup(func() { b.Close(); s.Close() })
		boards = append(boards, b)
	}
	for range 5 {
		for i, b := range boards {
			w := todo.Write{Target: todo.Target{Append: true, Conversation: todo.Conversation{Key: string(rune('a' + i))}}, Change: func(d *todo.Draft) error { d.Append("A"); return nil }}
			if _, err := b.As("").Apply(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c.ended["save applied"] != 10 || c.ended["save conflict"] > 0 {
		t.Error(c.ended)
	}
}
