package todo_test

import (
	"context"
	"testing"

	"todo-mcp/internal/todo"
)

// What people changed counts as unseen until the agent writes or reads the list.
func TestUnseen(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("i:A p:B").After
	edit := func(change func(*todo.Draft)) todo.Snapshot {
		t.Helper()
		out, err := a.lists().Apply(context.Background(), todo.Write{Target: todo.Target{List: list.List.ID}, Writer: person(),
			Change: func(d *todo.Draft) error { change(d); return nil }})
		checkErr(t, err)
		return out.After
	}
	expect := func(s todo.Snapshot, want ...string) {
		t.Helper()
		got, err := d.board("viewer").As("").Unseen(context.Background(), s)
		checkErr(t, err)
		if len(got) != len(want) {
			t.Fatalf("%q: unseen %+v, want %q", show(s), got, want)
		}
		for i := range want {
			if got[i].After.Text != want[i] {
				t.Errorf("%q: unseen %+v, want %q", show(s), got, want)
			}
		}
	}
	expect(list)
	edit(func(c *todo.Draft) { c.SetStatus("2", todo.Completed) })
	expect(edit(func(c *todo.Draft) { c.Append("C") }), "B", "C")
	expect(a.writes("i:A c:B p:C").After)
}
