package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// arrival is how long a test gives an update that it started to join the queue of waiting updates.
const arrival = 50 * time.Millisecond

// contents holds all that a store has of some lists and conversations.
type contents struct {
	Newest    []todo.Snapshot
	Histories map[string][]todo.Snapshot
	Seen      map[board.Key][]board.Seen
	Chats     []todo.Chat
	Keyed     string
}

// contentsOf reads all lists and chats, what the chats of keys have seen, and the key that changeMuch sets.
func contentsOf(t testing.TB, s board.Store, keys ...board.Key) contents {
	t.Helper()
	c := contents{checktest.Must(s.Find(t.Context(), board.Query{Deleted: true}))(t), map[string][]todo.Snapshot{}, map[board.Key][]board.Seen{},
		checktest.Must(s.Chats(t.Context(), board.ChatQuery{}))(t), checktest.Must(s.Keyed(t.Context(), muchKey))(t)}
	for _, newest := range c.Newest {
		c.Histories[newest.List.ID] = checktest.Must(s.History(t.Context(), newest.List.ID, 0, 0))(t)
	}
	for _, key := range keys {
		c.Seen[key] = checktest.Must(s.Seen(t.Context(), key))(t)
	}
	return c
}

// muchKey is the key that changeMuch sets.
var muchKey = board.ChatKey{Kind: board.CallKey, Text: "much"}

// changeMuch saves two lists, one of them twice, begins a third, makes lists current for two chats, saves two
// chats, one of which is new, and sets a key.
func changeMuch(ctx context.Context, tx board.Tx) error {
	next := chat("x")
	next.Title.Text = "much"
	_, err1 := tx.SaveChat(ctx, next)
	_, err2 := tx.SaveChat(ctx, chat("y"))
	to, err3 := tx.Keyed(ctx, muchKey)
	if to != "" {
		err3 = errors.New("it has the key of what was taken back")
	}
	if err := errors.Join(err1, err2, err3, tx.SetKey(ctx, muchKey, "x", time.Now().Add(time.Hour))); err != nil {
		return err
	}
	for _, next := range []todo.Snapshot{list("a", "x", 2), list("b", "x", 2), list("a", "x", 3), list("new", "x", 1)} {
		if _, err := saveIn(ctx, tx, next); err != nil {
			return err
		}
	}
	return setSeen(ctx, tx, current("x", "new"), current("y", "a"))
}

// begun begins the lists that changeMuch changes, saves the chat "x", and returns the keys of both chats.
func begun(t testing.TB, s board.Store) (keys []board.Key) {
	t.Helper()
	mustSave(t, s, list("a", "x", 1), current("x", "a"))
	mustSave(t, s, list("b", "x", 1))
	mustSaveChat(t, s, chat("x"))
	return []board.Key{{Chat: "x"}, {Chat: "y"}}
}

// refused tests that, if the function of an update returns an error, nothing of the update is stored, Update returns
// this error, and the store still works.
func refused(t *testing.T, s board.Store) {
	keys := begun(t, s)
	before := contentsOf(t, s, keys...)
	input := &todo.InputError{Problems: []todo.Problem{{Message: "wrong"}}}
	for _, refusal := range []error{input, fmt.Errorf("write: %w", input), errors.New("no"), board.ErrNotFound, &board.FullError{Err: board.ErrStoreFull}, context.Canceled, context.DeadlineExceeded} {
		runs := 0
		err := s.Update(t.Context(), keys[0], func(tx board.Tx) error {
			runs++
			if err := changeMuch(t.Context(), tx); err != nil {
				return fmt.Errorf("before it is refused: %w", err)
			}
			return refusal
		})
		if !errors.Is(err, refusal) || errors.Is(err, board.ErrUnknownOutcome) || runs == 0 {
			t.Errorf("refused with %v after %d runs: %v", refusal, runs, err)
		}
		var as *todo.InputError
		if errors.As(refusal, &as) && (!errors.As(err, &as) || as != input) {
			t.Errorf("the problems are lost: %v", err)
		}
		checkEqual(t, "after a refusal", before, contentsOf(t, s, keys...))
		checkTx(t, s, []string{"a", "b", "new"}, keys...)
	}
	mustUpdate(t, s, keys[0], func(tx board.Tx) error { return changeMuch(t.Context(), tx) })
	checkMuch(t, s)
}

