package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// equateEmpty makes nil equal to an empty slice.
var equateEmpty = cmpopts.EquateEmpty()

// current returns the Seen that makes a list a chat's current one, after revision 1 was shown to its agent.
func current(conversation, list string) board.Seen {
	c := earlier(conversation, list)
	c.Current = true
	return c
}

// mirroring is like current, for a list that mirrors a list of the chat's host.
func mirroring(chat, list string) board.Seen {
	s := current(chat, list)
	s.Mirrors = true
	return s
}

// earlier returns the Seen of a list that is not, or no longer, current for a chat.
func earlier(conversation, list string) board.Seen {
	return board.Seen{Key: board.Key{Chat: conversation}, List: list, Revision: 1}
}

// checkSeen compares what chats have seen, apart from Held and At. It checks that Held is above 0 for current lists and
// never below, and that At is about now.
func checkSeen(t testing.TB, what string, want, got []board.Seen) {
	t.Helper()
	checkEqual(t, "seen "+what, want, got, cmpopts.IgnoreFields(board.Seen{}, "At", "Held"), equateEmpty)
	for _, c := range got {
		if age := time.Since(c.At); age < -time.Second || age > time.Minute || c.At.Location() != time.UTC {
			t.Errorf("seen %s: stored at %v", what, c.At)
		}
		if c.Held < 0 || c.Current && c.Held == 0 {
			t.Errorf("seen %s: %+v is held %d", what, c, c.Held)
		}
	}
}

// seen tests how the rows of a chat change when it sees a list or makes a list current, and what reads return then.
func seen(t *testing.T, s board.Store) {
	of := func(conversation string, want ...board.Seen) {
		t.Helper()
		got := checktest.Must(s.Seen(t.Context(), board.Key{Chat: conversation}))(t)
		checkSeen(t, "of "+conversation, want, got)
		for i, c := range got {
			if i > 0 && c.Held > got[i-1].Held {
				t.Errorf("seen by %s: what became current last is not the first: %+v", conversation, got)
			}
		}
		checkTx(t, s, []string{"a", "b"}, board.Key{Chat: conversation})
	}
	on := func(list string, want ...board.Seen) {
		t.Helper()
		checkSeen(t, "on "+list, sorted(want), sorted(checktest.Must(s.SeenOn(t.Context(), "", list))(t)))
	}
	x := func(list string, seen int64, current bool) board.Seen {
		return board.Seen{Key: board.Key{Chat: "x"}, List: list, Revision: seen, Current: current}
	}
	of("x")
	mustSave(t, s, list("a", "w", 1), x("a", 1, true))
	of("x", x("a", 1, true))
	y := board.Seen{Key: board.Key{Chat: "y"}, List: "a", Revision: 4, Process: "p", Current: true}
	mustSave(t, s, list("b", "w", 1), x("b", 1, true), y)
	of("x", x("b", 1, true), x("a", 1, false))
	on("a", x("a", 1, false), y)
	on("b", x("b", 1, true))
	on("c")
	on("", x("b", 1, true), y)
	// An update whose save fails stores none of its Seen rows.
	if _, err := Save(t.Context(), s, list("a", "w", 1), current("z", "a")); err == nil {
		t.Error("an old revision was saved")
	}
	of("z")
	// Revision never decreases. A list that is not current stays after the current one. A Seen without a Process keeps
	// the stored Process.
	mustSet(t, s, x("a", 3, false))
	mustSet(t, s, board.Seen{Key: y.Key, List: "a", Revision: 2})
	of("x", x("b", 1, true), x("a", 3, false))
	of("y", y)
	mustSet(t, s, x("b", 0, false), x("a", 0, false))
	of("x", x("b", 1, true), x("a", 3, false))
	y.Process = "q"
	mustSet(t, s, y)
	of("y", y)
	// A conversation may make an earlier list current again, or a list that is new to it.
	mustSet(t, s, x("a", 0, true))
	of("x", x("a", 3, true), x("b", 1, false))
	on("", x("a", 3, true), y)
	mustSet(t, s, x("c", 0, true))
	of("x", x("c", 0, true), x("a", 3, false), x("b", 1, false))
	mustSet(t, s, x("b", 0, true), x("a", 0, true)) // the last list set is current
	of("x", x("a", 3, true), x("b", 1, false), x("c", 0, false))
	// A list that an agent was only shown has never become current.
	shown := board.Seen{Key: board.Key{Chat: "reader"}, List: "b", Revision: 1}
	mustSet(t, s, shown)
	of("reader", shown)
	on("b", x("b", 1, false), shown)
	if got := checktest.Must(s.Seen(t.Context(), shown.Key))(t); len(got) != 1 || got[0].Held != 0 {
		t.Errorf("a list only shown was held: %+v", got)
	}
	mustSave(t, s, list("d", "w", 1), current("reader", "d"))
	of("reader", current("reader", "d"), shown)
	// A chat has one current list of each kind (mirrored or not), and may have seen a list as both kinds.
	mirrors := board.Seen{Key: board.Key{Chat: "x", Mirrors: true}, List: "b", Revision: 2, Current: true}
	mustSet(t, s, mirrors)
	of("x", x("a", 3, true), x("b", 1, false), x("c", 0, false))
	checkSeen(t, "of x by its host's tool", []board.Seen{mirrors}, checktest.Must(s.Seen(t.Context(), mirrors.Key))(t))
	on("b", x("b", 1, false), shown, mirrors)
	// No principal reads what chats of another principal have seen.
	foreign := board.Key{Principal: "somebody", Chat: "x"}
	if got, err := s.Seen(t.Context(), foreign); err != nil || len(got) > 0 {
		t.Errorf("what another principal's chats saw: %v, %v", got, err)
	}
	for _, list := range []string{"a", ""} {
		if got, err := s.SeenOn(t.Context(), "somebody", list); err != nil || len(got) > 0 {
			t.Errorf("what another principal's chats saw of %q: %v, %v", list, got, err)
		}
	}
	theirs := board.Seen{Key: foreign, List: "a", Revision: 9, Current: true}
	mustSet(t, s, theirs)
	of("x", x("a", 3, true), x("b", 1, false), x("c", 0, false))
	checkSeen(t, "of somebody", []board.Seen{theirs}, checktest.Must(s.SeenOn(t.Context(), "somebody", ""))(t))
}

