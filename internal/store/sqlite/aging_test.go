package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/store/tables"
)

// Cursors that nobody used for long go, and make no other list current.
func TestAging(t *testing.T) {
	storetest.RunAging(t, func(t testing.TB) (board.Store, func(time.Duration)) {
		path := filepath.Join(t.TempDir(), "todo.db")
		return open(t, path), func(by time.Duration) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			rows, err := db.Query(queries().AllCursors)
			if err != nil {
				t.Fatal(err)
			}
			all, err := tables.Collect(rows, scanCursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range all {
				c.At = c.At.Add(-by)
				if _, err := db.Exec(`UPDATE cursors SET at = ?, sum = ? WHERE principal = ? AND conversation = ? AND list = ?`,
					c.At.UnixNano(), sumOf(tables.CursorValues(c)...), c.Principal, c.Conversation, c.List); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