// checkMuch checks that all that changeMuch does is stored.
func checkMuch(t testing.TB, s board.Store) {
	t.Helper()
	got := contentsOf(t, s, board.Key{Chat: "x"}, board.Key{Chat: "y"})
	var ids []string
	for _, newest := range got.Newest {
		ids = append(ids, fmt.Sprint(newest.List.ID, newest.Revision))
	}
	checkEqual(t, "lists, the last saved first", []string{"new1", "a3", "b2"}, ids)
	checkSeen(t, "of x", []board.Seen{current("x", "new"), earlier("x", "a")}, got.Seen[board.Key{Chat: "x"}])
	checkSeen(t, "of y", []board.Seen{current("y", "a")}, got.Seen[board.Key{Chat: "y"}])
	if len(got.Chats) != 2 || got.Chats[0].Title.Text != "much" || got.Chats[1].ID != "y" || got.Keyed != "x" {
		t.Errorf("chats %+v, and the key leads to %q", got.Chats, got.Keyed)
	}
}

// panics tests that a panic of an update's function reaches the caller of Update, that nothing is stored, and that the
// store still works.
func panics(t *testing.T, s board.Store) {
	keys := begun(t, s)
	before := contentsOf(t, s, keys...)
	for n := range 3 {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "on purpose") { // the stack may follow
					t.Errorf("the caller's panic is %q", got)
				}
			}()
			err := s.Update(t.Context(), keys[0], func(tx board.Tx) error {
				if err := changeMuch(t.Context(), tx); err != nil {
					t.Error(err)
				}
				panic("on purpose")
			})
			t.Errorf("panic %d: update returned %v", n+1, err)
		}()
		checkEqual(t, "after a panic", before, contentsOf(t, s, keys...))
	}
	mustUpdate(t, s, keys[0], func(tx board.Tx) error { return changeMuch(t.Context(), tx) })
	checkMuch(t, s)
}

// ownReads tests that a transaction reads its own saves.
func ownReads(t *testing.T, s board.Store) {
	keys := begun(t, s)
	mustUpdate(t, s, keys[0], func(tx board.Tx) error {
		load := func(id string, revision int64, want todo.Snapshot) {
			t.Helper()
			got, err := tx.Load(t.Context(), id, revision)
			if err != nil {
				t.Errorf("load revision %d of %s: %v", revision, id, err)
			}
			checkEqual(t, fmt.Sprint("revision ", revision, " of ", id, " in its transaction"), want, got)
		}
		if _, err := tx.Load(t.Context(), "new", 0); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("a list that has not begun: %v", err)
		}
		first, err := tx.Load(t.Context(), "a", 0)
		if err != nil {
			return err
		}
		var saved []todo.Snapshot
		for _, next := range []todo.Snapshot{list("a", "elsewhere", 2), list("new", "x", 1), list("a", "x", 3), list("new", "x", 2)} {
			got, err := saveIn(t.Context(), tx, next)
			if err != nil {
				return err
			}
			next.Seq, next.List = got.Seq, list(next.List.ID, "x", 1).List
			checkEqual(t, "saved", next, got)
			saved = append(saved, got)
			load(got.List.ID, 0, got)
		}
		load("a", 1, first)
		load("a", 2, saved[0])
		load("a", 3, saved[2])
		load("new", 1, saved[1])
		if _, err := tx.Load(t.Context(), "a", 4); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("a revision that is not saved: %v", err)
		}
		return nil
	})
	checkTx(t, s, []string{"a", "b", "new"}, keys...)
}

// severalSaves tests that one transaction's saves of several lists, and of one list several times, are stored in their
// order, and that a reader that pages by Seq misses none of them.
func severalSaves(t *testing.T, s board.Store) {
	start := checktest.Must(s.Position(t.Context()))(t)
	begun(t, s)
	var saved []todo.Snapshot
	mustUpdate(t, s, board.Key{Chat: "x"}, func(tx board.Tx) error {
		saved = nil
		for _, next := range []todo.Snapshot{list("a", "x", 2), list("c", "x", 1), list("b", "x", 2), list("a", "x", 3), list("d", "x", 1)} {
			got, err := saveIn(t.Context(), tx, next)
			if err != nil {
				return err
			}
			if n := len(saved); n > 0 && got.Seq <= saved[n-1].Seq {
				t.Errorf("seq %d after %d", got.Seq, saved[n-1].Seq)
			}
			saved = append(saved, got)
		}
		return nil
	})
	checkEqual(t, "history", []todo.Snapshot{saved[0], saved[3]}, checktest.Must(s.History(t.Context(), "a", 1, 0))(t))
	want := []todo.Snapshot{saved[1], saved[2], saved[3], saved[4]}
	after, before := start, int64(0)
	for i := range want {
		forth, err := s.Find(t.Context(), board.Query{AfterSeq: after, OldestFirst: true, Limit: 1})
		if err != nil || len(forth) != 1 {
			t.Fatalf("page %d forwards: %d lists, %v", i, len(forth), err)
		}
		checkEqual(t, "a page forwards", want[i], forth[0])
		back, err := s.Find(t.Context(), board.Query{BeforeSeq: before, Limit: 1})
		if err != nil || len(back) != 1 {
			t.Fatalf("page %d backwards: %d lists, %v", i, len(back), err)
		}
		checkEqual(t, "a page backwards", want[len(want)-1-i], back[0])
		after, before = forth[0].Seq, back[0].Seq
	}
	if end := checktest.Must(s.Position(t.Context()))(t); end < after {
		t.Errorf("position %d is before what can be read, %d", end, after)
	}
}

