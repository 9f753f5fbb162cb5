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
