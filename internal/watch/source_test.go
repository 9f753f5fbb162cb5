package watch

import (
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

// onEachSource runs a test with a new board on the store itself, and with one
// behind a server.
func onEachSource(t *testing.T, test func(t *testing.T, board *todo.Board, source Source)) {
	t.Run("local", func(t *testing.T) {
		board := newBoard(t)
		test(t, board, Local{Lists: board.As("")})
	})
	t.Run("server", func(t *testing.T) {
		s := servertest.New(t, nil, nil)
		client, err := remote.New(servertest.Serve(t, s, nil).URL, "")
		if err != nil {
			t.Fatal(err)
		}
		test(t, s.Board, Server{client})
	})
}

func apply(t *testing.T, source Source, e edit) (todo.Outcome, error) {
	return source.Edit(t.Context(), e.list, e.Edit)
}

// load returns the newest revision of the only list.
func load(t *testing.T, board *todo.Board) todo.Snapshot {
	t.Helper()
	found, err := board.As("").Find(t.Context(), todo.Query{Deleted: true})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d lists, %v", len(found), err)
	}
	return found[0]
}

// Each edit does what it says, is merged with what the agent wrote since the
// person saw the list, and is undone without undoing that or what the agent wrote
// afterwards: D, which stays behind the item that it was added behind.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		edit               todo.Edit
		agent, after, undo string // the agent adds an item; the list after the edit, and after it is undone
	}{
		{todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed}, "C", "completed:A pending:B pending:C", "pending:A pending:B pending:C pending:D"},
		{todo.Edit{Do: todo.EditBlock, Item: "2", Text: "no key"}, "C", "pending:A blocked:B pending:C", "pending:A pending:B pending:C pending:D"},
		{todo.Edit{Do: todo.EditText, Item: "1", Text: "X"}, "C", "pending:X pending:B pending:C", "pending:A pending:B pending:C pending:D"},
		{todo.Edit{Do: todo.EditAdd, Text: "X"}, "C", "pending:A pending:B pending:C pending:X", "pending:A pending:B pending:C pending:D"},
		{todo.Edit{Do: todo.EditRemove, Item: "1"}, "C", "pending:B pending:C", "pending:A pending:B pending:C pending:D"},
		{todo.Edit{Do: todo.EditMove, Item: "1", To: 1}, "", "pending:B pending:A", "pending:A pending:D pending:B"},
		{todo.Edit{Do: todo.EditRestore, Revision: 1}, "C", "pending:A pending:B", "pending:A pending:B pending:D pending:C"},
	} {
		t.Run(string(c.edit.Do), func(t *testing.T) {
			onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
				writeItems(t, board, "release", "A", "B")
				seen := load(t, board)
				e := edit{Edit: c.edit, list: seen.List.ID}
				if c.agent != "" {
					writeItems(t, board, "release", c.agent)
				}
				e.Seen = seen.Revision
				out, err := apply(t, source, e)
				if err != nil || items(out.After) != c.after || !out.Changed || !load(t, board).Writer.Person {
					t.Errorf("%q, changed %v, %v; want %q", items(out.After), out.Changed, err, c.after)
				}
				writeItems(t, board, "release", "D")
				if out, err = apply(t, source, e.inverse(out.After)); err != nil || items(out.After) != c.undo {
					t.Errorf("undone: %q, %v; want %q", items(out.After), err, c.undo)
				}
			})
		})
	}
}

// An edit is of the list as the person saw it: C goes behind A, which the agent has
// removed since, and before B.
func TestEditFromSeen(t *testing.T) {
	onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
		writeItems(t, board, "release", "A", "B", "C")
		seen := load(t, board)
		_, err := board.As("").Apply(t.Context(), todo.Write{Target: todo.Target{List: seen.List.ID},
			Change: func(d *todo.Draft) error { d.Remove("1"); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		out, err := source.Edit(t.Context(), seen.List.ID, todo.Edit{Seen: seen.Revision, Do: todo.EditMove, Item: "3", To: 1})
		if want := "pending:C pending:B"; err != nil || items(out.After) != want {
			t.Errorf("%q, %v; want %q", items(out.After), err, want)
		}
	})
}

// An edit of an item that is not on the list says so.
func TestEditOfItemGone(t *testing.T) {
	onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
		writeItems(t, board, "release", "A")
		_, err := source.Edit(t.Context(), load(t, board).List.ID, todo.Edit{Do: todo.EditText, Item: "9", Text: "x"})
		if err == nil || !strings.Contains(err.Error(), "not on the list any more") {
			t.Errorf("an item that is gone was reworded: %v", err)
		}
	})
}