// isolated tests that reads of other callers return nothing of an update before it is stored, and do not wait for it.
func isolated(t *testing.T, s board.Store) {
	keys := begun(t, s)
	before := contentsOf(t, s, keys...)
	update := startUpdate(t, s, keys[0], changeMuch)
	checkEqual(t, "beside an update", before, contentsOf(t, s, keys...))
	if err := update.end(t); err != nil {
		t.Fatal(err)
	}
	checkMuch(t, s)
}

// nothing tests that an update that saves nothing makes no revision and hints nobody.
func nothing(t *testing.T, s board.Store) {
	keys := begun(t, s)
	hints := make(chan struct{}, 1)
	stop := startWatch(t, s, "watched", func() { notify(hints) })
	defer stop()
	quiet := func() bool {
		select {
		case <-hints:
			return false
		case <-time.After(200 * time.Millisecond): // several polls
			return true
		}
	}
	for tries := 0; !quiet() && tries < 20; tries++ {
	}
	before := contentsOf(t, s, keys...)
	for try := 1; ; try++ { // a hint for another reason may come at any time, but not in each try
		mustUpdate(t, s, keys[0], func(tx board.Tx) error {
			_, err := tx.Load(t.Context(), "a", 0)
			if err == nil {
				_, err = tx.Seen(t.Context(), keys[0])
			}
			return err
		})
		_ = s.Update(t.Context(), keys[0], func(tx board.Tx) error {
			return cmp.Or(changeMuch(t.Context(), tx), errors.New("refused"))
		})
		if quiet() {
			break
		}
		if try == 5 {
			t.Error("an update that saves nothing hints watchers")
			break
		}
	}
	checkEqual(t, "after an update that saves nothing", before, contentsOf(t, s, keys...))
}

// runningUpdate is an update that runs until it is released.
type runningUpdate struct {
	release func()
	done    chan error
}

// saveHeld saves the next revision of list "held".
func saveHeld(ctx context.Context, tx board.Tx) error { return saveNext(ctx, tx, "held", "first") }

// startUpdate begins an update, which makes a change and then waits until it is released.
func startUpdate(t *testing.T, s board.Store, key board.Key, change func(context.Context, board.Tx) error) runningUpdate {
	t.Helper()
	began, released := make(chan error, 1), make(chan struct{})
	h := runningUpdate{sync.OnceFunc(func() { close(released) }), make(chan error, 1)}
	t.Cleanup(h.release)
	go func() {
		h.done <- s.Update(context.Background(), key, func(tx board.Tx) error {
			err := change(context.Background(), tx)
			select {
			case began <- err:
			default:
			}
			<-released
			return err
		})
	}()
	if err := receive(t, "the beginning of an update", began); err != nil {
		t.Fatal(err)
	}
	return h
}

// end lets the update end, and returns its error.
func (h runningUpdate) end(t *testing.T) error {
	t.Helper()
	h.release()
	return receive(t, "the end of an update", h.done)
}

// saveNext adds an item to a list, and begins the list if there is none.
func saveNext(ctx context.Context, tx board.Tx, id, text string) error {
	next, err := tx.Load(ctx, id, 0)
	if errors.Is(err, board.ErrNotFound) {
		next, err = list(id, "x", 0), nil
	}
	if err != nil {
		return err
	}
	next.Items = slices.Clone(next.Items)
	next.Revision++
	next.Items = append(next.Items, todo.Item{ID: fmt.Sprint(len(next.Items) + 1), Text: text, Status: todo.Pending})
	_, err = tx.Save(ctx, next)
	return err
}

