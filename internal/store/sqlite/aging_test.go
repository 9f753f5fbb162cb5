package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// What chats have seen goes where nobody used it for long, and makes no other list current.
func TestAging(t *testing.T) {
	storetest.RunAging(t, func(t testing.TB) (board.Store, func(time.Duration)) {
		path := filepath.Join(t.TempDir(), "todo.db")
		return open(t, path), func(by time.Duration) {
			db := must(sql.Open("sqlite", path))(t)
			defer db.Close()
			db.SetMaxOpenConns(1)
			rows := must(db.Query(queries().AllSeen))(t)
			all := must(tables.Collect(rows, queries().ScanSeen))(t)
			for _, c := range all {
				c.At = c.At.Add(-by)
				if _, err := db.Exec(`UPDATE seen SET at = ?, sum = ? WHERE principal = ? AND chat = ? AND list = ?`,
					c.At.UnixNano(), sumOf(tables.SeenValues(c)...), c.Principal, c.Chat, c.List); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
