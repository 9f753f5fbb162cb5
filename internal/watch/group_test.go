package watch

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// The terminal says of a list what the panel says: while a sub-agent waits for a
// person, its main list waits, although the main agent works on.
func TestGroupStandsAsOnThePanel(t *testing.T) {
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, nil)
	id := servertest.Session(t, web.URL+"/mcp", "claude-code")
	write := func(status, text, meta string) {
		t.Helper()
		servertest.Post(t, web.URL+"/mcp", servertest.WithMeta(servertest.Call(1, "TodoWrite", servertest.Todos(status, text)), meta), "Mcp-Session-Id", id)
	}
	write("in_progress", "Ship it", "")
	write("pending", "Look for the key", `"todo-mcp/agent":"helper"`)
	lists := s.Board.As("")
	expect := func(top, beside, page, plainly string) {
		t.Helper()
		all, err := lists.Find(t.Context(), board.Query{})
		if err != nil || len(all) != 2 {
			t.Fatalf("%d lists, %v", len(all), err)
		}
		m := newModel(Options{})
		m.now, m.width, m.height = all[0].Updated, 120, 24
		m.receiveLists(all, true)
		if m.standings, err = (Local{Lists: lists}).Standings(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(text(m), "\n")
		if !strings.Contains(first, top) || !strings.Contains(rest, "· "+beside) {
			t.Errorf("the terminal does not say %q and %q:\n%s\n%s", top, beside, first, rest)
		}
		res, err := http.Get(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if html, _ := io.ReadAll(res.Body); !strings.Contains(string(html), page+"</span>") {
			t.Errorf("the panel does not say %q:\n%s", page, html)
		}
		p := newModel(Options{})
		p.now, p.standings = m.now, m.standings
		if out := p.print(all, nil, true); !strings.Contains(out, "Ship it  0/1  "+plainly) {
			t.Errorf("the plain lines do not say %q:\n%s", plainly, out)
		}
	}
	expect("1 working", "working", "Working", "working: Ship it")
	all, err := lists.Find(t.Context(), board.Query{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = lists.Apply(t.Context(), board.Write{Target: board.Target{List: all[0].List.ID}, Writer: todo.Writer{Client: "claude-code"},
		Change: func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditBlock, Item: "1", Text: "which key?"}) }})
	if err != nil {
		t.Fatal(err)
	}
	expect("1 waiting", "waits for you", "Waiting for you", "waiting: Look for the key")
}