// ordered tests that updates of one key run in the order in which they were called
// (V8).
func ordered(t *testing.T, s board.Store) {
	const n = 6
	key := board.Key{Chat: "x"}
	hold := startUpdate(t, s, key, saveHeld)
	done := make(chan error, n)
	want := []string{"first"}
	for i := range n {
		text := fmt.Sprint("update ", i)
		want = append(want, text)
		go func() {
			done <- s.Update(context.Background(), key, func(tx board.Tx) error { return saveNext(context.Background(), tx, "held", text) })
		}()
		time.Sleep(arrival)
	}
	if err := hold.end(t); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := receive(t, "an update", done); err != nil {
			t.Error(err)
		}
	}
	var got []string
	for _, item := range checktest.Must(s.Load(t.Context(), "held", 0))(t).Items {
		got = append(got, item.Text)
	}
	checkEqual(t, "order of updates", want, got)
}

// waiting tests that an update whose context ends while it waits is not run, returns soon, and leaves its place to the
// next update.
func waiting(t *testing.T, s board.Store) {
	key := board.Key{Chat: "x"}
	hold := startUpdate(t, s, key, saveHeld)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone, later := make(chan error, 1), make(chan error, 1)
	go func() {
		gone <- s.Update(ctx, key, func(board.Tx) error {
			t.Error("an update runs though its caller has gone")
			return nil
		})
	}()
	time.Sleep(arrival)
	go func() {
		later <- s.Update(context.Background(), key, func(tx board.Tx) error { return saveNext(context.Background(), tx, "held", "later") })
	}()
	cancel()
	if err := receive(t, "the update whose caller has gone", gone); !errors.Is(err, context.Canceled) || errors.Is(err, board.ErrUnknownOutcome) {
		t.Errorf("its caller has gone: %v", err)
	}
	if err := hold.end(t); err != nil {
		t.Error(err)
	}
	if err := receive(t, "the next update", later); err != nil {
		t.Error(err)
	}
	if got := checktest.Must(s.Load(t.Context(), "held", 0))(t); got.Revision != 2 {
		t.Errorf("revision %d", got.Revision)
	}
}

// checkTx tests that a transaction, which may read from the store's memory, reads the same as the store.
func checkTx(t testing.TB, s board.Store, lists []string, keys ...board.Key) {
	t.Helper()
	type answer struct {
		Value any
		Found bool
	}
	read := func(from board.Reader) (answers map[string]answer, err error) {
		answers = map[string]answer{}
		note := func(what string, value any, failed error) {
			answers[what] = answer{value, failed == nil}
			if failed != nil && !errors.Is(failed, board.ErrNotFound) {
				err = failed
			}
		}
		for _, id := range lists {
			newest, err := from.Load(t.Context(), id, 0)
			note("newest of "+id, newest, err)
			older, err := from.Load(t.Context(), id, newest.Revision-1)
			note("one before of "+id, older, err)
			revisions, err := from.History(t.Context(), id, 0, 0)
			note("history of "+id, revisions, err)
			on, err := from.SeenOn(t.Context(), "", id)
			note("seen of "+id, sorted(on), err)
		}
		for _, key := range keys {
			known, err := from.Seen(t.Context(), key)
			note(fmt.Sprint("seen by ", key), known, err)
		}
		for _, key := range append(keys, board.Key{Chat: "none"}) {
			known, err := from.Chat(t.Context(), key.Chat)
			note(fmt.Sprint("chat of ", key), known, err)
		}
		all, err := from.Chats(t.Context(), board.ChatQuery{})
		note("chats", all, err)
		chat, err := from.Keyed(t.Context(), muchKey)
		note("chat by its key", chat, err)
		found, err := from.Find(t.Context(), board.Query{Deleted: true})
		note("lists", found, err)
		return answers, err
	}
	stored, err := read(s)
	if err != nil {
		t.Error(err)
	}
	var known map[string]answer
	mustUpdate(t, s, board.Key{Chat: "check"}, func(tx board.Tx) (err error) {
		known, err = read(tx)
		return err
	})
	checkEqual(t, "read in a transaction", stored, known, equateEmpty)
}

// sorted orders what chats have seen, since reads may return it in any order.
func sorted(seen []board.Seen) []board.Seen {
	return slices.SortedFunc(slices.Values(seen), func(a, b board.Seen) int {
		return cmp.Or(cmp.Compare(a.Chat, b.Chat), cmp.Compare(b.Held, a.Held), cmp.Compare(a.List, b.List))
	})
}
