package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// equateEmpty takes no cursors for none.
var equateEmpty = cmpopts.EquateEmpty()

// current returns the cursor that makes a list current for a conversation, whose agent was
// shown revision 1.
func current(conversation, list string) board.Cursor {
	c := earlier(conversation, list)
	c.Current = true
	return c
}

// earlier returns the cursor of a list that was current for a conversation before.
func earlier(conversation, list string) board.Cursor {
	return board.Cursor{Key: board.Key{Conversation: conversation}, List: list, Seen: 1}
}

// checkCursors compares cursors but for Moved, which has to be above 0 for those that
// were current and order them, and At, which has to be now.
func checkCursors(t testing.TB, what string, want, got []board.Cursor) {
	t.Helper()
	checkEqual(t, "cursors "+what, want, got, cmpopts.IgnoreFields(board.Cursor{}, "At", "Moved"), equateEmpty)
	for _, c := range got {
		if age := time.Since(c.At); age < -time.Second || age > time.Minute || c.At.Location() != time.UTC {
			t.Errorf("cursors %s: stored at %v", what, c.At)
		}
		if c.Moved < 0 || c.Current && c.Moved == 0 {
			t.Errorf("cursors %s: %+v has moved %d", what, c, c.Moved)
		}
	}
}

// cursors tests what setting a cursor changes in the cursors of its conversation, and
// what reads return.
func cursors(t *testing.T, s board.Store) {
	of := func(conversation string, want ...board.Cursor) {
		t.Helper()
		got := must[[]board.Cursor](t)(s.Cursors(t.Context(), board.Key{Conversation: conversation}))
		checkCursors(t, "of "+conversation, want, got)
		for i, c := range got {
			if i > 0 && c.Moved > got[i-1].Moved {
				t.Errorf("cursors of %s: what became current last is not the first: %+v", conversation, got)
			}
		}
		checkTx(t, s, []string{"a", "b"}, board.Key{Conversation: conversation})
	}
	on := func(list string, want ...board.Cursor) {
		t.Helper()
		checkCursors(t, "on "+list, sorted(want), sorted(must[[]board.Cursor](t)(s.CursorsOn(t.Context(), "", list))))
	}
	x := func(list string, seen int64, current bool) board.Cursor {
		return board.Cursor{Key: board.Key{Conversation: "x"}, List: list, Seen: seen, Current: current}
	}
	of("x")
	mustSave(t, s, list("a", "w", 1), x("a", 1, true))
	of("x", x("a", 1, true))
	y := board.Cursor{Key: board.Key{Conversation: "y"}, List: "a", Seen: 4, Process: "p", Until: baseTime, Current: true}
	mustSave(t, s, list("b", "w", 1), x("b", 1, true), y)
	of("x", x("b", 1, true), x("a", 1, false))
	on("a", x("a", 1, false), y)
	on("b", x("b", 1, true))
	on("c")
	on("", x("b", 1, true), y)
	// A save that fails stores no cursor.
	if _, err := Save(t.Context(), s, list("a", "w", 1), current("z", "a")); err == nil {
		t.Error("an old revision was saved")
	}
	of("z")
	// Seen does not go back, a cursor that is not current stays behind, and without a
	// process those who serve the conversation stay as they are.
	mustSet(t, s, x("a", 3, false))
	mustSet(t, s, board.Cursor{Key: y.Key, List: "a", Seen: 2})
	of("x", x("b", 1, true), x("a", 3, false))
	of("y", y)
	mustSet(t, s, x("b", 0, false), x("a", 0, false))
	of("x", x("b", 1, true), x("a", 3, false))
	y.Process, y.Until = board.Detached, baseTime.Add(time.Hour)
	mustSet(t, s, y)
	of("y", y)
	y.Process, y.Until = "q", time.Time{}
	mustSet(t, s, y)
	of("y", y)
	if until := must[[]board.Cursor](t)(s.Cursors(t.Context(), y.Key))[0].Until; !until.IsZero() {
		t.Errorf("a process that serves until it ends serves until %v", until)
	}
	// A conversation may take an earlier list again, and another one.
	mustSet(t, s, x("a", 0, true))
	of("x", x("a", 3, true), x("b", 1, false))
	on("", x("a", 3, true), y)
	mustSet(t, s, x("c", 0, true))
	of("x", x("c", 0, true), x("a", 3, false), x("b", 1, false))
	mustSet(t, s, x("b", 0, true), x("a", 0, true)) // the last one counts
	of("x", x("a", 3, true), x("b", 1, false), x("c", 0, false))
	// What an agent was only shown has never moved.
	shown := board.Cursor{Key: board.Key{Conversation: "reader"}, List: "b", Seen: 1}
	mustSet(t, s, shown)
	of("reader", shown)
	on("b", x("b", 1, false), shown)
	if got := must[[]board.Cursor](t)(s.Cursors(t.Context(), shown.Key)); len(got) != 1 || got[0].Moved != 0 {
		t.Errorf("a list only shown was held: %+v", got)
	}
	mustSave(t, s, list("d", "w", 1), current("reader", "d"))
	of("reader", current("reader", "d"), shown)
	// Principals are walled off from each other.
	foreign := board.Key{Principal: "somebody", Conversation: "x"}
	if got, err := s.Cursors(t.Context(), foreign); err != nil || len(got) > 0 {
		t.Errorf("another principal's cursors: %v, %v", got, err)
	}
	for _, list := range []string{"a", ""} {
		if got, err := s.CursorsOn(t.Context(), "somebody", list); err != nil || len(got) > 0 {
			t.Errorf("another principal's cursors on %q: %v, %v", list, got, err)
		}
	}
	theirs := board.Cursor{Key: foreign, List: "a", Seen: 9, Current: true}
	mustSet(t, s, theirs)
	of("x", x("a", 3, true), x("b", 1, false), x("c", 0, false))
	checkCursors(t, "of somebody", []board.Cursor{theirs}, must[[]board.Cursor](t)(s.CursorsOn(t.Context(), "somebody", "")))
}

