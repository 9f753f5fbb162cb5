package api_test

import (
	"encoding/json"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// /api/states says what became of what a person did: it waits to be seen, is seen, or
// is overridden, and then what the person's words were.
func TestStatesSayWhatBecameOfAPersonsHand(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	write := servertest.Writer(t, web.URL, "tester")
	plan := servertest.Todos("pending", "A", "B", "C")
	write(plan)
	var lists []struct{ List string }
	servertest.GetJSON(t, web.URL+"/api/lists", &lists)
	edit := func(body string) {
		t.Helper()
		if status, _, answer := servertest.Post(t, web.URL+"/lists/"+lists[0].List+"/edit", body); status != 200 {
			t.Fatal(status, answer)
		}
	}
	expect := func(want string) {
		t.Helper()
		var states []map[string]any
		servertest.GetJSON(t, web.URL+"/api/states", &states)
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
