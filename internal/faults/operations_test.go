//go:build e2e && linux

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 52: while a server has a store open, a newer program raises the store's version, then renames its tables:
// agents, pages and /readyz report the newer version, and no command changes the store.
func TestNewerBeside(t *testing.T) {
	for name, begin := range newStores() {
		t.Run(name, func(t *testing.T) {
			store := begin(t)
			s := mustServe(t, "--store", store)
			agent := s.session(t, "plan")
			agent.Writes("p:A")
			file, isFile := strings.CutPrefix(store, "sqlite:")
			behind := func(inSQLite, inPostgres string) {
				if isFile {
					command(t, nil, "sqlite3", file, inSQLite)
				} else {
					command(t, nil, "psql", "--quiet", "--command="+inPostgres, store)
				}
			}
			refuses := func(paths ...string) {
				answer, err := agent.Try("TodoWrite", `{"todos":[{"content":"B","status":"pending","activeForm":"B"}]}`)
				if told := answer.Refused(); err != nil || told == nil || !strings.Contains(told.Error(), board.ErrTooNew.Error()) || strings.Contains(told.Error(), "SQL") {
					t.Errorf("an agent is told %v, %v", told, err)
				}
				for _, path := range paths {
					if code, said := get(s.url + path); code != http.StatusServiceUnavailable || !strings.Contains(said, board.ErrTooNew.Error()) {
						t.Errorf("%s: %d %s", path, code, said)
					}
				}
			}
			behind("PRAGMA user_version = 99", "UPDATE todo_mcp.store SET version = 99; ALTER TABLE todo_mcp.version_1 RENAME TO version_99")
			refuses("/readyz")
			behind("ALTER TABLE lists RENAME TO plans", "ALTER TABLE todo_mcp.lists RENAME TO plans")
			refuses("/readyz", "/api/lists", "/")
			behind("ALTER TABLE plans RENAME TO lists", "ALTER TABLE todo_mcp.plans RENAME TO lists")
			checktest.Check(t, errors.Join(s.Terminate(), s.Wait(10*time.Second)))
			content := func() string {
				if isFile {
					return string(command(t, nil, "sha256sum", file)) + fmt.Sprint(filepath.Glob(file+"*"))
				}
				return restrict.ReplaceAllString(string(command(t, nil, "pg_dump", "--schema=todo_mcp", store)), "")
			}
			before := content()
			for _, args := range []string{"lists", "show", "history plan", "today", "check", "export", "backup " + filepath.Join(t.TempDir(), "b"), "prune --dry-run", "serve --addr 127.0.0.1:0"} {
				if !isFile && strings.HasPrefix(args, "backup") {
					continue // PostgreSQL is backed up by pg_dump
				}
				if printed, err := onStore(store, strings.Fields(args)...); err == nil || !strings.Contains(printed, "todo-mcp") || !strings.Contains(printed, "version") {
					t.Errorf("%s: %v %s", args, err, printed)
				}
			}
			if content() != before {
				t.Error("a store of a newer program is not as it was")
			}
		})
	}
}

// restrict matches the lines that differ between two dumps of one database.
var restrict = regexp.MustCompile(`(?m)^\\(un)?restrict .*`)

// A PostgreSQL account without rights cannot make the schema. With only the rights that docs/operations.md gives,
// servers and commands can do everything.
func TestLeastRights(t *testing.T) {
	grants := pageOf(t, "Backup and restore", "sql")
	address, _ := newPostgres(t)
	as := func(role string) string { return strings.Replace(address, "todo@", role+"@", 1) }
	sql := func(store, text string) {
		t.Helper()
		command(t, []byte(text), "psql", "--quiet", "--set=ON_ERROR_STOP=1", store)
	}
	sql(address, `CREATE ROLE maker LOGIN; CREATE ROLE app LOGIN; SELECT format('GRANT CREATE ON DATABASE %I TO maker', current_database()) \gexec`)
	if printed, err := onStore(as("app"), "lists"); err == nil || !strings.Contains(printed, "permission denied") {
		t.Errorf("an account without rights made the schema: %v %s", err, printed)
	}
	command(t, nil, program, "lists", "--store", as("maker"))
	sql(as("maker"), grants)

	store := as("app")
	a, b, watch := twoServers(t, store)
	chat := a.session(t, "plan")
	chat.Writes("p:First")
	seenSoon(t, watch, "First")
	chat.Writes("c:First p:Second")
	seenSoon(t, watch, "Second")
	whole := filepath.Join(t.TempDir(), "whole.ndjson")
	exportStore(t, store, whole)
	list := chat.Current()
	b.session(t, "other").Writes("p:Kept")
	for _, line := range []string{
		"check", "doctor", "rename " + list + " Other", "restore " + list + " 1", "archive " + list, "delete " + list + " --purge --yes", "import " + whole, "prune --older-than 1 --yes",
	} {
		succeeds(t, store, line)
	}
	if printed, err := onStore(store, "lists"); err != nil || !strings.Contains(printed, "other") {
		t.Errorf("after all that: %v %s", err, printed)
	}
}