// cursorsInTx tests that a transaction reads the cursors that it has set, of several
// conversations.
func cursorsInTx(t *testing.T, s board.Store) {
	x, y := board.Key{Conversation: "x"}, board.Key{Conversation: "y"}
	mustSave(t, s, list("a", "w", 1), current("x", "a"))
	mustSave(t, s, list("b", "w", 1))
	mustUpdate(t, s, x, func(tx board.Tx) error {
		of := func(key board.Key, want ...board.Cursor) {
			t.Helper()
			got, err := tx.Cursors(t.Context(), key)
			if err != nil {
				t.Error(err)
			}
			checkCursors(t, "of "+key.Conversation+" in their transaction", want, got)
		}
		set := func(cursors ...board.Cursor) {
			t.Helper()
			if err := setCursors(t.Context(), tx, cursors...); err != nil {
				t.Error(err)
			}
		}
		of(x, current("x", "a"))
		set(current("x", "b"))
		of(x, current("x", "b"), earlier("x", "a"))
		set(current("y", "a"), current("x", "a"))
		of(x, current("x", "a"), earlier("x", "b"))
		of(y, current("y", "a"))
		return nil
	})
	checkCursors(t, "of x", []board.Cursor{current("x", "a"), earlier("x", "b")}, must[[]board.Cursor](t)(s.Cursors(t.Context(), x)))
	checkCursors(t, "of y", []board.Cursor{current("y", "a")}, must[[]board.Cursor](t)(s.Cursors(t.Context(), y)))
	checkTx(t, s, []string{"a", "b"}, x, y)
}

// RunAging tests which cursors outlast [board.CursorAge]. open returns an empty store
// with a function that makes all its cursors older; the suite closes it.
func RunAging(t *testing.T, open func(t testing.TB) (s board.Store, age func(by time.Duration))) {
	s, age := open(t)
	defer s.Close()
	name, old, young, back := board.Key{Conversation: todo.NameKey("n")}, board.Key{Conversation: "old"}, board.Key{Conversation: "young"}, board.Key{Conversation: "back"}
	early := list("a", "w", 1)
	early.Updated = time.Now().Add(-board.CursorAge)
	mustSave(t, s, early, current(name.Conversation, "a"), current("old", "a"))
	mustSet(t, s, current("back", "a"), current("back", "b"))
	age(board.CursorAge / 2)
	mustSet(t, s, current("young", "a"), earlier("back", "a")) // which is shown, not held again
	age(board.CursorAge/2 + time.Hour)
	lately := func(id string, revision int64) todo.Snapshot {
		l := list(id, "w", revision)
		l.Updated = time.Now()
		return l
	}
	mustSave(t, s, lately("first", 1))
	if got := must[[]board.Cursor](t)(s.Cursors(t.Context(), old)); len(got) != 1 {
		t.Error("cursors went by the clock of one save alone")
	}
	for n := range 3 {
		mustSave(t, s, lately("new", int64(n+1)), current("another", "new"))
		mustSave(t, s, lately("new"+string(rune('a'+n)), 1), current("another", "new"))
	}
	for key, kept := range map[board.Key]bool{name: true, young: true, old: false} {
		got := must[[]board.Cursor](t)(s.Cursors(t.Context(), key))
		if len(got) > 1 || kept && (len(got) != 1 || got[0].List != "a" || !got[0].Current) {
			t.Errorf("cursors of %s, which are old: %+v", key.Conversation, got)
		}
		checkTx(t, s, []string{"a"}, key)
	}
	for _, c := range must[[]board.Cursor](t)(s.Cursors(t.Context(), back)) {
		if c.List == "a" && c.Current {
			t.Error("a list that was only shown is held, since the cursor of the list that is held was too old")
		}
	}
}

