package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// Cursors that nobody used for long go, and make no other list current.
func TestAging(t *testing.T) {
	storetest.RunAging(t, func(t testing.TB) (todo.Store, func(time.Duration)) {
		path := filepath.Join(t.TempDir(), "todo.db")
		return open(t, path), func(by time.Duration) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			rows, err := db.Query(`SELECT principal, conversation, list, seen, process, until, moved, current, at FROM cursors`)
			if err != nil {
				t.Fatal(err)
			}
			type row struct {
				c         todo.Cursor
				until, at int64
			}
			var all []row
			for rows.Next() {
				var r row
				if err := rows.Scan(&r.c.Principal, &r.c.Conversation, &r.c.List, &r.c.Seen, &r.c.Process, &r.until, &r.c.Moved, &r.c.Current, &r.at); err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			for _, r := range all {
				at := r.at - by.Nanoseconds()
				if _, err := db.Exec(`UPDATE cursors SET at = ?, sum = ? WHERE principal = ? AND conversation = ? AND list = ?`, at, sumOfCursor(r.c, r.until, at), r.c.Principal, r.c.Conversation, r.c.List); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
