package storage_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
)

// A key, which notes a sent notice or a call, is kept for an hour. Saving any key deletes the expired keys of all
// principals.
func TestOldNotesGo(t *testing.T) {
	store := filepath.Join(t.TempDir(), "todo.db")
	for n, whose := range []string{"", "ann", "bob"} {
		note(t, store, whose, fmt.Sprint("old", n))
	}
	db := checktest.Must(sql.Open("sqlite", store))(t)
	checktest.Must(db.Exec(`UPDATE keys SET until = ?`, time.Now().Add(-time.Minute).UnixNano()))(t)
	checktest.Check(t, db.Close())
	if n := oldNotes(t, store); n < 3 {
		t.Fatalf("%d old notes", n)
	}
	if note(t, store, "ann", "new"); oldNotes(t, store) != 0 {
		t.Errorf("%d notes of long ago are left", oldNotes(t, store))
	}
}

// note stores a key of each kind: of a notice that was sent, and of a call.
func note(t *testing.T, path, principal, what string) {
	t.Helper()
	store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	defer store.Close()
	err := store.Update(t.Context(), board.Key{Chat: "c"}, func(tx board.Tx) (err error) {
		for _, kind := range []board.KeyKind{board.NoticeKey, board.CallKey} {
			k := board.ChatKey{Principal: principal, Kind: kind, Text: what}
			err = errors.Join(err, tx.SetKey(t.Context(), k, "x", time.Now().Add(board.KeyAge)))
		}
		return err
	})
	checktest.Check(t, err)
}

// oldNotes counts the keys in a store's file that begin with "old".
func oldNotes(t *testing.T, path string) (n int) {
	t.Helper()
	db := checktest.Must(sql.Open("sqlite", path))(t)
	defer db.Close()
	checktest.Check(t, db.QueryRow(`SELECT count(*) FROM keys WHERE text LIKE 'old%'`).Scan(&n))
	return n
}

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }
