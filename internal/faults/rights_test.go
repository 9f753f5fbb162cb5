//go:build e2e && linux

package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// A server whose account on PostgreSQL has no more rights than docs/operations.md gives
// it makes nothing, and does everything.
func TestLeastRights(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
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
