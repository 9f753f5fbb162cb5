package panel_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
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
	db := checktest.Must(sql.Open("sqlite", path))(t)
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		checktest.Must(db.Exec(s))(t)
	}
	return func() { checktest.Check(t, db.Close()) }
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
			store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
			defer store.Close()
			if name == "in use" {
				checktest.Must(store.Load(t.Context(), list, 0))(t)
			}
			log := &servertest.Log{}
			s := servertest.New(t, store, func(c *server.Config) { c.Log = log.Logger() })
			site := servertest.Serve(t, s, func(c *edge.Config) { c.Timeout = 200 * time.Millisecond })
			unlock := lockStore(t, path, lock...)
			for _, edit := range []string{`{"do":"add","text":"late"}`, `{"do":"restore","revision":1}`} {
				status, _, text := servertest.Post(t, site.URL+"/lists/"+list+"/edit", edit)
				if status != http.StatusServiceUnavailable || !strings.Contains(text, "did not answer in time") {
					t.Errorf("72: %s: %d %s", edit, status, text)
				}
			}
			unlock()
			// What waits in the queue of the store is carried out before this save.
			next := checktest.Must(store.Load(t.Context(), list, 0))(t)
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
	store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	defer store.Close()
	b := board.NewBoard(store)
	defer b.Close()
	for range 2 {
		list = servertest.Apply(t, b.As(""), servertest.In("c"), func(d *todo.Draft) { d.Append("item") }).List.ID
	}
	return list
}

// BAD-INPUT 130: a list whose newest revision is damaged is a card of what its excerpt says,
// and says so; its own page and its document say what to do, and its history has what can be
// read. Everything else is there, and open pages go on when something changes beside it.
func TestDamagedListAtWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	write := func(lists board.Lists, key, agent, text string) string {
		t.Helper()
		w := servertest.In(key)
		w.Target.Conversation.Detached, w.Target.Conversation.Lasts, w.Target.Agent, w.Begin = true, time.Hour, agent, todo.List{Agent: agent}
		if agent != "" {
			w.Begin.ParentConversation = "keel"
		}
		return servertest.Apply(t, lists, w, func(d *todo.Draft) { d.Append(text) }).List.ID
	}
	before := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	b := board.NewBoard(before)
	damaged := write(b.As(""), "keel", "", "Keel")
	write(b.As(""), "keel", "", "Ribs")
	write(b.As(""), "mast", "", "Mast")
	write(b.As(""), "keel/agent:helper", "helper", "Caulk")
	b.Close()
	checktest.Check(t, before.Close())
	lockStore(t, path, "UPDATE history SET body = replace(body, 'Ribs', 'Rips') WHERE list = '"+damaged+"' AND revision = 2")()
	store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	t.Cleanup(func() { store.Close() })
	s := servertest.New(t, store, nil)
	url := servertest.Serve(t, s, nil).URL
	html := page(t, url)
	has(t, html, "Keel", "Mast", "helper")
	checktest.Same(t, "a list that is not damaged is said to be", strings.Count(html, "cannot be read whole"), 1)
	for _, path := range []string{"/lists/" + damaged, "/api/lists/" + damaged} {
		if status, _, text := servertest.Ask(t, "GET", url+path, ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "todo-mcp restore") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	var revisions []struct{ Revision int }
	if servertest.GetJSON(t, url+"/api/lists/"+damaged+"/history", &revisions); len(revisions) != 1 || revisions[0].Revision != 1 {
		t.Errorf("its history %v", revisions)
	}
	events := servertest.OpenStream(t, "GET", url+"/panel/events", "")
	events.Expect("hello")
	write(s.Board.As(""), "keel/agent:helper", "helper", "Pitch")
	events.Expect(`"id":"` + damaged + `"`)
	write(s.Board.As(""), "mast", "", "Yard")
	events.Expect("Yard")
}
