//go:build e2e && linux

package faults

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

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
			database, err := postgrestest.New()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(database.Close)
			direct, err := database.NewDatabase()
			if err != nil {
				t.Fatal(err)
			}
			store := direct
			if name == "pooled" {
				pooler, err := postgrestest.NewPooler(database)
				if err != nil {
					t.Fatal(err)
				}
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