// BAD-INPUT 131: `prune` of thousands of lists while agents write → No write waits longer than a moment
func TestPruneInSteps(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "todo.db"), filepath.Join(dir, "lists.ndjson")
	store := "sqlite:" + path
	var lines bytes.Buffer
	long, lists := strings.Repeat("x", 1000), size(4000, 30000)
	for n := range lists {
		at := time.Date(2025, 1, 1, 0, 0, n, 0, time.UTC)
		for revision := range int64(5) {
			s := todo.Snapshot{List: todo.List{ID: fmt.Sprintf("old%023d", n), Conversation: fmt.Sprint("c", n/500), Client: "tester", Created: at}, Revision: revision + 1, LastID: 1, Updated: at, Worked: at,
				Items: []todo.Item{{ID: "1", Text: long[revision:], Status: todo.Completed, Created: at}}}
			checktest.Check(t, json.NewEncoder(&lines).Encode(s))
		}
	}
	checktest.Check(t, os.WriteFile(file, lines.Bytes(), 0o600))
	importFile(t, file, store)
	sizeOf := func(suffix string) (bytes int64) {
		if info, err := os.Stat(path + suffix); err == nil {
			bytes = info.Size()
		}
		return bytes
	}
	before := sizeOf("")
	chat := mustServe(t, "--store", store).session(t, "")
	pruned := make(chan error, 1)
	began := time.Now()
	go func() {
		printed, err := onStore(store, "prune", "--older-than", "1", "--yes")
		if err != nil || !strings.HasPrefix(printed, fmt.Sprintf("Deleted %d of ", lists)) {
			err = fmt.Errorf("%w: %s", err, printed)
		}
		pruned <- err
	}()
	var longest time.Duration
	log, writes := int64(0), 0
	for ; len(pruned) == 0; writes++ {
		began := time.Now()
		chat.Writes(fmt.Sprintf("p:One p:Two p:Three-%d", writes))
		longest, log = max(longest, time.Since(began)), max(log, sizeOf("-wal"))
	}
	took, after := time.Since(began), sizeOf("")
	checktest.Check(t, <-pruned)
	if writes < 20 || longest > max(2*time.Second, took/4) || after > before/2 || log > 32e6 {
		t.Errorf("131: %d writes, the longest waited %v of %v; %d of %d bytes are left, with a log of %d", writes, longest, took, after, before, log)
	}
}

// A server on PostgreSQL with an audit log has every metric, and every value of the label operation, that alerts or
// docs/operations.md name.
func TestMetricsOfAlertsExist(t *testing.T) {
	store, _ := newPostgres(t)
	s := mustServe(t, "--store", store, "--audit-log", filepath.Join(t.TempDir(), "audit.log"))
	s.session(t, "").Writes("p:A")
	_, scrape := get(s.url + "/metrics")
	found := 0
	for _, file := range []string{"packaging/prometheus/rules.yaml", "docs/operations.md"} {
		text := checktest.Must(os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file))))(t)
		for _, name := range regexp.MustCompile(`\b(?:todo|mcp_server|http_server|process)_[a-z_]+[a-z]\b`).FindAllString(string(text), -1) {
			found++
			if !noMetrics[name] && !regexp.MustCompile(`(?m)^(# TYPE )?`+name+`[{ ]`).MatchString(scrape) {
				t.Errorf("%s names %s, which is not there", file, name)
			}
		}
		for _, label := range regexp.MustCompile(`\boperation="[a-z_]+"`).FindAllString(string(text), -1) {
			if !strings.Contains(scrape, label) { // an alert on a missing label would never fire
				t.Errorf("%s names %s, which is not there", file, label)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d names: the form of metrics changed", found)
	}
}

// noMetrics are names in rules.yaml and docs/operations.md that /metrics rightly lacks: a metric that the document says
// does not exist, and the schema in PostgreSQL.
var noMetrics = map[string]bool{"mcp_server_session_duration_seconds": true, "todo_mcp": true}

