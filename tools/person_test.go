package tools_test

import (
	"context"
	"testing"

	"todo-mcp/internal/todo"
)

// editAsPerson edits the session's list as the panel does.
func (s *session) editAsPerson(change todo.Change) {
	s.t.Helper()
	if _, err := s.board.As("").Apply(context.Background(), todo.Write{Target: target(), Writer: todo.Writer{Client: "panel", Person: true}, Change: change}); err != nil {
		s.t.Fatal(err)
	}
}

// A person's edits between two writes of an agent survive the second write, the
// agent's changes apply, and only the next result reports the person's edits.
func TestPersonsEditsSurvive(t *testing.T) {
	s := newSession(t, nil)
	s.call("TodoWrite", todos("i A", "p B", "p C"))
	s.editAsPerson(func(d *todo.Draft) error {
		d.SetStatus("2", todo.Completed)
		d.SetText("3", "C, but better")
		d.Append("From the user")
		return nil
	})
	got := s.call("TodoWrite", todos("c A", "i B", "p C", "p D"))
	const want = "Todo list updated: 2 completed, 0 in_progress, 3 pending\n" +
		`The user changed the list: set "B" to completed, reworded "C" to "C, but better", added "From the user"`
	if got.Text != want {
		t.Errorf("text\n%s\nwant\n%s", got.Text, want)
	}
	if got := s.call("SetTodoList", `{}`).Text; got != "Todo list:\n- [done] A\n- [done] B\n- [pending] C, but better\n- [pending] From the user\n- [pending] D" {
		t.Error(got)
	}
	// The last result reported the edits, so the next write may overwrite them.
	if got := s.call("TodoWrite", todos("c A", "p B")).Text; got != "Todo list updated: 1 completed, 0 in_progress, 1 pending\nDropped while open: \"C, but better\", \"From the user\", \"D\"" {
		t.Error(got)
	}
	// A blocked item is reported with its reason, although this tool shows it
	// as pending.
	s.editAsPerson(func(d *todo.Draft) error { d.Block("2", "no key yet"); return nil })
	if got := s.call("TodoWrite", todos("c A", "c B")).Text; got != "Todo list updated: 2 completed, 0 in_progress, 0 pending\nThe user changed the list: set \"B\" to blocked (\"no key yet\")" {
		t.Error(got)
	}
	// A write of an agent that has not seen a removal does not undo it. The
	// tools that work by id report removals as well.
	s.editAsPerson(func(d *todo.Draft) error { d.Remove("2"); return nil })
	if got := s.call("create_todos", `{"items":["E"]}`).Text; got != "Todo list updated: 1 created\nPlan:\n  [x] #1 A\n  [ ] #6 E\nThe user changed the list: removed \"B\"" {
		t.Error(got)
	}
	s.editAsPerson(func(d *todo.Draft) error { d.Remove("1"); return nil })
	if got := s.call("write_todos", todos("c A", "p E")).Text; got != "Todo list updated\nThe user changed the list: removed \"A\"" {
		t.Error(got)
	}
	if l := s.list(); len(l.Items) != 1 || l.Items[0].Text != "E" {
		t.Errorf("a removed item was resurrected: %+v", l.Items)
	}
}