// Whole lists are renamed, archived and deleted, and each is undone; a title that
// was given before comes back.
func TestLists(t *testing.T) {
	look := func(s todo.Snapshot) string {
		return fmt.Sprintf("%s archived %v deleted %v %s", s.Title(), s.Archived, s.Deleted, items(s))
	}
	for _, named := range []string{"release", ""} {
		for _, c := range []struct {
			edit todo.Edit
			want string
		}{
			{todo.Edit{Do: todo.EditRename, Text: "Title"}, "Title archived false deleted false pending:A"},
			{todo.Edit{Do: todo.EditArchive}, "Given archived true deleted false pending:A"},
			{todo.Edit{Do: todo.EditDelete}, "Given archived false deleted true pending:A"},
		} {
			t.Run(string(c.edit.Do)+" "+named, func(t *testing.T) {
				onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
					writeItems(t, board, named, "A")
					e := edit{Edit: c.edit, list: load(t, board).List.ID}
					if _, err := source.Edit(t.Context(), e.list, todo.Edit{Do: todo.EditRename, Text: "Given"}); err != nil {
						t.Fatal(err)
					}
					start := look(load(t, board))
					out, err := apply(t, source, e)
					if err != nil || look(out.After) != c.want || look(load(t, board)) != c.want {
						t.Errorf("%q, %v; want %q", look(out.After), err, c.want)
					}
					again, err := apply(t, source, e)
					if err != nil || again.Changed || again.After.Revision != out.After.Revision {
						t.Errorf("again: revision %d, changed %v, %v", again.After.Revision, again.Changed, err)
					}
					out, err = apply(t, source, e.inverse(out.After))
					if err != nil || look(out.After) != start || look(load(t, board)) != start {
						t.Errorf("undone: %q, %v; want %q", look(out.After), err, start)
					}
				})
			})
		}
	}
}

// What an edit is undone by is the edit alone: not what the agent wrote before
// its revision, which the screen did not show yet, and nothing where it changed
// nothing.
func TestUndoIsOfTheEditAlone(t *testing.T) {
	onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
		writeItems(t, board, "release", "A")
		shown := load(t, board)
		m := modelWith(80, 20, shown)
		writeItems(t, board, "release", "B")
		e := edit{Edit: todo.Edit{Seen: shown.Revision, Do: todo.EditStatus, Item: "1", Status: todo.Completed}, list: shown.List.ID}
		for range 2 { // the second changes nothing
			out, err := apply(t, source, e)
			m.edited(e, shown, out, err)
		}
		if len(m.undo) != 1 {
			t.Fatalf("undo %+v", m.undo)
		}
		out, err := apply(t, source, *m.press("u").edit)
		if want := "pending:A pending:B"; err != nil || items(out.After) != want {
			t.Errorf("undone: %q, %v; want %q", items(out.After), err, want)
		}
	})
}

// A tick brings an archived list back, and to undo it puts the list away again.
func TestUndoPutsAwayAgain(t *testing.T) {
	onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
		writeItems(t, board, "release", "A")
		id := load(t, board).List.ID
		made := func(e edit, archived bool) todo.Snapshot {
			t.Helper()
			out, err := apply(t, source, e)
			if err != nil || out.After.Archived != archived {
				t.Errorf("%s: archived %v, %v", e.Do, out.After.Archived, err)
			}
			return out.After
		}
		seen := made(edit{Edit: todo.Edit{Do: todo.EditArchive}, list: id}, true).Revision
		tick := edit{Edit: todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed, Seen: seen}, list: id}
		made(tick.inverse(made(tick, false)), true)
	})
}

// An undo that finds nothing to take back says so, and not that it is done.
func TestUndoFindsNothing(t *testing.T) {
	onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
		writeItems(t, board, "release", "A")
		s := load(t, board)
		m := modelWith(80, 20, s)
		do := func(e edit) {
			out, err := apply(t, source, e)
			if err != nil {
				t.Fatal(err)
			}
			m.edited(e, s, out, nil)
		}
		do(edit{Edit: todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed, Seen: 1}, list: s.List.ID})
		undo := *m.press("u").edit
		do(undo)
		if !strings.HasPrefix(m.note.text, "Undone") {
			t.Errorf("it says %q", m.note.text)
		}
		do(undo)
		if !strings.HasPrefix(m.note.text, "Nothing undone") {
			t.Errorf("it says %q", m.note.text)
		}
	})
}

// A server says how lists stand and where their pages are; a store without a panel
// has none.
func TestStandingsAndPages(t *testing.T) {
	onEachSource(t, func(t *testing.T, board *todo.Board, source Source) {
		writeItems(t, board, "release", "A", "B")
		s := load(t, board)
		if _, err := source.Edit(t.Context(), s.List.ID, todo.Edit{Seen: s.Revision, Do: todo.EditStatus, Item: "2", Status: todo.Completed}); err != nil {
			t.Fatal(err)
		}
		standings, err := source.Standings(t.Context(), []todo.Snapshot{load(t, board)})
		if err != nil || standings[s.List.ID].State == "" || fmt.Sprint(standings[s.List.ID].Unseen) != "[2]" {
			t.Errorf("standings %+v, %v", standings, err)
		}
		page, err := source.Page(t.Context(), s.List.ID)
		if _, local := source.(Local); local != (err != nil) || !local && !strings.HasSuffix(page, "/lists/"+s.List.ID) {
			t.Errorf("page %q, %v", page, err)
		}
	})
}
