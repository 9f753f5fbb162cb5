package board_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// looks returns a list as a person sees it: "A: p:A b:B(why), archived".
func looks(s todo.Snapshot) string {
	text := s.Title() + ":"
	for _, i := range s.Items {
		text += " " + string(i.Status[0]) + ":" + i.Text
		if i.Reason != "" {
			text += "(" + i.Reason + ")"
		}
	}
	if s.Archived {
		text += ", archived"
	}
	if s.Deleted {
		text += ", deleted"
	}
	return text
}

// edited is a list that an agent writes and people edit.
type edited struct {
	*testing.T
	lists board.Lists
	id    string
}

// newEdited begins a list with A and B, to which the agent adds C with revision 2.
func newEdited(t *testing.T) edited {
	b := newBoard(t, memory.New())
	e := edited{t, b.As(""), ""}
	e.agentAdds("A", "B")
	e.agentAdds("C")
	return e
}

func (e *edited) agentAdds(texts ...string) {
	e.Helper()
	out, err := e.lists.Apply(e.Context(), board.Write{Target: target("agent"), Change: add(texts...)})
	checkErr(e.T, err)
	e.id = out.After.List.ID
}

func (e *edited) newest() todo.Snapshot {
	e.Helper()
	found, err := e.lists.Find(e.Context(), board.Query{Deleted: true})
	if err != nil || len(found) != 1 {
		e.Fatalf("%d lists, %v", len(found), err)
	}
	return found[0]
}

