//go:build e2e && linux

package faults

import (
	"database/sql"
	"errors"
	"os"
	"testing"

	_ "modernc.org/sqlite" // checks the file without todo-mcp

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/programtest"
)

// writer makes writes that a history can be searched for.
type writer struct{ programtest.Writer }

func newWriter(name string) *writer { return &writer{programtest.Writer{Name: name}} }

// write makes the next write. When it is refused or no answer comes, it returns an
// error.
func (w *writer) write(c *chattest.Chat) (acknowledged, error) {
	tool, args, write := w.Next()
	a, err := try(c.InOperation(write), tool, args)
	return acknowledged{List: a.List(), Revision: a.Revision(), Write: write}, err
}

// acknowledged is a write that was answered, journal collects those of several
// clients, and history is what is in a store.
type (
	acknowledged = programtest.Acknowledged
	journal      = programtest.Journal
	history      = programtest.History
)

// export reads the whole history of a store as a fresh process tells it.
func export(t *testing.T, path string) (history, error) {
	t.Helper()
	return programtest.Export(program, t.TempDir(), nil, "sqlite:"+path)
}

// checkStore checks the file at path after a fault, which no process has open: a
// fresh process reads every acknowledged write, no revision is missing, no write is
// there in part, and the file is whole. It returns how many writes were lost. A file
// that is not there has none: the fault came before it was made.
func checkStore(t *testing.T, path string, acks []acknowledged) (history, int) {
	t.Helper()
	return checkStoreAs(t, t.TempDir(), nil, path, acks)
}

func checkStoreAs(t *testing.T, dir string, as *user, path string, acks []acknowledged) (history, int) {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) { // export refuses such a path
		h := history{}
		return h, h.Check(t, acks)
	}
	h, err := programtest.Export(program, dir, as, "sqlite:"+path)
	if err != nil {
		t.Errorf("the store cannot be read any more: %v", err)
		return nil, len(acks)
	}
	lost := h.Check(t, acks)
	checkIntegrity(t, path)
	return h, lost
}

// checkIntegrity has SQLite check the file.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %s, %v", verdict, err)
	}
}
