package panel_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// lockStore locks a store as another program would, until unlock is called.
func lockStore(t *testing.T, path string, statements ...string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BAD-INPUT 72: while another program has the store locked, an edit and a restore
// are answered within their bound, and neither is applied when the lock ends:
// not where the store is in use, and not where it cannot even be read.
func TestEditsOnALockedStore(t *testing.T) {
	for name, lock := range map[string][]string{
		"in use":         {"BEGIN IMMEDIATE"},
		"not to be read": {"PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE", "CREATE TABLE other (x)"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "todo.db")
			list := twoRevisions(t, path)
			store, err := sqlite.Open(path, board.Keep{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if name == "in use" {
				if _, err := store.Load(t.Context(), list, 0); err != nil {
					t.Fatal(err)
				}
			}
			log := &servertest.Log{}
			s := servertest.New(t, store, func(c *server.Config) { c.Log = log.Logger() })
			site := servertest.Serve(t, s, func(c *edge.Config) { c.Timeout = 200 * time.Millisecond })
			unlock := lockStore(t, path, lock...)
			for _, edit := range []string{`{"do":"add","text":"late"}`, `{"do":"restore","revision":1}`} {
				began := time.Now()
				status, _, text := servertest.Post(t, site.URL+"/lists/"+list+"/edit", edit)
				if took := time.Since(began); status != http.StatusServiceUnavailable || !strings.Contains(text, "did not answer in time") || took > 5*time.Second {
					t.Errorf("72: %s: %d %s after %s", edit, status, text, took)
				}
			}
			unlock()
			// What waits in the queue of the store is carried out before this save.
			next, err := store.Load(t.Context(), list, 0)
			if err != nil {
				t.Fatal(err)
			}
			next.Revision, next.Operation = next.Revision+1, todo.Operation{}
			if _, err := storetest.Save(t.Context(), store, next); err != nil || next.Revision != 3 || len(next.Items) != 2 {
				t.Errorf("72: revision %d with %d items after the lock, %v", next.Revision, len(next.Items), err)
			}
			if lines := log.Take(); len(lines) != 2 {
				t.Errorf("72: log %q", lines)
			}
		})
	}
}

// twoRevisions makes a store with a list of two revisions, and returns its id.
func twoRevisions(t *testing.T, path string) (list string) {
	t.Helper()
	store, err := sqlite.Open(path, board.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := board.NewBoard(store)
	defer b.Close()
	for range 2 {
		list = servertest.Apply(t, b.As(""), servertest.In("c"), func(d *todo.Draft) { d.Append("item") }).List.ID
	}
	return list
}