// seenInTx tests that a transaction reads the Seen rows that it has itself stored, for several chats.
func seenInTx(t *testing.T, s board.Store) {
	x, y := board.Key{Chat: "x"}, board.Key{Chat: "y"}
	mustSave(t, s, list("a", "w", 1), current("x", "a"))
	mustSave(t, s, list("b", "w", 1))
	mustUpdate(t, s, x, func(tx board.Tx) error {
		of := func(key board.Key, want ...board.Seen) {
			t.Helper()
			got, err := tx.Seen(t.Context(), key)
			if err != nil {
				t.Error(err)
			}
			checkSeen(t, "of "+key.Chat+" in their transaction", want, got)
		}
		set := func(seen ...board.Seen) {
			t.Helper()
			if err := setSeen(t.Context(), tx, seen...); err != nil {
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
	checkSeen(t, "of x", []board.Seen{current("x", "a"), earlier("x", "b")}, checktest.Must(s.Seen(t.Context(), x))(t))
	checkSeen(t, "of y", []board.Seen{current("y", "a")}, checktest.Must(s.Seen(t.Context(), y))(t))
	checkTx(t, s, []string{"a", "b"}, x, y)
}

// RunAging tests which rows of seen are kept longer than [board.SeenAge]. open returns an empty store, which the suite
// closes, and a function that makes all rows older.
func RunAging(t *testing.T, open func(t testing.TB) (s board.Store, age func(by time.Duration))) {
	s, age := open(t)
	defer s.Close()
	person, old, young, back := board.Key{Chat: todo.PersonChat}, board.Key{Chat: "old"}, board.Key{Chat: "young"}, board.Key{Chat: "back"}
	early := list("a", "w", 1)
	early.Updated = time.Now().Add(-board.SeenAge)
	mustSave(t, s, early, current(person.Chat, "a"), current("old", "a"))
	mustSet(t, s, current("back", "a"), current("back", "b"))
	age(board.SeenAge / 2)
	mustSet(t, s, current("young", "a"), earlier("back", "a")) // chat "back" sees "a", but does not hold it again
	age(board.SeenAge/2 + time.Hour)
	lately := func(id string, revision int64) todo.Snapshot {
		l := list(id, "w", revision)
		l.Updated = time.Now()
		return l
	}
	mustSave(t, s, lately("first", 1))
	if got := checktest.Must(s.Seen(t.Context(), old))(t); len(got) != 1 {
		t.Error("what was seen went by the clock of one save alone")
	}
	for n := range 3 {
		mustSave(t, s, lately("new", int64(n+1)), current("another", "new"))
		mustSave(t, s, lately("new"+string(rune('a'+n)), 1), current("another", "new"))
	}
	for key, kept := range map[board.Key]bool{person: true, young: true, old: false} {
		got := checktest.Must(s.Seen(t.Context(), key))(t)
		if len(got) > 1 || kept && (len(got) != 1 || got[0].List != "a" || !got[0].Current) {
			t.Errorf("seen by %s, which are old: %+v", key.Chat, got)
		}
		checkTx(t, s, []string{"a"}, key)
	}
	for _, c := range checktest.Must(s.Seen(t.Context(), back))(t) {
		if c.List == "a" && c.Current {
			t.Error("a list that was only shown is held, since what was seen of the list that is held was too old")
		}
	}
}

// names tests that a name leads, within its principal, to the list that got the name last, until that list is removed.
func names(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "w", 1))
	mustSave(t, s, list("b", "w", 1))
	strange := "a \x00 \xff 'name:"
	check := func(what string, r board.Reader, want map[string]string) {
		t.Helper()
		for _, name := range []string{"one", "two", strange, "none"} {
			if got, err := r.Named(t.Context(), "", name); err != nil || got != want[name] {
				t.Errorf("%s: %q leads to %q, want %q, %v", what, name, got, want[name], err)
			}
		}
		if got, err := r.Named(t.Context(), "somebody", "one"); err != nil || got != "" {
			t.Errorf("%s: another principal's name leads to %q, %v", what, got, err)
		}
	}
	check("before", s, nil)
	set := map[string]string{"one": "a", "two": "b", strange: "a"}
	mustUpdate(t, s, board.Key{Chat: "x"}, func(tx board.Tx) error {
		err := errors.Join(tx.SetName(t.Context(), "", "one", "b"), tx.SetName(t.Context(), "", "two", "b"), tx.SetName(t.Context(), "", strange, "a"),
			tx.SetName(t.Context(), "", "one", "a"))
		check("in its transaction", tx, set)
		return err
	})
	check("afterwards", s, set)
	refused := errors.New("refused")
	err := s.Update(t.Context(), board.Key{}, func(tx board.Tx) error { return errors.Join(refused, tx.SetName(t.Context(), "", "one", "b")) })
	if !errors.Is(err, refused) {
		t.Error(err)
	}
	check("after a refusal", s, set)
	if _, err := Purge(t.Context(), s, todo.Writer{}, time.Now(), "a"); err != nil {
		t.Fatal(err)
	}
	check("when a list has gone", s, map[string]string{"two": "b"})
}

// parents tests that the parent of a sub-agent's list is the list that the main
// agent's conversation holds at the time of the read.
func parents(t *testing.T, s board.Store) {
	sub := list("sub", "w", 1)
	sub.List.Mirrored, sub.List.ParentConversation, sub.List.Parent = false, "main", "never stored"
	mustSave(t, s, list("mirror", "w", 1), board.Seen{Key: board.Key{Chat: "main", Mirrors: true}, List: "mirror", Revision: 1, Current: true})
	check := func(want string) {
		t.Helper()
		got, err := s.Load(t.Context(), "sub", 0)
		if err != nil || got.List.Parent != want {
			t.Errorf("parent %q, want %q, %v", got.List.Parent, want, err)
		}
		for _, got := range checktest.Must(s.History(t.Context(), "sub", 0, 0))(t) {
			if got.List.Parent != want {
				t.Errorf("parent of revision %d is %q, want %q", got.Revision, got.List.Parent, want)
			}
		}
		checkTx(t, s, []string{"sub"}, board.Key{Chat: "main"})
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
	mustSet(t, s, earlier("main", "m1")) // "m1" is shown, not held
	check("m2")
	sub.Revision = 2
	if saved := mustSave(t, s, sub); saved.List.Parent != "m2" {
		t.Errorf("saved again with parent %q", saved.List.Parent)
	}
	sub.Revision = 3
	mustSave(t, s, sub, current("main", "m1"))
	check("m1")
	mirrored := list("mirrored sub", "w", 1)
	mirrored.List.ParentConversation = "main"
	if saved := mustSave(t, s, mirrored); saved.List.Parent != "mirror" {
		t.Errorf("a mirrored list is saved with parent %q", saved.List.Parent)
	}
}

// parentsInTx tests that a transaction reads a list's parent from what the transaction has stored.
func parentsInTx(t *testing.T, s board.Store) {
	sub := list("sub", "w", 1)
	sub.List.Mirrored, sub.List.ParentConversation = false, "main"
	mustSave(t, s, list("m1", "w", 1), current("main", "m1"))
	mustUpdate(t, s, board.Key{Chat: "main"}, func(tx board.Tx) error {
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
		if err := tx.See(t.Context(), current("main", "m2")); err != nil {
			return err
		}
		loaded, err = tx.Load(t.Context(), "sub", 0)
		check("read after another list became current", "m2", loaded, err)
		next := loaded
		next.Revision++
		saved, err = tx.Save(t.Context(), next)
		check("saved after another list became current", "m2", saved, err)
		return nil
	})
	if got := checktest.Must(s.Load(t.Context(), "sub", 0))(t); got.List.Parent != "m2" {
		t.Errorf("parent %q afterwards", got.List.Parent)
	}
}

func alive(t *testing.T, s board.Store) {
	if s.Alive("p") {
		t.Error("an unknown process is alive")
	}
	leave := s.Attend("p")
	for range 2 { // the first call of Alive must not end the attendance
		if !s.Alive("p") || s.Alive("q") {
			t.Error("the process that attends is not the one that is alive")
		}
	}
	leave()
	if s.Alive("p") {
		t.Error("a process that left is alive")
	}
}
