package todo_test

import (
	"testing"

	"todo-mcp/internal/todo"
)

// What an agent insisted on against a person comes back with one edit, the text of
// an item as the order, and is the person's again: told, and held against habit.
func TestEditBringsBack(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("p:A p:B p:C").After
	edit := func(e todo.Edit) todo.Snapshot {
		t.Helper()
		out, err := a.lists().Edit(t.Context(), list.List.ID, e, person())
		checkErr(t, err)
		return out.After
	}
	edit(todo.Edit{Do: todo.EditText, Item: "2", Text: "B tested"})
	edit(todo.Edit{Do: todo.EditMove, Item: "3", To: 0})
	habit := func() (s todo.Snapshot) {
		for range todo.MaxRepeats + 2 {
			s = a.writes("p:A p:B p:C").After
		}
		return s
	}
	s := habit()
	if item, _ := s.Item("2"); show(s) != "p:A p:B p:C" || !item.Overridden() || !s.Order.Overridden() {
		t.Fatalf("%q, %+v, %+v: an agent overrides what it insists on", show(s), item.Hand, s.Order)
	}
	seen := s.Revision
	if s = edit(todo.Edit{Do: todo.EditBack, Item: "1", Seen: seen}); s.Revision != seen {
		t.Errorf("%q: what nobody overrode stays", show(s))
	}
	s = edit(todo.Edit{Do: todo.EditBack, Item: "2", Seen: seen})
	if item, _ := s.Item("2"); item.Text != "B tested" || item.Overridden() || item.Hand.Revision != s.Revision || !s.Order.Overridden() {
		t.Errorf("%q, %+v", show(s), item.Hand)
	}
	s = edit(todo.Edit{Do: todo.EditBack, Seen: seen})
	if item, _ := s.Item("2"); s.Items[0].ID != "3" || s.Order.Overridden() || item.Text != "B tested" {
		t.Errorf("%q, %+v", show(s), s.Order)
	}
	if s = a.writes("p:A p:B c:C").After; show(s) != "c:C p:A p:B tested" {
		t.Errorf("%q: it is held again", show(s))
	}
	if s = habit(); show(s) != "p:A p:B p:C" {
		t.Errorf("%q: and overridden again", show(s))
	}
}
