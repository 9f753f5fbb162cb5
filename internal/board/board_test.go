package board_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func add(texts ...string) todo.Change {
	return func(d *todo.Draft) error { d.Append(texts...); return nil }
}

func target(conversation string) board.Target {
	return board.Target{Conversation: board.Conversation{Key: conversation}}
}

// BAD-INPUT 44: A repeated operation id → [Repeats](variants.md#what-every-answer-adds)
func TestBoardOperations(t *testing.T) {
	b := newBoard(t, storetest.NewMemory())
	w := board.Write{Target: target("a"), Operation: todo.Operation{ID: "op", Digest: "x"}, Change: add("A")}
	first := apply(t, b, w)
	apply(t, b, board.Write{Target: target("a"), Change: add("B")})
	again, err := b.As("").Apply(t.Context(), w)
	if err != nil || !again.Repeated || again.After.Revision != first.After.Revision || len(again.After.Items) != 1 || again.After.List.ID != first.After.List.ID {
		t.Errorf("repeat: %+v, %v", again, err)
	}
	w.Operation.Digest = "y"
	checktest.Is(t, "reuse", checktest.Err(b.As("").Apply(t.Context(), w)), board.ErrOperationReused)
	w.Operation.Digest = "x"
	checktest.Is(t, "reuse by another principal", checktest.Err(b.As("somebody").Apply(t.Context(), w)), board.ErrOperationReused)
}

// unknownOutcomeStore makes all updates. It returns ErrUnknownOutcome for the first n
// of them, and for later ones the error in the field "then", unless that is nil.
type unknownOutcomeStore struct {
	board.Store
	n    int
	then error
}

func (s *unknownOutcomeStore) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	err := s.Store.Update(ctx, key, change)
	if s.n--; s.n >= 0 && err == nil {
		return fmt.Errorf("commit: %w", board.ErrUnknownOutcome)
	}
	if err == nil && s.then != nil {
		return s.then
	}
	return err
}

// A write whose outcome is unknown is repeated once. If the repeat fails, the outcome of
// the first try, which may have been applied, stays unknown.
func TestBoardResolvesUnknownOutcomes(t *testing.T) {
	full := errors.New("disk full")
	for _, c := range []struct {
		unknown int
		then    error
		want    []error
	}{
		{1, nil, nil},
		{9, nil, []error{board.ErrUnknownOutcome}},
		{1, full, []error{board.ErrUnknownOutcome, full}},
	} {
		b := newBoard(t, &unknownOutcomeStore{storetest.NewMemory(), c.unknown, c.then})
		out, err := b.As("").Apply(t.Context(), board.Write{Target: target("a"), Change: add("A")})
		if c.want == nil && (err != nil || out.After.Revision != 1 || len(out.After.Items) != 1) {
			t.Errorf("%+v, %v", out.After, err)
		}
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%d unknown outcomes: %v, want %v", c.unknown, err, want)
			}
		}
	}
}

// A watcher that does not read keeps only the newest snapshot of each list. Next returns ErrClosed once the watcher or
// its board is closed.
func TestWatcherSkipsToTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t, storetest.NewMemory())
		w := b.As("").Watch(func(s todo.Snapshot) bool { return s.List.Conversation != todo.ChatID("", "", "unwanted", false) })
		for i := range 100 {
			for _, c := range []string{"a", "b", "unwanted"} {
				apply(t, b, board.Write{Target: target(c), Change: add(fmt.Sprint(i))})
			}
		}
		synctest.Wait()
		got, err := w.Next(t.Context())
		if err != nil || len(got) != 2 || got[0].Revision != 100 || got[1].Revision != 100 {
			t.Errorf("got %d snapshots, %v", len(got), err)
		}
		open := b.As("").Watch(nil)
		w.Close()
		b.Close()
		for _, closed := range []*board.Follower{w, w, open, b.As("").Watch(nil)} {
			checktest.Is(t, "closed", checktest.Err(closed.Next(t.Context())), board.ErrClosed)
		}
	})
}