// Each kind of edit does what it says in the name of a person, once however often
// it is sent, and keeps what the agent wrote since the person saw the list: D.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		before, edit todo.Edit
		want         string
	}{
		{todo.Edit{}, todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed}, "A +1: c:A p:B p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditBlock, Item: "2", Text: " no\nkey "}, "A +1: p:A b:B(no key) p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditBlock, Item: "2"}, "A +1: p:A b:B p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditText, Item: "2", Text: " X\ty "}, "A +1: p:A p:X y p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditAdd, Text: "X"}, "A +1: p:A p:B p:C p:D p:X"},
		{todo.Edit{}, todo.Edit{Do: todo.EditRemove, Item: "2"}, "A +1: p:A p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditMove, Item: "3", To: -7}, "A +1: p:C p:D p:A p:B"},
		{todo.Edit{Do: todo.EditStatus, Item: "2", Status: todo.Failed}, todo.Edit{Do: todo.EditFinish}, "A +1: c:A f:B c:C p:D"},
		{todo.Edit{Do: todo.EditBlock, Item: "2"}, todo.Edit{Do: todo.EditFinish}, "A +1: c:A c:B c:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditItems, Lines: []todo.Line{{ID: "2", Text: "X", Status: "failed"}, {Text: "A", Status: "pending"}, {Text: "Y", Status: "blocked"}}}, "A +1: f:X p:D p:A b:Y"},
		{todo.Edit{}, todo.Edit{Do: todo.EditItems, Lines: []todo.Line{}}, "A +1: p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditRestore, Revision: 1}, "A +1: p:A p:B"},
		{todo.Edit{Do: todo.EditAdd, Text: "X", Seen: 2}, todo.Edit{Do: todo.EditUndo, From: 3, Seen: 4}, "A +1: p:A p:B p:C p:D"},
		{todo.Edit{Do: todo.EditRename, Text: "T"}, todo.Edit{Do: todo.EditUndo, From: 3, Seen: 4}, "A +1: p:A p:B p:C p:D"},
		{todo.Edit{Do: todo.EditArchive}, todo.Edit{Do: todo.EditUndo, From: 3, Seen: 4}, "A +1: p:A p:B p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditRename, Text: " A\ntitle "}, "A title: p:A p:B p:C p:D"},
		{todo.Edit{Do: todo.EditRename, Text: "T"}, todo.Edit{Do: todo.EditRename}, "A +1: p:A p:B p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditArchive}, "A +1: p:A p:B p:C p:D, archived"},
		{todo.Edit{Do: todo.EditArchive}, todo.Edit{Do: todo.EditUnarchive}, "A +1: p:A p:B p:C p:D"},
		{todo.Edit{}, todo.Edit{Do: todo.EditDelete}, "A +1: p:A p:B p:C p:D, deleted"},
		{todo.Edit{Do: todo.EditDelete}, todo.Edit{Do: todo.EditUndelete}, "A +1: p:A p:B p:C p:D"},
	} {
		t.Run(fmt.Sprintf("%s after %s", c.edit.Do, c.before.Do), func(t *testing.T) {
			l := newEdited(t)
			l.agentAdds("D")
			if c.before.Do != "" {
				_, err := l.lists.Edit(t.Context(), l.id, c.before, todo.Writer{})
				checkErr(t, err)
			}
			if c.edit.Operation = "once"; c.edit.Seen == 0 {
				c.edit.Seen = 2
			}
			before := l.newest().Revision
			for again := range 2 {
				out, err := l.lists.Edit(t.Context(), l.id, c.edit, todo.Writer{Client: "tester"})
				if err != nil || out.Changed != (again == 0) || out.After.Revision != before+1 {
					t.Errorf("time %d: revision %d after %d, changed %v, %v", again, out.After.Revision, before, out.Changed, err)
				}
			}
			s := l.newest()
			if got := looks(s); got != c.want || !s.Writer.Person || s.Writer.Client != "tester" {
				t.Errorf("%q by %+v, want %q", got, s.Writer, c.want)
			}
		})
	}
}

// An edit that is sent again when the agent has gone on changes nothing, and
// another one may not have its operation.
func TestEditRepeatedLater(t *testing.T) {
	l := newEdited(t)
	for _, e := range []todo.Edit{{Do: todo.EditAdd, Text: "X"}, {Do: todo.EditUndo, From: 1, Seen: 2}, {Do: todo.EditRestore, Revision: 1}, {Do: todo.EditRename, Text: "T"}} {
		e.Operation = string(e.Do)
		first, err := l.lists.Edit(t.Context(), l.id, e, person())
		checkErr(t, err)
		l.agentAdds("of the agent")
		before := l.newest()
		again, err := l.lists.Edit(t.Context(), l.id, e, person())
		if err != nil || !again.Repeated || again.After.Revision != first.After.Revision || !l.newest().Equal(before) {
			t.Errorf("%s: %+v, %v", e.Do, again, err)
		}
		e.Text += "!"
		if _, err := l.lists.Edit(t.Context(), l.id, e, person()); !errors.Is(err, board.ErrOperationReused) {
			t.Errorf("%s: another edit by the same operation: %v", e.Do, err)
		}
	}
}

// What is wrong with an edit is said, by Check as by Edit, and changes nothing.
func TestEditRefused(t *testing.T) {
	l := newEdited(t)
	before := l.newest()
	long := strings.Repeat("x", todo.MaxText+1)
	for _, c := range []struct {
		edit todo.Edit
		want string
	}{
		{todo.Edit{}, "do must be status, block,"},
		{todo.Edit{Do: "burn"}, "do must be status, block,"},
		{todo.Edit{Do: todo.EditStatus, Item: "1", Status: "done"}, "status must be one of [completed"},
		{todo.Edit{Do: todo.EditStatus, Status: todo.Failed}, "id must be that of an item"},
		{todo.Edit{Do: todo.EditRemove}, "id must be that of an item"},
		{todo.Edit{Do: todo.EditMove}, "id must be that of an item"},
		{todo.Edit{Do: todo.EditBlock, Item: "1", Text: long}, "more than 4000 characters"},
		{todo.Edit{Do: todo.EditText, Item: "1", Text: "\n"}, "the text is blank"},
		{todo.Edit{Do: todo.EditText, Item: "1", Text: "a\x00"}, "control character U+0000 at position 2"},
		{todo.Edit{Do: todo.EditAdd, Text: "a\xff"}, "not valid UTF-8"},
		{todo.Edit{Do: todo.EditAdd, Text: long}, "more than 4000 characters"},
		{todo.Edit{Do: todo.EditItems}, "lines must be an array"},
		{todo.Edit{Do: todo.EditItems, Lines: make([]todo.Line, todo.MaxItems+1)}, "at most 1000 items"},
		{todo.Edit{Do: todo.EditItems, Lines: []todo.Line{{Text: "A", Status: "pending"}, {Text: "B", Status: "done"}}}, "line 2: status"},
		{todo.Edit{Do: todo.EditRestore}, "restore needs the revision"},
		{todo.Edit{Do: todo.EditUndo, Seen: 2}, "undo needs the revisions"},
		{todo.Edit{Do: todo.EditUndo, From: 2, Seen: 2}, "undo needs the revisions"},
		{todo.Edit{Do: todo.EditRename, Text: strings.Repeat("x", todo.MaxTitle+1)}, "title: the text has more than 200 characters"},
	} {
		_, check := c.edit.Clean()
		_, err := l.lists.Edit(t.Context(), l.id, c.edit, person())
		var input *todo.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) || !reflect.DeepEqual(check, err) {
			t.Errorf("%.60v: %v, want %q", c.edit, err, c.want)
		}
	}
	for _, c := range []struct {
		edit todo.Edit
		want error
	}{
		{todo.Edit{Do: todo.EditStatus, Item: "9", Status: todo.Failed}, todo.ErrItemGone},
		{todo.Edit{Do: todo.EditBlock, Item: "9"}, todo.ErrItemGone},
		{todo.Edit{Do: todo.EditText, Item: "9", Text: "X"}, todo.ErrItemGone},
		{todo.Edit{Do: todo.EditRemove, Item: "9"}, todo.ErrItemGone},
		{todo.Edit{Do: todo.EditMove, Item: "9"}, todo.ErrItemGone},
		{todo.Edit{Do: todo.EditRestore, Revision: 9}, board.ErrNotFound},
		{todo.Edit{Do: todo.EditUndo, From: 1, Seen: 9}, board.ErrNotFound},
	} {
		if _, err := l.lists.Edit(t.Context(), l.id, c.edit, person()); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.edit, err, c.want)
		}
	}
	for _, list := range []string{"", "none"} {
		for _, do := range []todo.EditKind{todo.EditAdd, todo.EditRename, todo.EditDelete, todo.EditArchive} {
			if _, err := l.lists.Edit(t.Context(), list, todo.Edit{Do: do, Text: "X"}, person()); !errors.Is(err, board.ErrNotFound) {
				t.Errorf("%s of list %q: %v", do, list, err)
			}
		}
	}
	if !l.newest().Equal(before) {
		t.Errorf("it became %q", looks(l.newest()))
	}
}

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
	c.says(todo.Works, "")
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
	c.says(todo.Works, "")
	c.edits(first.List.ID, todo.Edit{Do: todo.EditAdd, Text: "X", After: true})
	next := c.writes("i:C p:D").After
	left, err := c.lists().Load(t.Context(), first.List.ID, 0)
	if err != nil || next.List.ID == first.List.ID || later(next) != " X" || !left.Archived || later(left) != "" {
		t.Errorf("%s,%s; %s,%s, %v", show(next), later(next), show(left), later(left), err)
	}
}
