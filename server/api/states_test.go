package api_test

import (
	"fmt"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// /api/states says how the open lists stand, and which items a person changed
// that the agent has not seen.
func TestStates(t *testing.T) {
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, nil)
	id := servertest.Session(t, web.URL+"/mcp", "tester")
	write := func(list, status string) {
		t.Helper()
		servertest.Post(t, web.URL+"/mcp?list="+list, servertest.Call(1, "TodoWrite", servertest.Todos(status, "A", "B")), "Mcp-Session-Id", id)
	}
	write("open", "pending")
	write("ended", "completed")
	type state struct {
		List, State, Family, Client string
		Unseen                      []string
	}
	get := func() (states []state) {
		t.Helper()
		if status := servertest.GetJSON(t, web.URL+"/api/states", &states); status != 200 {
			t.Fatal(status)
		}
		return states
	}
	before := get()
	if len(before) != 1 || before[0].State != "working" || before[0].Unseen != nil || before[0].Client != "tester" {
		t.Fatalf("states %+v", before)
	}
	_, err := s.Board.As("").Apply(t.Context(), todo.Write{Target: todo.Target{List: before[0].List}, Writer: todo.Writer{Person: true},
		Change: func(d *todo.Draft) error { d.SetStatus("2", todo.Completed); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(); fmt.Sprint(got[0].Unseen) != "[2]" {
		t.Errorf("after a person's edit: %+v", got)
	}
	servertest.Post(t, web.URL+"/mcp?list=open", servertest.WithMeta(servertest.Call(1, "TodoWrite", servertest.Todos("in_progress", "C")), `"todo-mcp/agent":"helper"`), "Mcp-Session-Id", id)
	sub := get()[0].List
	_, err = s.Board.As("").Apply(t.Context(), todo.Write{Target: todo.Target{List: sub},
		Change: func(d *todo.Draft) error { d.Block("1", "no key"); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range get() {
		if got.List == sub && (got.State != "waiting" || got.Family != "") || got.List != sub && (got.State != "working" || got.Family != "waiting") {
			t.Errorf("while a sub-agent waits: %+v", got)
		}
	}
}