// BAD-INPUT 53: a server waits for a database that is down at its start, and serves again after the database crashed.
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	address, database := newPostgres(t)
	checktest.Check(t, database.Stop("fast"))
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
	checktest.Check(t, database.Start())
	s := <-served
	chat := s.session(t, "")
	chat.Writes("p:A p:B")
	checktest.Check(t, database.Stop("immediate"))
	for range 2 { // the first call meets a broken connection, the second no server
		told := checktest.Must(chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`))(t).Refused()
		if told == nil || strings.Contains(told.Error(), database.Socket()) || strings.Contains(told.Error(), "user=") {
			t.Errorf("an agent is told %v", told)
		}
	}
	checktest.Check(t, database.Start())
	chat.Writes("p:A p:B p:C")
}

func newStore(t *testing.T) (file string, s *serving, chat *servertest.Chat) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "store", "todo.db")
	s = mustServe(t, "--store", "sqlite:"+file)
	chat = s.session(t, "")
	chat.Writes("p:A p:B")
	return file, s, chat
}

func (s *serving) refusesWrites(t *testing.T, chat *servertest.Chat, says string) {
	t.Helper()
	for range 2 {
		told := checktest.Must(chat.Try("TodoWrite", `{"todos":[{"content":"C","status":"pending","activeForm":"c"}]}`))(t).Refused()
		if told == nil || !strings.Contains(told.Error(), says) {
			t.Errorf("a write is answered with %v", told)
		}
	}
	checkReady(t, s.url, http.StatusServiceUnavailable)
}

// BAD-INPUT 75: a server refuses writes once its store, or the store's log (-wal), was truncated.
func TestTruncatedStore(t *testing.T) {
	for suffix, says := range map[string]string{"": "restore a copy", "-wal": "restore a backup"} {
		file, s, chat := newStore(t)
		checktest.Check(t, os.Truncate(file+suffix, 0))
		s.refusesWrites(t, chat, says)
	}
}

// BAD-INPUT 50: a server whose store was moved away or removed makes no new store. It refuses writes, and says why,
// until the store is back or a backup is restored.
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
		checktest.Check(t, c.gone())
		s.refusesWrites(t, chat, "was moved, removed or emptied while it was in use: put it back")
		if status, body := get(s.url + "/api/lists"); status < 500 {
			t.Errorf("%s: who reads the lists is answered %d %s", name, status, body)
		}
		checktest.Has(t, name+": its log", s.Log.String(), "was moved, removed or emptied")
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: a new store was made", name)
		}
		checktest.Check(t, c.back())
		chat.Writes("p:A p:B p:C")
		checkReady(t, s.url, http.StatusOK)
	}
}

// BAD-INPUT 134: The schema is dropped and restored while servers run, also from another cluster's dump → Meanwhile
// 503; then all goes on, and new writes are the newest
func TestRestoredUnderServers(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "todo.dump")
	other, _ := beginPostgres(t)
	source := mustServe(t, "--store", other)
	source.session(t, "plan").Writes("p:Restored")
	source.session(t, "newer").Writes("p:Restored too")
	exportDump(t, other, dump)
	store, _ := newPostgres(t)
	a, b, watch := twoServers(t, store)
	before := a.session(t, "plan")
	before.Writes("p:Before")
	seenSoon(t, watch, "event: ")
	command(t, nil, "psql", "--quiet", "--command=DROP SCHEMA todo_mcp CASCADE", store)
	if code, said := get(a.url + "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz without lists: %d %s", code, said)
	}
	if answer, err := before.Try("TodoWrite", `{"todos":[]}`); err != nil || answer.Refused() == nil || strings.Contains(answer.Refused().Error(), "unknown") {
		t.Errorf("a write without a database: %v %v", answer, err)
	}
	command(t, nil, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+store, dump)
	checkReady(t, a.url, http.StatusOK)
	checkReady(t, b.url, http.StatusOK)
	a.session(t, "plan").Writes("p:Restored p:After")
	seenSoon(t, watch, "After")
	var lists []struct{ Items []struct{ Text string } }
	if servertest.GetJSON(t, b.url+"/api/lists", &lists); len(lists) != 2 || len(lists[0].Items) != 2 || lists[0].Items[1].Text != "After" {
		t.Errorf("what was written last is not the newest: %v", lists)
	}
}

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

// seenSoon checks that a stream sends a text within two seconds. A watcher that missed the notice would take longer.
func seenSoon(t *testing.T, watch *servertest.Events, text string) {
	t.Helper()
	from := time.Now()
	watch.Expect(text)
	if took := time.Since(from); took > 2*time.Second {
		t.Errorf("%q was seen after %v", text, took)
	}
}