// Each error has one kind, however it is wrapped. If the write may have been saved, its error is no refusal.
func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		err     error
		kind    board.Kind
		refusal bool
	}{
		{nil, board.KindNone, false},
		{fmt.Errorf("%w (%w)", board.ErrUnknownOutcome, board.ErrNotFound), board.KindUnknown, false},
		{&todo.InputError{}, board.KindInvalid, true},
		{board.ErrNotFound, board.KindMissing, true},
		{todo.ErrItemGone, board.KindItemGone, true},
		{board.ErrOperationReused, board.KindReused, true},
		{todo.ErrMirrored, board.KindMirrored, true},
		{board.ErrReadOnly, board.KindReadOnly, true},
		{&board.FullError{Err: board.ErrTooManyLists}, board.KindFull, true},
		{&board.FullError{Err: board.ErrStoreFull}, board.KindFull, true},
		{context.Canceled, board.KindCancelled, false},
		{context.DeadlineExceeded, board.KindLate, false},
		{errors.Join(board.ErrCorrupt, board.ErrClosed), board.KindFailed, false},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("write list: %w", err)
		}
		if kind := board.KindOf(err); kind != c.kind || board.IsRefusal(err) != c.refusal {
			t.Errorf("%v: %s, refusal %v", err, kind, board.IsRefusal(err))
		}
	}
}

// W2, V4: a follower receives each call of its process once, and each call of another process
// that made a revision, even if the caller set the operation's id.
func TestCallsAreFollowedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here, there := newBoard(t, store), newBoard(t, store)
		calls := here.As("").Calls()
		defer calls.Close()
		other := here.As("somebody").Calls()
		defer other.Close()
		nothing := func(*todo.Draft) error { return nil }
		for n, w := range []struct {
			board  *board.Board
			change todo.Change
			op     todo.Operation
		}{
			{here, add("A"), todo.Operation{}},
			{here, add("B"), todo.Operation{ID: "op-1", Digest: "x"}},
			{here, nothing, todo.Operation{}},
			{there, add("C"), todo.Operation{ID: "op-2", Digest: "x"}},
			{there, nothing, todo.Operation{}}, // only followers in its own process receive it
			{here, add("D"), todo.Operation{}},
		} {
			out := apply(t, w.board, board.Write{Target: target("a"), Change: w.change, Operation: w.op})
			if w.board == there && !out.Changed {
				continue
			}
			came, err := calls.Next(t.Context())
			if err != nil || len(came) != 1 || (came[0].Call == "") != out.Changed ||
				came[0].Revision != out.After.Revision || came[0].Writer.Process != out.After.Writer.Process {
				t.Errorf("call %d is followed as %+v, %v", n, came, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if came, err := calls.Next(ctx); err == nil {
			t.Errorf("revision %d is followed twice", came[0].Revision)
		}
		if here.Process() == there.Process() {
			t.Error("two boards have the same process id")
		}
	})
}

type unreadableStore struct {
	board.Store
	broken    atomic.Bool
	positions atomic.Int64 // how often Position was called
}

func (s *unreadableStore) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	if s.broken.Load() {
		return nil, errors.New("unreadable")
	}
	return s.Store.Find(ctx, q)
}

func (s *unreadableStore) Position(ctx context.Context) (int64, error) {
	s.positions.Add(1)
	if s.broken.Load() {
		return 0, errors.New("unreadable")
	}
	return s.Store.Position(ctx)
}

// W2: a follower of calls receives no call made before it began, even if the store could not be
// read at that moment. A follower of revisions receives revisions that it may have missed.
func TestCallsAreNotReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unreadableStore{Store: storetest.NewMemory()}
		here, there := newBoard(t, store), newBoard(t, store)
		write := func(conversation, text string) {
			t.Helper()
			apply(t, there, board.Write{Target: target(conversation), Change: add(text)})
		}
		write("a", "old")
		store.broken.Store(true)
		calls := here.As("").Calls()
		defer calls.Close()
		synctest.Wait() // until the feed's first read of the store has failed
		asked := store.positions.Load()
		watch := here.As("").Watch(nil)
		defer watch.Close()
		if store.positions.Load() > asked {
			t.Error("a follower beside another one waits for the store")
		}
		store.broken.Store(false)
		checktest.Same(t, "the watcher has", len(checktest.Must(watch.Next(t.Context()))(t)), 1)
		write("b", "new")
		checktest.Same(t, "W2: the first call is", checktest.Must(calls.Next(t.Context()))(t)[0].Items[0].Text, "new")
	})
}

// A follower that does not read loses its oldest calls and delays nobody, and
// Next returns ErrClosed after Close.
func TestSlowFollowerLosesTheOldestCalls(t *testing.T) {
	b := newBoard(t, storetest.NewMemory())
	calls := b.As("").Calls()
	const writes = 300
	for n := range writes {
		apply(t, b, board.Write{Target: target("a"), Change: add(fmt.Sprint(n))})
	}
	came, err := calls.Next(t.Context())
	if err != nil || came[0].Revision <= 1 || came[len(came)-1].Revision != writes {
		t.Fatalf("the calls kept are %+v, %v", came, err)
	}
	calls.Close()
	checktest.Is(t, "closed", checktest.Err(calls.Next(t.Context())), board.ErrClosed)
}
