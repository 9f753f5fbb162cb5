package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// /api/states says how the open lists stand, and which items a person changed
// that the agent has not seen.
func TestStates(t *testing.T) {
	s, url := servertest.Site(t)
	id := servertest.Session(t, url+"/mcp", "tester")
	write := func(list, status string) {
		t.Helper()
		servertest.Post(t, url+"/mcp?list="+list, servertest.Call(1, "TodoWrite", servertest.Todos(status, "A", "B")), "Mcp-Session-Id", id)
	}
	write("open", "pending")
	write("ended", "completed")
	type state struct {
		List, State, Group, Client string
		Unseen                     []string
	}
	get := func() (states []state) {
		t.Helper()
		if status := servertest.GetJSON(t, url+"/api/states", &states); status != 200 {
			t.Fatal(status)
		}
		return states
	}
	before := get()
	if len(before) != 1 || before[0].State != "working" || before[0].Unseen != nil || before[0].Client != "tester" {
		t.Fatalf("states %+v", before)
	}
	byPerson := board.Write{Target: board.Target{List: before[0].List}, Writer: todo.Writer{Client: "panel", Person: true}}
	servertest.Apply(t, s.Board.As(""), byPerson, func(d *todo.Draft) { d.SetStatus("2", todo.Completed) })
	if got := get(); fmt.Sprint(got[0].Unseen) != "[2]" {
		t.Errorf("after a person's edit: %+v", got)
	}
	var list struct{ Client, Writer string }
	servertest.GetJSON(t, url+"/api/lists/"+before[0].List, &list)
	if list.Client != "tester" || list.Writer != "panel" {
		t.Errorf("after a person's edit the list is of %q, and written by %q", list.Client, list.Writer)
	}
	servertest.Post(t, url+"/mcp?list=open", servertest.WithMeta(servertest.Call(1, "TodoWrite", servertest.Todos("in_progress", "C")), `"todo-mcp/agent":"helper"`), "Mcp-Session-Id", id)
	sub := get()[0].List
	servertest.Apply(t, s.Board.As(""), servertest.On(sub), func(d *todo.Draft) { _ = d.Edit(todo.Edit{Do: todo.EditBlock, Item: "1", Text: "no key"}) })
	for _, got := range get() {
		if got.List == sub && (got.State != "waiting" || got.Group != "") || got.List != sub && (got.State != "working" || got.Group != "waiting") {
			t.Errorf("while a sub-agent waits: %+v", got)
		}
	}
}

// /api/states says what became of what a person did: it waits to be seen, is seen, or
// is overridden, and then what the person's words were.
func TestStatesSayWhatBecameOfAPersonsEdit(t *testing.T) {
	_, url := servertest.Site(t)
	write := servertest.Writer(t, url, "tester")
	plan := servertest.Todos("pending", "A", "B", "C")
	write(plan)
	list := servertest.ListIDs(t, url)[0]
	edit := func(body string) {
		t.Helper()
		if status, _, answer := servertest.Post(t, url+"/lists/"+list+"/edit", body); status != 200 {
			t.Fatal(status, answer)
		}
	}
	expect := func(want string) {
		t.Helper()
		var states []map[string]any
		servertest.GetJSON(t, url+"/api/states", &states)
		for _, name := range []string{"list", "state", "client"} {
			delete(states[0], name)
		}
		if got, err := json.Marshal(states[0]); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	expect(`{"saw":1}`)
	edit(`{"do":"text","id":"2","text":"B, tested"}`)
	edit(`{"do":"move","id":"3","to":0}`)
	edit(`{"do":"rename","text":"Mine"}`)
	expect(`{"order":"waits to be seen","saw":1,"title":"waits to be seen","unseen":["3","2"]}`)
	write(plan)
	expect(`{"order":"seen","saw":4,"seen":["2"]}`)
	for range todo.MaxRepeats {
		write(plan)
	}
	expect(`{"order":"seen","saw":7,"seen":["2"]}`)
	write(plan)
	expect(`{"lost":[2,3],"order":"overridden","overridden":{"2":"B, tested"},"saw":8}`)
	edit(`{"do":"back","id":"2"}`)
	edit(`{"do":"back"}`)
	expect(`{"order":"waits to be seen","saw":8,"unseen":["3","2"]}`)
}