// parents tests that the parent of a sub-agent's list is the list that the main
// agent's conversation holds at the time of the read.
func parents(t *testing.T, s board.Store) {
	sub := list("sub", "w", 1)
	sub.List.ParentConversation, sub.List.Parent = "main", "never stored"
	check := func(want string) {
		t.Helper()
		got, err := s.Load(t.Context(), "sub", 0)
		if err != nil || got.List.Parent != want {
			t.Errorf("parent %q, want %q, %v", got.List.Parent, want, err)
		}
		for _, got := range must[[]todo.Snapshot](t)(s.History(t.Context(), "sub", 0, 0)) {
			if got.List.Parent != want {
				t.Errorf("parent of revision %d is %q, want %q", got.Revision, got.List.Parent, want)
			}
		}
		checkTx(t, s, []string{"sub"}, board.Key{Conversation: "main"})
		if want == "" {
			return
		}
		found, err := s.Find(t.Context(), board.Query{Parent: want})
		if err != nil || len(found) != 1 || found[0].List.Parent != want {
			t.Errorf("sub-lists of %s: %v, %v", want, found, err)
		}
	}
	if saved := mustSave(t, s, sub); saved.List.Parent != "" {
		t.Errorf("saved with parent %q", saved.List.Parent)
	}
	check("")
	mustSave(t, s, list("m1", "w", 1), current("main", "m1"))
	check("m1")
	mustSave(t, s, list("m2", "w", 1), current("main", "m2"))
	check("m2")
	if found, err := s.Find(t.Context(), board.Query{Parent: "m1"}); err != nil || len(found) > 0 {
		t.Errorf("sub-lists of the list held before: %v, %v", found, err)
	}
	mustSet(t, s, earlier("main", "m1")) // is shown, not held
	check("m2")
	sub.Revision = 2
	if saved := mustSave(t, s, sub); saved.List.Parent != "m2" {
		t.Errorf("saved again with parent %q", saved.List.Parent)
	}
	sub.Revision = 3
	mustSave(t, s, sub, current("main", "m1"))
	check("m1")
}

// parentsInTx tests that a transaction reads the parent by the cursors that it has set.
func parentsInTx(t *testing.T, s board.Store) {
	sub := list("sub", "w", 1)
	sub.List.ParentConversation = "main"
	mustSave(t, s, list("m1", "w", 1), current("main", "m1"))
	mustUpdate(t, s, board.Key{Conversation: "main"}, func(tx board.Tx) error {
		check := func(what, want string, got todo.Snapshot, err error) {
			t.Helper()
			if err != nil || got.List.Parent != want {
				t.Errorf("%s: parent %q, want %q, %v", what, got.List.Parent, want, err)
			}
		}
		saved, err := tx.Save(t.Context(), sub)
		check("saved", "m1", saved, err)
		loaded, err := tx.Load(t.Context(), "sub", 0)
		check("read after it was saved", "m1", loaded, err)
		if err := tx.SetCursor(t.Context(), current("main", "m2")); err != nil {
			return err
		}
		loaded, err = tx.Load(t.Context(), "sub", 0)
		check("read after the cursor moved", "m2", loaded, err)
		next := loaded.Clone()
		next.Revision++
		saved, err = tx.Save(t.Context(), next)
		check("saved after the cursor moved", "m2", saved, err)
		return nil
	})
	if got := must[todo.Snapshot](t)(s.Load(t.Context(), "sub", 0)); got.List.Parent != "m2" {
		t.Errorf("parent %q afterwards", got.List.Parent)
	}
}

func alive(t *testing.T, s board.Store) {
	if s.Alive("p") {
		t.Error("an unknown process is alive")
	}
	leave, err := s.Attend("p")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // asking does not end it
		if !s.Alive("p") || s.Alive("q") {
			t.Error("the process that attends is not the one that is alive")
		}
	}
	leave()
	if s.Alive("p") {
		t.Error("a process that left is alive")
	}
}
