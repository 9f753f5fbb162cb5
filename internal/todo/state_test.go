package todo_test

import (
	"context"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// A list's state follows from its items, from when it was written and from whether
// its agent is there.
func TestStates(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	expect := func(s todo.Snapshot, want todo.State) {
		t.Helper()
		got, err := d.board("viewer").As("").States(context.Background(), s)
		if err != nil || got[s.List.ID] != want {
			t.Errorf("%q is %q, %v; want %q", show(s), got[s.List.ID], err, want)
		}
	}
	list := a.writes("i:A p:B").After
	expect(list, todo.Working)
	d.now = d.now.Add(todo.IdleAfter - time.Second)
	expect(list, todo.Working)
	d.now = d.now.Add(time.Second)
	expect(list, todo.Idle)
	out, err := a.lists().Apply(context.Background(), todo.Write{Target: todo.Target{List: list.List.ID}, Writer: person(),
		Change: func(c *todo.Draft) error { c.Block("1", "no key"); return nil }})
	checkErr(t, err)
	expect(out.After, todo.Waiting)
	d.stop("p1")
	expect(out.After, todo.LeftOpen)
	expect(d.proof("b").writes("c:A f:B").After, todo.Finished)
	c := d.proof("c")
	c.writes("p:A")
	empty := c.writes("").After
	expect(empty, todo.Working)
	d.now = d.now.Add(todo.IdleAfter)
	expect(empty, todo.Finished)
	imported, err := d.save(todo.Snapshot{List: todo.List{ID: "imported"}, Revision: 1,
		Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}})
	checkErr(t, err)
	expect(imported, todo.LeftOpen)
}

// What a person does to an idle list is no sign that its agent works: an edit, a new
// title, an undo, the archive and back.
func TestPersonIsNoSignOfWork(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("i:A p:B").After
	ctx, id, wrote := context.Background(), list.List.ID, d.now
	d.now = d.now.Add(todo.IdleAfter)
	expect := func(what string, want todo.State) {
		t.Helper()
		s, err := a.lists().Load(ctx, id, 0)
		checkErr(t, err)
		got, err := a.lists().States(ctx, s)
		if err != nil || got[id] != want || !s.Worked.Equal(wrote) {
			t.Errorf("after %s it is %q, %v, worked on at %s; want %q", what, got[id], err, s.Worked, want)
		}
	}
	expect("a while", todo.Idle)
	_, err := a.lists().Edit(ctx, id, todo.Edit{Do: todo.EditRename, Text: "T"}, person())
	checkErr(t, err)
	expect("a rename", todo.Idle)
	d.personEdits(id, func(c *todo.Draft) error { c.SetText("2", "C"); return nil })
	expect("an edit", todo.Idle)
	_, err = a.lists().Edit(ctx, id, todo.Edit{Do: todo.EditUndo, From: 2, Seen: 3}, person())
	checkErr(t, err)
	expect("an undo", todo.Idle)
	_, err = a.lists().Archive(ctx, id, true, person())
	checkErr(t, err)
	expect("the archive", todo.Away)
	_, err = a.lists().Archive(ctx, id, false, person())
	checkErr(t, err)
	expect("the way back", todo.Idle)
	wrote = d.now
	a.writes("i:A c:B")
	expect("a write of the agent", todo.Working)
}
