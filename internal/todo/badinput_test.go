package todo_test

import (
	"fmt"
	"testing"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 107: a person and an agent who change one item a hundred times: each is told
// of the other, nothing grows without bound, and it stays one item of one list.
//
// BAD-INPUT 107: A person and an agent who change one item a hundred times → Each is
// told of the other each time; an item remembers eight earlier wordings; it stays one
// item of one list
func TestAHundredChangesOfOneItem(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	first := a.writes("p:A p:B").After
	view := todo.CoreView()
	for n := range 100 {
		d.personEdits(first.List.ID, reword("2", fmt.Sprint("person ", n)))
		text, told := fmt.Sprint("agent ", n), 1
		if n%3 == 0 {
			text = "B" // its habit
		}
		lines := []todo.Line{{ID: "2", Text: text, Active: text, Status: []string{"pending", "in_progress"}[n%2]}}
		out, err := a.apply(todo.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Patch(view, lines); return nil })
		checkErr(t, err)
		if len(out.Unseen) != told || out.After.List.ID != first.List.ID || len(out.After.Items) != 2 {
			t.Fatalf("107: change %d: %q, told %+v", n, show(out.After), out.Report)
		}
		if item, _ := out.After.Item("2"); len(item.Hand.Replaced) > 8*20 {
			t.Fatalf("107: after %d changes %d bytes of earlier wordings", n, len(item.Hand.Replaced))
		}
	}
	if now, err := d.store.Load(t.Context(), first.List.ID, 0); err != nil || now.Revision > 201 {
		t.Errorf("107: revision %d, %v", now.Revision, err)
	}
}
