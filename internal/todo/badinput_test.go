package todo_test

import (
	"context"
	"fmt"
	"testing"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 106: sub-agents whose main agents are each other, or themselves, and chats
// that resume and name each other's lists in a circle, keep lists of their own, and all
// can be read, written, settled and deleted.
func TestCirclesOfConversations(t *testing.T) {
	d := newDesk(t)
	write := func(key, parent, list, lines string) todo.Snapshot {
		t.Helper()
		c := d.proof(key)
		view, all := todo.CoreView(), parseLines(lines)
		view.Active = false
		out, err := c.lists().Apply(context.Background(), todo.Write{
			Target: todo.Target{Conversation: c.who, List: list, Lines: all, View: view, Agent: key}, Begin: todo.List{ParentConversation: parent},
			Change: func(d *todo.Draft) error { d.Replace(view, all); return nil }})
		checkErr(t, err)
		return out.After
	}
	a, b, self := write("a", "b", "", "p:A"), write("b", "a", "", "p:B"), write("c", "c", "", "p:C")
	d.proof("a").resumes(b)
	d.proof("b").resumes(a)
	write("a", "b", a.List.ID, "i:A p:A2")
	write("b", "a", b.List.ID, "i:B p:B2")
	lists := d.proof("a").lists()
	all, err := lists.Find(t.Context(), todo.Query{})
	checkErr(t, err)
	states, err := lists.States(t.Context(), all...)
	if err != nil || len(all) != 3 || len(states) != 3 {
		t.Fatalf("106: %d lists, states %v, %v", len(all), states, err)
	}
	for _, l := range all {
		if _, err := lists.Chain(t.Context(), l.List.ID); err != nil {
			t.Errorf("106: %v", err)
		}
		if _, _, err := lists.Together(t.Context(), l); err != nil {
			t.Errorf("106: %v", err)
		}
	}
	write("c", "c", "", "c:C")
	write("a", "b", a.List.ID, "c:A c:A2")
	for _, id := range []string{a.List.ID, b.List.ID, self.List.ID} {
		if _, err := lists.Delete(t.Context(), id, true, person()); err != nil {
			t.Errorf("106: %v", err)
		}
	}
}

// BAD-INPUT 107: a person and an agent who change one item a hundred times: each is told
// of the other, nothing grows without bound, and it stays one item of one list.
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
