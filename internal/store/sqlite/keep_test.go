package sqlite

import (
	"path/filepath"
	"testing"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

func TestKeep(t *testing.T) {
	storetest.RunKeep(t, func(t testing.TB, keep todo.Keep) todo.Store {
		s, err := Open(filepath.Join(t.TempDir(), "todo.db"), WithKeep(keep))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// A revision that cannot be read is in the way of no save.
func TestKeepBesideADamagedRevision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s, err := Open(path, WithKeep(todo.Keep{Revisions: 5}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := int64(1); n <= 10; n++ {
		next := snapshot("a", n)
		if saved, err := storetest.Save(t.Context(), s, next); err != nil || saved.Revision != n {
			t.Errorf("saved revision %d, %v", saved.Revision, err)
		}
		if n == 2 {
			execSQL(t, openRaw(t, path), `UPDATE history SET body = 'damaged' WHERE revision = 1`)
		}
	}
	if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 10 {
		t.Errorf("loaded revision %d, %v", got.Revision, err)
	}
}
