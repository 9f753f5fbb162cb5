//go:build e2e && linux

package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 53
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	database := must(postgrestest.New())(t)
	t.Cleanup(database.Close)
	address := must(database.NewDatabase())(t)
	check(t, database.Stop("fast"))
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
	check(t, database.Start())
	s := <-served
	chat := s.session(t, "")
	chat.Writes("p:A p:B")
	check(t, database.Stop("immediate"))
	for range 2 { // of the first one the connection broke, the second one finds nobody
		a := must(chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`))(t)
		told := a.Refused()
		if told == nil || strings.Contains(told.Error(), database.Socket()) || strings.Contains(told.Error(), "user=") {
			t.Errorf("an agent is told %v", told)
		}
	}
	check(t, database.Start())
	chat.Writes("p:A p:B p:C")
}

// BAD-INPUT 75
func TestTruncatedStore(t *testing.T) {
	for suffix, says := range map[string]string{"": "restore a copy", "-wal": "restore a backup"} {
		file := filepath.Join(t.TempDir(), "todo.db")
		s := mustServe(t, "--store", "sqlite:"+file)
		chat := s.session(t, "")
		chat.Writes("p:A p:B")
		check(t, os.Truncate(file+suffix, 0))
		s.refusesWrites(t, chat, says)
	}
}

// refusesWrites checks that a server tells an agent why it writes nothing, and is not ready.
func (s *serving) refusesWrites(t *testing.T, chat *chattest.Chat, says string) {
	t.Helper()
	for range 2 {
		a := must(chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`))(t)
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
		check(t, c.gone(t, dir))
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
		check(t, c.back(t, dir))
		chat.Writes("p:A p:B p:C")
		checkReady(t, s, 200)
	}
}

// BAD-INPUT 134: The lists are taken away and restored while servers run, also from another
// cluster's dump or behind a pooler → Meanwhile 503; then all goes on, and new writes count as
// newer
func TestRestoredUnderServers(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "todo.dump")
	other, _ := beginPostgres(t)
	source := mustServe(t, "--store", other)
	source.session(t, "plan").Writes("p:Restored")
	source.session(t, "newer").Writes("p:Restored too")
	exportDump(t, other, dump)
	for _, name := range []string{"direct", "pooled"} {
		t.Run(name, func(t *testing.T) {
			database := must(postgrestest.New())(t)
			t.Cleanup(database.Close)
			direct := must(database.NewDatabase())(t)
			store := direct
			if name == "pooled" {
				pooler, err := postgrestest.NewPooler(database)
				check(t, err)
				t.Cleanup(pooler.Close)
				if store, err = pooler.Through(direct); err != nil {
					t.Fatal(err)
				}
			}
			a, b := mustServe(t, "--store", store), mustServe(t, "--store", store)
			watch := servertest.OpenStream(t, "GET", b.url+"/api/events", "")
			watch.Expect("retry")
			before := a.session(t, "plan")
			before.Writes("p:Before")
			seenSoon(t, watch, "event: ")
			command(t, nil, "psql", "--quiet", "--command=DROP SCHEMA todo_mcp CASCADE", direct)
			if code, _, said := servertest.Ask(t, http.MethodGet, a.url+"/readyz", ""); code != http.StatusServiceUnavailable {
				t.Errorf("/readyz without lists: %d %s", code, said)
			}
			if answer, err := before.Try("TodoWrite", `{"todos":[]}`); err != nil || answer.Refused() == nil || strings.Contains(answer.Refused().Error(), "unknown") {
				t.Errorf("a write without a database: %v %v", answer, err)
			}
			command(t, nil, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+direct, dump)
			for _, s := range []*serving{a, b} {
				for late := time.Now().Add(5 * time.Second); ; { // the last try to write counts for a second
					code, _, said := servertest.Ask(t, http.MethodGet, s.url+"/readyz", "")
					if code == http.StatusOK {
						break
					}
					if time.Now().After(late) {
						t.Fatalf("/readyz after the restore: %d %s", code, said)
					}
				}
			}
			after := a.session(t, "plan")
			after.Writes("p:Restored p:After")
			seenSoon(t, watch, "After")
			var lists []struct{ Items []struct{ Text string } }
			if servertest.GetJSON(t, b.url+"/api/lists", &lists); len(lists) != 2 || len(lists[0].Items) != 2 || lists[0].Items[1].Text != "After" {
				t.Errorf("what was written last is not the newest: %v", lists)
			}
		})
	}
}

// exportDump backs a database up, as docs/operations.md says.
func exportDump(t *testing.T, store, file string) {
	t.Helper()
	command(t, nil, "pg_dump", "--format=custom", "--schema=todo_mcp", "--file="+file, store)
}

// seenSoon checks that a stream has a text within a second.
func seenSoon(t *testing.T, watch *servertest.Events, text string) {
	t.Helper()
	from := time.Now()
	watch.Expect(text)
	if took := time.Since(from); took > time.Second {
		t.Errorf("%q was seen after %v", text, took)
	}
}
