package panel_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

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
	before, err := sqlite.Open(path, board.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	b := board.NewBoard(before)
	damaged := write(b.As(""), "keel", "", "Keel")
	write(b.As(""), "keel", "", "Ribs")
	write(b.As(""), "mast", "", "Mast")
	write(b.As(""), "keel/agent:helper", "helper", "Caulk")
	b.Close()
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	lockStore(t, path, "UPDATE history SET body = replace(body, 'Ribs', 'Rips') WHERE list = '"+damaged+"' AND revision = 2")()
	store, err := sqlite.Open(path, board.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := servertest.New(t, store, nil)
	url := servertest.Serve(t, s, nil).URL
	html := page(t, url)
	for _, want := range []string{"Keel", "Mast", "helper", "cannot be read whole"} {
		if !strings.Contains(html, want) {
			t.Errorf("the board lacks %s", want)
		}
	}
	if strings.Count(html, "cannot be read whole") != 1 {
		t.Error("a list that is not damaged is said to be")
	}
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
