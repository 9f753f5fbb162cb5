//go:build e2e && linux

package faults

import (
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // checks the file without todo-mcp

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
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

// acknowledged is a write that was answered, journal collects such writes of several
// clients, and history is what is in a store.
type (
	acknowledged = programtest.Acknowledged
	journal      = programtest.Journal
	history      = programtest.History
)

// outcomes is what became of the writes of several clients.
type outcomes struct {
	acks journal

	mu      sync.Mutex
	refused []string // writes that were refused and so must not be there
	unknown []string // writes whose outcome was unknown
	lost    int
}

// outcome is what an answer says of a write.
type outcome int

const (
	isAcknowledged outcome = iota
	isRefused
	isUnknown
)

// sort puts a write where its answer says.
func (o *outcomes) sort(a chattest.Answer, write string) outcome {
	err := a.Refused()
	if err == nil {
		o.acks.Add(acknowledged{List: a.List(), Revision: a.Revision(), Write: write})
		return isAcknowledged
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.Contains(err.Error(), board.ErrUnknownOutcome.Error()) {
		o.unknown = append(o.unknown, write)
		return isUnknown
	}
	o.refused = append(o.refused, write)
	return isRefused
}

// check checks what is in a store: what was acknowledged, nothing that was refused,
// and, where they were repeated, the unknown ones once.
func (o *outcomes) check(t *testing.T, path string, repeated bool) {
	t.Helper()
	var h history
	h, o.lost = checkStore(t, path, o.acks.Acks)
	for _, write := range o.refused {
		if h.Made(write) != 0 {
			t.Errorf("the write %s was refused and is there", write)
		}
	}
	for _, write := range o.unknown {
		if n := h.Made(write); n != 1 && repeated {
			t.Errorf("the write %s was unknown and repeated, and is there %d times", write, n)
		}
	}
}

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
