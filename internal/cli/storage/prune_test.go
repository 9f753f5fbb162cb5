package storage_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// What was told is noted for an hour: what is older goes with the next note, whoever's it is,
// and with prune, also where no list goes.
func TestOldNotesGo(t *testing.T) {
	for what, remove := range map[string]func(t *testing.T, store string){
		"a note": func(t *testing.T, store string) { note(t, store, board.Notice{Principal: "ann", What: "new"}, 0) },
		"prune": func(t *testing.T, store string) {
			programtest.Succeeds(t, "prune", "--yes", "--store", "sqlite:"+store)
		},
	} {
		store := filepath.Join(t.TempDir(), "todo.db")
		programtest.Succeeds(t, "TodoWrite", servertest.Todos("pending", "A"), "--store", "sqlite:"+store)
		for n, whose := range []string{"", "ann", "bob"} {
			note(t, store, board.Notice{Principal: whose, What: fmt.Sprint("old", n)}, board.NoticeAge+time.Minute)
		}
		if n := oldNotes(t, store); n < 3 {
			t.Fatalf("%d old notes", n)
		}
		if remove(t, store); oldNotes(t, store) != 0 {
			t.Errorf("%s leaves %d notes of long ago", what, oldNotes(t, store))
		}
	}
}

// note notes that something was told some time ago.
func note(t *testing.T, path string, n board.Notice, ago time.Duration) {
	t.Helper()
	store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	defer store.Close()
	err := store.Update(t.Context(), board.Key{Chat: "c"}, func(tx board.Tx) error {
		_, err := tx.Claim(t.Context(), n, time.Now().Add(-ago), 0)
		if err == nil && ago > 0 { // and a hook said who makes a call
			err = tx.SetKey(t.Context(), board.ChatKey{Principal: n.Principal, Kind: board.CallKey, Text: n.What}, "chat", time.Now().Add(-ago))
		}
		return err
	})
	checktest.Check(t, err)
}

// oldNotes counts the notes of tests that are in a file.
func oldNotes(t *testing.T, path string) (n int) {
	t.Helper()
	db := checktest.Must(sql.Open("sqlite", path))(t)
	defer db.Close()
	checktest.Check(t, db.QueryRow(`SELECT (SELECT count(*) FROM notices WHERE what LIKE 'old%') + (SELECT count(*) FROM keys)`).Scan(&n))
	return n
}

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }
