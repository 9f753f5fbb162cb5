package board_test

import (
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// does says what the chat's agent does, as a hook.
func (c chat) does(what todo.Doing) {
	c.t.Helper()
	_, err := c.lists().Hear(c.t.Context(), c.who, func(c *todo.Chat, at time.Time) { c.Says(what, "", at) })
	checkErr(c.t, err)
}

// edits makes a person's edit of a list.
func (c chat) edits(list string, e todo.Edit) todo.Snapshot {
	c.t.Helper()
	out, err := c.board("person").As("").Edit(c.t.Context(), list, e, person())
	checkErr(c.t, err)
	return out.After
}

func later(s todo.Snapshot) (texts string) {
	for _, i := range s.Later {
		texts += " " + i.Text
	}
	return texts
}

// What waits for the end of a turn can be reworded, taken away, undone and put on the list at
// once, also by who saw an older revision. It goes along when the agent begins its next plan.
func TestLaterIsEdited(t *testing.T) {
	c := newDesk(t).proof("a")
	first := c.writes("i:A p:B").After
	c.does(todo.Works)
	add := func(text string) todo.Snapshot {
		return c.edits(first.List.ID, todo.Edit{Do: todo.EditAdd, Text: text, After: true, Seen: first.Revision})
	}
	x, y := add("X"), add("Y")
	if show(y) != "i:A p:B" || later(y) != " X Y" {
		t.Fatal(show(y), later(y))
	}
	c.edits(first.List.ID, todo.Edit{Do: todo.EditText, Item: y.Later[1].ID, Text: "Z", Seen: y.Revision})
	c.edits(first.List.ID, todo.Edit{Do: todo.EditRemove, Item: x.Later[0].ID, Seen: x.Revision})
	back := c.edits(first.List.ID, todo.Edit{Do: todo.EditUndo, From: y.Revision + 1, Seen: y.Revision + 2})
	if later(back) != " X Z" {
		t.Errorf("undone: %s", later(back))
	}
	now := c.edits(first.List.ID, todo.Edit{Do: todo.EditNow, Item: y.Later[1].ID, Seen: first.Revision + 2})
	if show(now) != "i:A p:B p:Z" || later(now) != " X" {
		t.Errorf("at once: %s,%s", show(now), later(now))
	}
	lines := []todo.Line{{ID: "1", Text: "A", Status: "completed"}, {ID: "2", Text: "B", Status: "completed"}}
	edited := c.edits(first.List.ID, todo.Edit{Do: todo.EditItems, Lines: lines, Later: []string{"X", "V"}})
	if show(edited) != "c:A c:B" || later(edited) != " X V" {
		t.Errorf("edited: %s,%s", show(edited), later(edited))
	}
	if out := c.writes("c:A c:B"); out.Changed || out.OthersDid() && len(out.Unseen) > 2 {
		t.Errorf("%+v", out.Report)
	}
	next := c.writes("i:C p:D")
	if next.After.List.ID == first.List.ID || next.OthersDid() || len(next.Dropped) > 0 || later(next.After) != " X V" || show(next.After) != "i:C p:D" {
		t.Errorf("the next plan: %s,%s %+v", show(next.After), later(next.After), next.Report)
	}
	if left, err := c.lists().Load(t.Context(), first.List.ID, 0); err != nil || len(left.Later) > 0 {
		t.Errorf("%s waits on the list that was left, %v", later(left), err)
	}
	list, news, err := c.lists().News(t.Context(), board.Target{Conversation: c.who}, true)
	if err != nil || show(list) != "i:C p:D p:X p:V" || len(news.Unseen) != 2 || news.By != todo.People {
		t.Errorf("%s, %+v, %v", show(list), news, err)
	}
	if _, news, err = c.lists().News(t.Context(), board.Target{Conversation: c.who}, true); err != nil || news.OthersDid() {
		t.Errorf("told again: %+v, %v", news, err)
	}
}

// A plan that was put away while open leaves nothing waiting either.
func TestLaterOfAPlanThatIsPutAway(t *testing.T) {
	c := newDesk(t).proof("a")
	first := c.writes("i:A p:B").After
	c.does(todo.Works)
	c.edits(first.List.ID, todo.Edit{Do: todo.EditAdd, Text: "X", After: true})
	next := c.writes("i:C p:D").After
	left, err := c.lists().Load(t.Context(), first.List.ID, 0)
	if err != nil || next.List.ID == first.List.ID || later(next) != " X" || !left.Archived || later(left) != "" {
		t.Errorf("%s,%s; %s,%s, %v", show(next), later(next), show(left), later(left), err)
	}
}
