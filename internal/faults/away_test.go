//go:build e2e && linux

package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
)

// BAD-INPUT 53
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	database, err := postgrestest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(database.Close)
	address, err := database.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	if err := database.Stop("fast"); err != nil {
		t.Fatal(err)
	}
	served := make(chan *serving)
	go func() {
		s, err := newServing(t, "--store", address)
		if err != nil {
			t.Error(err)
		}
		served <- s
	}()
	if printed, err := onStore(address, "lists"); err == nil || !strings.Contains(printed, "does not answer") {
		t.Errorf("a command does not give up: %v %s", err, printed)
	}
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	s := <-served
	chat := s.session(t, "")
	chat.Writes("p:A p:B")
	if err := database.Stop("immediate"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // of the first one the connection broke, the second one finds nobody
		a, err := chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		told := a.Refused()
		if told == nil || strings.Contains(told.Error(), database.Socket()) || strings.Contains(told.Error(), "user=") {
			t.Errorf("an agent is told %v", told)
		}
	}
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	chat.Writes("p:A p:B p:C")
}

// BAD-INPUT 75
func TestTruncatedStore(t *testing.T) {
	for suffix, says := range map[string]string{"": "restore a copy", "-wal": "restore a backup"} {
		file := filepath.Join(t.TempDir(), "todo.db")
		s := mustServe(t, "--store", "sqlite:"+file)
		chat := s.session(t, "")
		chat.Writes("p:A p:B")
		if err := os.Truncate(file+suffix, 0); err != nil {
			t.Fatal(err)
		}
		s.refusesWrites(t, chat, says)
	}
}

// refusesWrites checks that a server tells an agent why it writes nothing, and is not ready.
func (s *serving) refusesWrites(t *testing.T, chat *chattest.Chat, says string) {
	t.Helper()
	for range 2 {
		a, err := chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		if told := a.Refused(); told == nil || !strings.Contains(told.Error(), says) {
			t.Errorf("a write is answered with %v", told)
		}
	}
	checkReady(t, s, 503)
}

// BAD-INPUT 50: a server whose store was moved away or removed shows no empty board and makes
// no new store: it refuses, and says why in its log, until the store is back or a backup is
// restored.
func TestStoreMovedAway(t *testing.T) {
	for name, c := range map[string]struct {
		gone, back func(t *testing.T, dir string) error
	}{
		"its folder": {
			func(_ *testing.T, dir string) error { return os.Rename(dir, dir+".away") },
			func(_ *testing.T, dir string) error { return os.Rename(dir+".away", dir) }},
		"the file": {
			func(_ *testing.T, dir string) error {
				return os.Rename(filepath.Join(dir, "todo.db"), filepath.Join(dir, "away.db"))
			},
			func(_ *testing.T, dir string) error {
				return os.Rename(filepath.Join(dir, "away.db"), filepath.Join(dir, "todo.db"))
			}},
		"removed": {
			func(t *testing.T, dir string) error {
				command(t, nil, program, "backup", dir+".backup", "--store", "sqlite:"+filepath.Join(dir, "todo.db"))
				return os.RemoveAll(dir)
			},
			func(t *testing.T, dir string) error {
				command(t, nil, program, "backup", "--restore", "--yes", dir+".backup", "--store", "sqlite:"+filepath.Join(dir, "todo.db"))
				return nil
			}},
	} {
		dir := filepath.Join(t.TempDir(), "store")
		s := mustServe(t, "--store", "sqlite:"+filepath.Join(dir, "todo.db"))
		chat := s.session(t, "")
		chat.Writes("p:A p:B")
		if err := c.gone(t, dir); err != nil {
			t.Fatal(err)
		}
		s.refusesWrites(t, chat, "was moved, removed or emptied while it was in use: put it back")
		if status, body := get(s.url + "/api/lists"); status < 500 {
			t.Errorf("%s: who reads the lists is answered %d %s", name, status, body)
		}
		if log := s.Log.String(); !strings.Contains(log, "was moved, removed or emptied") {
			t.Errorf("%s: its log does not say why: %s", name, log)
		}
		if _, err := os.Stat(filepath.Join(dir, "todo.db")); err == nil {
			t.Errorf("%s: a new store was made", name)
		}
		if err := c.back(t, dir); err != nil {
			t.Fatal(err)
		}
		chat.Writes("p:A p:B p:C")
		checkReady(t, s, 200)
	}
}
