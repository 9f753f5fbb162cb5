package sqlite

import (
	"path/filepath"
	"testing"
	"time"

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

// A revision that cannot be read cannot be judged by its age. It stays, and the
// save that came upon it is saved and said to be.
func TestKeepBesideADamagedRevision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s, err := Open(path, WithKeep(todo.Keep{Age: time.Hour}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustSave(t, s, "a", 1)
	execSQL(t, openRaw(t, path), `UPDATE history SET body = 'damaged'`)
	next := snapshot("a", 2)
	next.Updated = next.Updated.Add(48 * time.Hour)
	if saved, err := s.Save(t.Context(), next); err != nil || saved.Revision != 2 {
		t.Errorf("saved revision %d, %v", saved.Revision, err)
	}
	if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 2 {
		t.Errorf("loaded revision %d, %v", got.Revision, err)
	}
}
