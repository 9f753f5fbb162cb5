package watch

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/remote"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// items returns a list in short: "completed:A pending:B".
func items(s todo.Snapshot) string {
	var parts []string
	for _, i := range s.Items {
		parts = append(parts, string(i.Status)+":"+i.Text)
	}
	return strings.Join(parts, " ")
}

// stored returns lists, and a source of them: the store itself.
func stored(t *testing.T) (todo.Lists, Source) {
	lists := newLists(t)
	return lists, Local{Lists: lists}
}

// apply makes an edit and fails the test where that is refused.
func apply(t *testing.T, source Source, e edit) todo.Outcome {
	t.Helper()
	out, err := source.Edit(t.Context(), e.list, e.Edit)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// load returns the newest revision of the only list.
func load(t *testing.T, lists todo.Lists) todo.Snapshot {
	t.Helper()
	found, err := lists.Find(t.Context(), todo.Query{Deleted: true})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d lists, %v", len(found), err)
	}
	return found[0]
}

// Each edit of items does what it says, is merged with what the agent wrote since the
// person saw the list, and is undone without undoing that or what the agent wrote
// afterwards: D, which stays behind the item that it was added behind.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		edit               todo.Edit
		agent, after, undo string // the agent adds an item; the list after the edit, and after it is undone
	}{
		{todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed}, "C", "completed:A pending:B pending:C", ""},
		{todo.Edit{Do: todo.EditBlock, Item: "2", Text: "no key"}, "C", "pending:A blocked:B pending:C", ""},
		{todo.Edit{Do: todo.EditText, Item: "1", Text: "X"}, "C", "pending:X pending:B pending:C", ""},
		{todo.Edit{Do: todo.EditAdd, Text: "X"}, "C", "pending:A pending:B pending:C pending:X", ""},
		{todo.Edit{Do: todo.EditRemove, Item: "1"}, "C", "pending:B pending:C", ""},
		{todo.Edit{Do: todo.EditMove, Item: "1", To: 1}, "", "pending:B pending:A", "pending:A pending:D pending:B"},
		{todo.Edit{Do: todo.EditRestore, Revision: 1}, "C", "pending:A pending:B", "pending:A pending:B pending:D pending:C"},
	} {
		lists, source := stored(t)
		writeItems(t, lists, "release", "A", "B")
		seen := load(t, lists)
		if c.agent != "" {
			writeItems(t, lists, "release", c.agent)
		}
		e := edit{Edit: c.edit, list: seen.List.ID}
		e.Seen = seen.Revision
		out := apply(t, source, e)
		if items(out.After) != c.after || !out.Changed || !load(t, lists).Writer.Person {
			t.Errorf("%s: %q, changed %v; want %q", c.edit.Do, items(out.After), out.Changed, c.after)
		}
		writeItems(t, lists, "release", "D")
		out = apply(t, source, e.inverse(out.After))
		if want := cmp.Or(c.undo, "pending:A pending:B pending:C pending:D"); items(out.After) != want {
			t.Errorf("%s undone: %q; want %q", c.edit.Do, items(out.After), want)
		}
	}
}

// Whole lists are renamed, archived, brought back and deleted, once, and each is undone: a
// title that was given before comes back. To undo a tick that brought an archived list
// back puts it away again.
func TestListEdits(t *testing.T) {
	look := func(s todo.Snapshot) string {
		return fmt.Sprintf("%s archived %v deleted %v %s", s.Title(), s.Archived, s.Deleted, items(s))
	}
	archive := todo.Edit{Do: todo.EditArchive}
	for _, named := range []string{"release", ""} {
		for _, c := range []struct {
			before, edit todo.Edit
			want         string
		}{
			{todo.Edit{}, todo.Edit{Do: todo.EditRename, Text: "Title"}, "Title archived false deleted false pending:A"},
			{todo.Edit{}, archive, "Given archived true deleted false pending:A"},
			{todo.Edit{}, todo.Edit{Do: todo.EditDelete}, "Given archived false deleted true pending:A"},
			{archive, todo.Edit{Do: todo.EditUnarchive}, "Given archived false deleted false pending:A"},
			{archive, todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed}, "Given archived false deleted false completed:A"},
		} {
			lists, source := stored(t)
			writeItems(t, lists, named, "A")
			id := load(t, lists).List.ID
			apply(t, source, edit{Edit: todo.Edit{Do: todo.EditRename, Text: "Given"}, list: id})
			if c.before.Do != "" {
				apply(t, source, edit{Edit: c.before, list: id})
			}
			start := load(t, lists)
			e := edit{Edit: c.edit, list: id}
			e.Seen = start.Revision
			out := apply(t, source, e)
			if look(out.After) != c.want || look(load(t, lists)) != c.want {
				t.Errorf("%s: %q; want %q", e.Do, look(out.After), c.want)
			}
			if again := apply(t, source, e); again.Changed || again.After.Revision != out.After.Revision {
				t.Errorf("%s again: revision %d, changed %v", e.Do, again.After.Revision, again.Changed)
			}
			out = apply(t, source, e.inverse(out.After))
			if look(out.After) != look(start) || look(load(t, lists)) != look(start) {
				t.Errorf("%s undone: %q; want %q", e.Do, look(out.After), look(start))
			}
		}
	}
}

// What an edit is undone by is the edit alone: not what the agent wrote before its
// revision, which the screen did not show yet, and nothing where it changed nothing. An
// undo that finds nothing to take back says so.
func TestUndo(t *testing.T) {
	lists, source := stored(t)
	writeItems(t, lists, "release", "A")
	shown := load(t, lists)
	m := modelWith(80, 20, shown)
	writeItems(t, lists, "release", "B")
	do := func(e edit, says string) (out todo.Outcome) {
		t.Helper()
		out = apply(t, source, e)
		m.edited(e, shown, out, nil)
		if !strings.HasPrefix(m.note.text, says) {
			t.Errorf("it says %q, want %q", m.note.text, says)
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

// A store and a server say how lists stand and where their pages are; a store without a
// panel has none.
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
	if out := apply(t, Server{client}, edit{Edit: tick, list: id}); items(out.After) != "pending:A completed:B" {
		t.Errorf("edited to %s", items(out.After))
	}
	for _, source := range []Source{Local{Lists: lists}, Server{client}} {
		standings, err := source.Standings(t.Context(), []todo.Snapshot{load(t, lists)})
		if err != nil || standings[id].State == "" || fmt.Sprint(standings[id].Unseen) != "[2]" {
			t.Errorf("standings %+v, %v", standings, err)
		}
		if history, err := source.History(t.Context(), id); err != nil || len(history) != 2 {
			t.Errorf("%d revisions, %v", len(history), err)
		}
		page, err := source.Page(t.Context(), id)
		if _, local := source.(Local); local != (err != nil) || !local && !strings.HasSuffix(page, "/lists/"+id) {
			t.Errorf("page %q, %v", page, err)
		}
	}
}
