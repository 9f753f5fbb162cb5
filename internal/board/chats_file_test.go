//go:build !bits

// SQLite takes minutes to compile, so `make bits` leaves it out.

package board_test

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/store/storetest"
)

// The same of processes that share a file, each with a store of its own.
func TestChatsInOneFile(t *testing.T) {
	storetest.Check(t, func(r *rapid.T) {
		file := filepath.Join(t.TempDir(), board.NewID(), "todo.db")
		open := func() board.Store {
			s, err := sqlite.Open(file, board.Keep{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		d := newDesk(t)
		d.store, d.open = open(), open
		defer d.store.Close()
		checkChats(t, r, d)
	})
}
