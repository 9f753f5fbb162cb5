//go:build e2e && linux

package faults

import (
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
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 52: a newer program makes the store one of its own version while a server has
// it open, also with other tables: agents, pages and /readyz say so, and no command that
// reads changes it.
func TestNewerBeside(t *testing.T) {
	database, _ := newPostgres(t)
	for name, store := range map[string]string{"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "todo.db"), "PostgreSQL": database} {
		t.Run(name, func(t *testing.T) {
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
			refuses := func(with string) {
				answer, err := agent.Try("TodoWrite", `{"todos":[{"content":"B","status":"pending","activeForm":"B"}]}`)
				if err != nil || answer.Refused() == nil || !strings.Contains(answer.Refused().Error(), board.ErrTooNew.Error()) || strings.Contains(answer.Refused().Error(), "SQL") {
					t.Errorf("%s: an agent is told %v, %v", with, answer.Refused(), err)
				}
				if code, _, said := servertest.Ask(t, http.MethodGet, s.url+"/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(said, board.ErrTooNew.Error()) {
					t.Errorf("%s: /readyz %d %s", with, code, said)
				}
			}
			behind("PRAGMA user_version = 99", "UPDATE todo_mcp.store SET version = 99; ALTER TABLE todo_mcp.version_1 RENAME TO version_99")
			refuses("another version")
			behind("ALTER TABLE lists RENAME TO plans", "ALTER TABLE todo_mcp.lists RENAME TO plans")
			refuses("another version, other tables")
			for _, path := range []string{"/api/lists", "/"} {
				if code, _, said := servertest.Ask(t, http.MethodGet, s.url+path, ""); code != http.StatusServiceUnavailable || !strings.Contains(said, board.ErrTooNew.Error()) {
					t.Errorf("%s says %d %s", path, code, said)
				}
			}
			behind("ALTER TABLE plans RENAME TO lists", "ALTER TABLE todo_mcp.plans RENAME TO lists")
			check(t, errors.Join(s.Terminate(), s.Wait(10*time.Second)))
			content := func() string {
				if isFile {
					return string(command(t, nil, "sha256sum", file)) + fmt.Sprint(filepath.Glob(file+"*"))
				}
				return restrict.ReplaceAllString(string(command(t, nil, "pg_dump", "--schema=todo_mcp", store)), "")
			}
			before := content()
			for _, args := range []string{"lists", "show", "history plan", "today", "check", "export", "backup " + filepath.Join(t.TempDir(), "b"), "prune --dry-run", "serve --addr 127.0.0.1:0"} {
				if !isFile && strings.HasPrefix(args, "backup") {
					continue // pg_dump does it
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

// restrict matches the lines of a dump that are others each time.
var restrict = regexp.MustCompile(`(?m)^\\(un)?restrict .*`)

// A server whose account on PostgreSQL has no more rights than docs/operations.md gives
// it makes nothing, and does everything.
func TestLeastRights(t *testing.T) {
	page := must(os.ReadFile(filepath.Join("..", "..", "docs", "operations.md")))(t)
	grants := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(page)
	if grants == nil {
		t.Fatal("docs/operations.md gives no rights")
	}
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
	sql(as("maker"), string(grants[1]))

	store := as("app")
	a, b := mustServe(t, "--store", store), mustServe(t, "--store", store)
	watch := servertest.OpenStream(t, "GET", b.url+"/api/events", "")
	watch.Expect("retry")
	chat := a.session(t, "plan")
	chat.Writes("p:First")
	seenSoon(t, watch, "First")
	chat.Writes("c:First p:Second")
	seenSoon(t, watch, "Second")
	whole := filepath.Join(t.TempDir(), "whole.ndjson")
	exportStore(t, store, whole)
	var lists []struct{ List string }
	servertest.GetJSON(t, a.url+"/api/lists", &lists)
	if len(lists) != 1 {
		t.Fatalf("%d lists", len(lists))
	}
	b.session(t, "other").Writes("p:Kept")
	for _, args := range [][]string{
		{"check"}, {"doctor"}, {"rename", lists[0].List, "Other"}, {"restore", lists[0].List, "1"}, {"archive", lists[0].List},
		{"delete", lists[0].List, "--purge", "--yes"}, {"import", whole}, {"prune", "--older-than", "1", "--yes"},
	} {
		if printed, err := onStore(store, args...); err != nil {
			t.Errorf("%s: %v %s", strings.Join(args, " "), err, printed)
		}
	}
	if printed, err := onStore(store, "lists"); err != nil || !strings.Contains(printed, "other") {
		t.Errorf("after all that: %v %s", err, printed)
	}
}

// BAD-INPUT 131: `prune` of thousands of lists while agents write → No write waits longer than a
// moment
func TestPruneInSteps(t *testing.T) {
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "todo.db")
	var lines strings.Builder
	long, lists := strings.Repeat("x", 1000), size(4000, 30000)
	for n := range lists {
		for revision := range int64(5) {
			at := time.Date(2025, 1, 1, 0, 0, n, 0, time.UTC)
			s := todo.Snapshot{List: todo.List{ID: fmt.Sprintf("old%023d", n), Conversation: fmt.Sprint("c", n/500), Client: "tester", Created: at}, Revision: revision + 1, LastID: 1, Updated: at, Worked: at,
				Items: []todo.Item{{ID: "1", Text: long[revision:], Status: todo.Completed, Created: at}}}
			line := must(json.Marshal(s))(t)
			lines.Write(append(line, '\n'))
		}
	}
	file := filepath.Join(dir, "lists.ndjson")
	check(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	importFile(t, file, store)
	before := sizeOf(t, filepath.Join(dir, "todo.db"))
	s := mustServe(t, "--store", store)
	chat := s.session(t, "")
	chat.Writes("p:One p:Two")
	pruned := make(chan error, 1)
	go func() {
		printed, err := onStore(store, "prune", "--older-than", "1", "--yes")
		if err != nil || !strings.HasPrefix(printed, fmt.Sprintf("Deleted %d of ", lists)) {
			err = fmt.Errorf("%w: %s", err, printed)
		}
		pruned <- err
	}()
	var longest time.Duration
	log, writes := int64(0), 0
	for done := false; !done; writes++ {
		select {
		case err := <-pruned:
			if done = true; err != nil {
				t.Error(err)
			}
		default:
		}
		began := time.Now()
		chat.Writes(fmt.Sprintf("p:One p:Two p:Three-%d", writes))
		longest = max(longest, time.Since(began))
		if info, err := os.Stat(filepath.Join(dir, "todo.db-wal")); err == nil {
			log = max(log, info.Size())
		}
	}
	after := sizeOf(t, filepath.Join(dir, "todo.db"))
	t.Logf("%d lists; %d writes meanwhile, the longest waited %v; the file %d → %d kB, its log up to %d kB", lists, writes, longest, before/1000, after/1000, log/1000)
	if writes < 20 || longest > 2*time.Second {
		t.Errorf("131: %d writes, the longest waited %v", writes, longest)
	}
	if after > before/2 {
		t.Errorf("131: the file has %d of %d bytes still", after, before)
	}
	if log > 32e6 {
		t.Errorf("131: the log grew to %d bytes", log)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info := must(os.Stat(path))(t)
	return info.Size()
}

// Every metric and every operation of the store that an alert or the operator's page
// names is there. A server on PostgreSQL with an audit log has them all.
func TestMetricsOfAlertsExist(t *testing.T) {
	store, _ := newPostgres(t)
	s := mustServe(t, "--store", store, "--audit-log", filepath.Join(t.TempDir(), "audit.log"))
	s.session(t, "").Writes("p:A")
	_, scrape := get(s.url + "/metrics")
	found := 0
	for _, file := range []string{"packaging/prometheus/rules.yaml", "docs/operations.md"} {
		text := must(os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file))))(t)
		for _, name := range regexp.MustCompile(`\b(?:todo|mcp_server|http_server|process)_[a-z_]+[a-z]\b`).FindAllString(string(text), -1) {
			found++
			if !noMetrics[name] && !strings.Contains(scrape, "\n"+name+"{") && !strings.Contains(scrape, "\n"+name+" ") && !strings.Contains(scrape, "# TYPE "+name+" ") {
				t.Errorf("%s names %s, which is not there", file, name)
			}
		}
		for _, label := range regexp.MustCompile(`\boperation="[a-z_]+"`).FindAllString(string(text), -1) {
			if !strings.Contains(scrape, label) { // else an alert would never fire
				t.Errorf("%s names %s, which is not there", file, label)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d names: the form of metrics changed", found)
	}
}

// noMetrics are a metric that the operator's page says is not there, and the schema in
// PostgreSQL.
var noMetrics = map[string]bool{"mcp_server_session_duration_seconds": true, "todo_mcp": true}
