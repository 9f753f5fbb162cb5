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
	address, database := newPostgres(t)
	check(t, database.Stop("fast"))
	served := make(chan *serving)
	go func() {
		s, err := newServing(t, nil, "--store", address)
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
		told := must(chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`))(t).Refused()
		if told == nil || strings.Contains(told.Error(), database.Socket()) || strings.Contains(told.Error(), "user=") {
			t.Errorf("an agent is told %v", told)
		}
	}
	check(t, database.Start())
	chat.Writes("p:A p:B p:C")
}

func newStore(t *testing.T) (file string, s *serving, chat *chattest.Chat) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "store", "todo.db")
	s = mustServe(t, "--store", "sqlite:"+file)
	chat = s.session(t, "")
	chat.Writes("p:A p:B")
	return file, s, chat
}

// refusesWrites checks that a server tells an agent why it writes nothing, and is not ready.
func (s *serving) refusesWrites(t *testing.T, chat *chattest.Chat, says string) {
	t.Helper()
	for range 2 {
		told := must(chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`))(t).Refused()
		if told == nil || !strings.Contains(told.Error(), says) {
			t.Errorf("a write is answered with %v", told)
		}
	}
	checkReady(t, s, http.StatusServiceUnavailable)
}

// BAD-INPUT 75
func TestTruncatedStore(t *testing.T) {
	for suffix, says := range map[string]string{"": "restore a copy", "-wal": "restore a backup"} {
		file, s, chat := newStore(t)
		check(t, os.Truncate(file+suffix, 0))
		s.refusesWrites(t, chat, says)
	}
}

// BAD-INPUT 50: a server whose store was moved away or removed makes no new one: it refuses, and
// says why, until the store is back or a backup is restored.
func TestStoreMovedAway(t *testing.T) {
	file, s, chat := newStore(t)
	dir := filepath.Dir(file)
	command(t, nil, program, "backup", dir+".backup", "--store", "sqlite:"+file)
	for name, c := range map[string]struct{ gone, back func() error }{
		"moved": {func() error { return os.Rename(dir, dir+".away") }, func() error { return os.Rename(dir+".away", dir) }},
		"removed": {func() error { return os.RemoveAll(dir) }, func() error {
			command(t, nil, program, "backup", "--restore", "--yes", dir+".backup", "--store", "sqlite:"+file)
			return nil
		}},
	} {
		check(t, c.gone())
		s.refusesWrites(t, chat, "was moved, removed or emptied while it was in use: put it back")
		if status, body := get(s.url + "/api/lists"); status < 500 {
			t.Errorf("%s: who reads the lists is answered %d %s", name, status, body)
		}
		if log := s.Log.String(); !strings.Contains(log, "was moved, removed or emptied") {
			t.Errorf("%s: its log does not say why: %s", name, log)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: a new store was made", name)
		}
		check(t, c.back())
		chat.Writes("p:A p:B p:C")
		checkReady(t, s, http.StatusOK)
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
	for _, isPooled := range []bool{false, true} {
		direct, database := newPostgres(t)
		store := direct
		if isPooled {
			pooler := must(postgrestest.NewPooler(database))(t)
			t.Cleanup(pooler.Close)
			store = must(pooler.Through(direct))(t)
		}
		a, b, watch := twoServers(t, store)
		before := a.session(t, "plan")
		before.Writes("p:Before")
		seenSoon(t, watch, "event: ")
		command(t, nil, "psql", "--quiet", "--command=DROP SCHEMA todo_mcp CASCADE", direct)
		if code, said := get(a.url + "/readyz"); code != http.StatusServiceUnavailable {
			t.Errorf("/readyz without lists: %d %s", code, said)
		}
		if answer, err := before.Try("TodoWrite", `{"todos":[]}`); err != nil || answer.Refused() == nil || strings.Contains(answer.Refused().Error(), "unknown") {
			t.Errorf("a write without a database: %v %v", answer, err)
		}
		command(t, nil, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+direct, dump)
		checkReady(t, a, http.StatusOK)
		checkReady(t, b, http.StatusOK)
		a.session(t, "plan").Writes("p:Restored p:After")
		seenSoon(t, watch, "After")
		var lists []struct{ Items []struct{ Text string } }
		if servertest.GetJSON(t, b.url+"/api/lists", &lists); len(lists) != 2 || len(lists[0].Items) != 2 || lists[0].Items[1].Text != "After" {
			t.Errorf("pooled %t: what was written last is not the newest: %v", isPooled, lists)
		}
	}
}

// twoServers starts servers on a store, the second of which is watched.
func twoServers(t *testing.T, store string) (a, b *serving, watch *servertest.Events) {
	t.Helper()
	a, b = mustServe(t, "--store", store), mustServe(t, "--store", store)
	watch = servertest.OpenStream(t, "GET", b.url+"/api/events", "")
	watch.Expect("retry")
	return a, b, watch
}

func exportDump(t *testing.T, store, file string) {
	t.Helper()
	command(t, nil, "pg_dump", "--format=custom", "--schema=todo_mcp", "--file="+file, store)
}

// seenSoon checks that a stream has a text before a watcher would look anyway.
func seenSoon(t *testing.T, watch *servertest.Events, text string) {
	t.Helper()
	from := time.Now()
	watch.Expect(text)
	if took := time.Since(from); took > 2*time.Second {
		t.Errorf("%q was seen after %v", text, took)
	}
}
