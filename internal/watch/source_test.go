package watch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/remote"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// items returns a list in short: "completed:A pending:B".
func items(s todo.Snapshot) string {
	var parts []string
	for _, i := range s.Items {
		parts = append(parts, string(i.Status)+":"+i.Text)
	}
	return strings.Join(parts, " ")
}

// apply makes an edit and fails the test where that is refused.
func apply(t *testing.T, source Source, e edit) board.Outcome {
	t.Helper()
	out, err := source.Edit(t.Context(), e.list, e.Edit)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// load returns the newest revision of the only list.
func load(t *testing.T, lists board.Lists) todo.Snapshot {
	t.Helper()
	found, err := lists.Find(t.Context(), board.Query{Deleted: true})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d lists, %v", len(found), err)
	}
	return found[0]
}

// Each edit does what it says, is merged with what the agent wrote since the person saw
// the list, and is undone without undoing that or what the agent wrote afterwards. To undo
// a tick that brought an archived list back puts it away again.
func TestEdits(t *testing.T) {
	tick := todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed}
	for _, c := range []struct {
		edit              todo.Edit
		archived          bool   // before
		after, undone     string // the agent adds C before the edit, and D after it
		archives, returns bool   // whether it is archived after it, and after it is undone
	}{
		{tick, false, "completed:A pending:B pending:C", "pending:A pending:B pending:C pending:D", false, false},
		{todo.Edit{Do: todo.EditItems, Lines: []todo.Line{{ID: "2", Text: "X", Status: "blocked"}, {Text: "new", Status: "pending"}}}, false,
			"blocked:X pending:C pending:new", "pending:A pending:B pending:C pending:D", false, false},
		{todo.Edit{Do: todo.EditArchive}, false, "pending:A pending:B pending:C", "pending:A pending:B pending:C", true, false},
		{todo.Edit{Do: todo.EditUnarchive}, true, "pending:A pending:B pending:C", "pending:A pending:B pending:C", false, true},
		{tick, true, "completed:A pending:B pending:C", "pending:A pending:B pending:C", false, true},
	} {
		lists := newLists(t)
		source := Local{Lists: lists}
		writeItems(t, lists, "release", "A", "B")
		e := edit{Edit: c.edit, list: load(t, lists).List.ID}
		e.Seen = load(t, lists).Revision
		writeItems(t, lists, "release", "C")
		if c.archived {
			apply(t, source, edit{Edit: todo.Edit{Do: todo.EditArchive}, list: e.list})
		}
		out := apply(t, source, e)
		if items(out.After) != c.after || !out.Changed || out.After.Archived != c.archives || !load(t, lists).Writer.Person {
			t.Errorf("%s: %q, archived %v, changed %v; want %q", c.edit.Do, items(out.After), out.After.Archived, out.Changed, c.after)
		}
		if e.OfItems() && !c.archived {
			writeItems(t, lists, "release", "D")
		}
		out = apply(t, source, e.inverse(out.After))
		if items(out.After) != c.undone || out.After.Archived != c.returns {
			t.Errorf("%s undone: %q, archived %v; want %q", c.edit.Do, items(out.After), out.After.Archived, c.undone)
		}
	}
}

// What an edit is undone by is the edit alone: not what the agent wrote before its
// revision, which the screen did not show yet, and nothing where it changed nothing. An
// undo that finds nothing to take back says so.
func TestUndo(t *testing.T) {
	lists := newLists(t)
	source := Local{Lists: lists}
	writeItems(t, lists, "release", "A")
	shown := load(t, lists)
	m := modelWith(80, 20, shown)
	writeItems(t, lists, "release", "B")
	do := func(e edit, says string) (out board.Outcome) {
		t.Helper()
		out = apply(t, source, e)
		m.edited(e, shown, out, nil)
		if !strings.HasPrefix(unpainted(m.note), " "+says) {
			t.Errorf("it says %q, want %q", m.note, says)
		}
		return out
	}
	tick := todo.Edit{Seen: shown.Revision, Do: todo.EditStatus, Item: "1", Status: todo.Completed}
	for range 2 { // the second changes nothing
		do(edit{Edit: tick, list: shown.List.ID}, "“A”: completed")
	}
	if len(m.undo) != 1 {
		t.Fatalf("undo %+v", m.undo)
	}
	undo := *m.press("u").edit
	if out := do(undo, "Undone"); items(out.After) != "pending:A pending:B" {
		t.Errorf("undone: %q", items(out.After))
	}
	do(undo, "Nothing undone")
}

// A store and a server say how lists stand and what they were.
func TestSources(t *testing.T) {
	s := servertest.New(t, nil, nil)
	client, err := remote.New(servertest.Serve(t, s, nil).URL, "")
	if err != nil {
		t.Fatal(err)
	}
	lists := s.Board.As("")
	writeItems(t, lists, "release", "A", "B")
	list := load(t, lists)
	id := list.List.ID
	tick := todo.Edit{Seen: list.Revision, Do: todo.EditStatus, Item: "2", Status: todo.Completed}
	if out := apply(t, client, edit{Edit: tick, list: id}); items(out.After) != "pending:A completed:B" {
		t.Errorf("edited to %s", items(out.After))
	}
	for _, source := range []Source{Local{Lists: lists}, client} {
		standings, err := source.Standings(t.Context(), []todo.Snapshot{load(t, lists)})
		if err != nil || standings[id].State == "" || fmt.Sprint(standings[id].Unseen) != "[2]" {
			t.Errorf("standings %+v, %v", standings, err)
		}
		if history, err := source.History(t.Context(), id); err != nil || len(history) != 2 {
			t.Errorf("%d revisions, %v", len(history), err)
		}
	}
}
