package storage_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/programtest"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/server/servertest"
)

// What hooks said is kept for an hour: what is older goes with the next note, whoever's it is,
// and with prune, also where no list goes.
func TestOldNotesGo(t *testing.T) {
	for what, remove := range map[string]func(t *testing.T, store string){
		"a note": func(t *testing.T, store string) {
			note(t, store, board.HostCallKey{Principal: "ann", Kind: board.ForgottenKind, ID: "new"}, 0)
		},
		"prune": func(t *testing.T, store string) {
			programtest.Succeeds(t, "prune", "--yes", "--store", "sqlite:"+store)
		},
	} {
		store := filepath.Join(t.TempDir(), "todo.db")
		programtest.Succeeds(t, "TodoWrite", servertest.Todos("pending", "A"), "--store", "sqlite:"+store)
		for n, of := range []board.HostCallKey{{Kind: board.CallKind}, {Kind: board.ChatTopicKind, Subject: "bob"}, {Kind: board.ClearedKind, Principal: "ann"}} {
			of.ID = fmt.Sprint("old", n)
			note(t, store, of, board.HostCallAge+time.Minute)
		}
		if n := oldNotes(t, store); n != 3 {
			t.Fatalf("%d old notes", n)
		}
		if remove(t, store); oldNotes(t, store) != 0 {
			t.Errorf("%s leaves %d of what hooks said long ago", what, oldNotes(t, store))
		}
	}
}

// note notes what a hook said some time ago.
func note(t *testing.T, path string, of board.HostCallKey, ago time.Duration) {
	t.Helper()
	store, err := sqlite.Open(path, board.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := storetest.NoteHostCall(t.Context(), store, board.HostCall{HostCallKey: of, Session: "s"}, time.Now().Add(-ago)); err != nil {
		t.Fatal(err)
	}
}

// oldNotes counts the notes of tests that are in a file.
func oldNotes(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(`SELECT count(*) FROM host_calls WHERE id LIKE 'old%'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
