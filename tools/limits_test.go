package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// V7: a list has at most 1,000 items also when it is put together from what an
// agent sent and what a person added meanwhile.
func TestAMergeDoesNotPassTheHardCap(t *testing.T) {
	s := newSession(t, nil)
	list := func(n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(`{"title":"Step %d","status":"pending"}`, i))
		}
		return `{"todos":[` + strings.Join(items, ",") + `]}`
	}
	s.call("SetTodoList", list(todo.MaxItems-1))
	s.editAsPerson(func(d *todo.Draft) error { d.Append("A person's step"); return nil })
	if got := s.call("SetTodoList", list(todo.MaxItems)); !got.IsError || !strings.Contains(got.Text, "at most 1000 items, this would make 1001") {
		t.Errorf("V7: %v %.200s", got.IsError, got.Text)
	}
	if got := s.call("SetTodoList", list(10)); got.IsError {
		t.Errorf("V7: a shorter list is refused: %s", got.Text)
	}
}

// V7, BAD-INPUT 43: the texts of a list are at most 256 kB together, in one call or
// several, and the refusal says what to do.
func TestALargeListIsRefused(t *testing.T) {
	s := newSession(t, nil)
	text := strings.Repeat("x", todo.MaxText)
	list := func(n int) string {
		return `{"todos":[` + strings.Repeat(`{"title":"`+text+`","status":"pending"},`, n-1) + `{"title":"last","status":"pending"}]}`
	}
	const refusal = "the texts of a list are at most 256 kB together, these are 257 kB: write fewer items, or shorter ones"
	most := todo.MaxSize / todo.MaxText
	if got := s.call("SetTodoList", list(most+1)); !got.IsError || !strings.Contains(got.Text, refusal) {
		t.Errorf("V7: %v %.200s", got.IsError, got.Text)
	}
	if got := s.call("SetTodoList", list(most)); got.IsError {
		t.Errorf("V7: %.200s", got.Text)
	}
	if got := s.call("create_todos", `{"items":["`+text+`"]}`); !got.IsError || !strings.Contains(got.Text, refusal) {
		t.Errorf("V7: %v %.200s", got.IsError, got.Text)
	}
}

// V4, T5: with item ids, "(no change)" has a line of its own behind the items,
// where it does not read like part of the last one.
func TestNoChangeBehindItemIDs(t *testing.T) {
	s := newSession(t, func(o *tools.Options) { o.ItemIDs = true })
	s.call("TodoWrite", todos("p A"))
	if got := s.call("TodoWrite", todos("p A")).Text; got != "Todo list updated: 0 completed, 0 in_progress, 1 pending\n  [pending] #1 A\n(no change)" {
		t.Errorf("%q", got)
	}
}

// The view tool of the card needs an id that is one.
func TestViewNeedsAnID(t *testing.T) {
	view, err := tools.NewView()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{}`, `{"list_id":null}`, `{"list_id":""}`, `{"list_id":"#"}`, `{"list_id":{}}`} {
		_, err := view.Read([]byte(args))
		result, ok := view.Failure(err)
		if !ok || !result.IsError || strings.Count(result.Text, "list_id") != 1 {
			t.Errorf("%s: %v", args, result.Text)
		}
	}
}

// V5: an id may come as a number, also as models write numbers, or with a hash.
func TestIDsAsModelsWriteThem(t *testing.T) {
	for _, id := range []string{`1`, `1.0`, `1e0`, `"1"`, `"#1"`, `" #1 "`} {
		t.Run(id, func(t *testing.T) {
			s := newSession(t, nil)
			s.call("create_todos", `{"items":["A"]}`)
			if got := s.call("update_todo", `{"id":`+id+`,"status":"completed"}`); got.IsError || !strings.Contains(got.Text, `#1 "A" → completed`) {
				t.Errorf("%s", got.Text)
			}
		})
	}
	for _, id := range []string{`1.5`, `1e400`, `-1`, `9007199254740993.0`} {
		s := newSession(t, nil)
		s.call("create_todos", `{"items":["A"]}`)
		if got := s.call("update_todo", `{"id":`+id+`,"status":"completed"}`); !got.IsError {
			t.Errorf("%s: %s", id, got.Text)
		}
	}
}
