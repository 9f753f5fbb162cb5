package board_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func add(texts ...string) todo.Change {
	return func(d *todo.Draft) error { d.Append(texts...); return nil }
}

// target returns the target of a call that means the list of a conversation.
func target(conversation string) board.Target {
	return board.Target{Conversation: board.Conversation{Key: conversation}}
}

// BAD-INPUT 51
func TestBoardsShareAConversation(t *testing.T) {
	store := memory.New()
	var all sync.WaitGroup
	const n = 20
	for p := range n {
		b := newBoard(t, store)
		all.Go(func() {
			if _, err := b.As("").Apply(t.Context(), board.Write{Target: target("a"), Change: add(fmt.Sprint(p))}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	lists, err := store.Find(t.Context(), board.Query{})
	if err != nil || len(lists) != 1 || len(lists[0].Items) != n || lists[0].Revision != n {
		t.Errorf("71: %d lists, %v", len(lists), err)
	}
}

// BAD-INPUT 44: A repeated operation id → [Repeats](variants.md#what-every-answer-adds)
func TestBoardOperations(t *testing.T) {
	b := newBoard(t, memory.New())
	w := board.Write{Target: target("a"), Operation: todo.Operation{ID: "op", Digest: "x"}, Change: add("A")}
	first := apply(t, b, w)
	apply(t, b, board.Write{Target: target("a"), Change: add("B")})
	again, err := b.As("").Apply(t.Context(), w)
	if err != nil || !again.Repeated || again.After.Revision != first.After.Revision || len(again.After.Items) != 1 || again.After.List.ID != first.After.List.ID {
		t.Errorf("repeat: %+v, %v", again, err)
	}
	w.Operation.Digest = "y"
	if _, err := b.As("").Apply(t.Context(), w); !errors.Is(err, board.ErrOperationReused) {
		t.Errorf("reuse: %v", err)
	}
	w.Operation.Digest = "x"
	if _, err := b.As("somebody").Apply(t.Context(), w); !errors.Is(err, board.ErrOperationReused) {
		t.Errorf("reuse by another principal: %v", err)
	}
}

// unknownOutcomeStore updates, but returns ErrUnknownOutcome for its first n
// updates. Then it returns then, if that is not nil.
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

// A write whose outcome is unknown is repeated once. A repeat that is refused says
// nothing of the first try, which may have been applied.
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
		b := newBoard(t, &unknownOutcomeStore{memory.New(), c.unknown, c.then})
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

// V4: a write that changes nothing makes no revision and no event.
func TestBoardNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t, memory.New())
		same := func(d *todo.Draft) error { d.Replace(todo.CoreView(), todo.CoreView().Lines(d.Items())); return nil }
		out, err := b.As("").Apply(t.Context(), board.Write{Target: target("a"), Change: same})
		if err != nil || out.Changed || out.After.Revision != 0 {
			t.Errorf("without a list: %+v, %v", out, err)
		}
		b.As("").Apply(t.Context(), board.Write{Target: target("a"), Change: add("A")})
		w := b.As("").Watch(nil)
		defer w.Close()
		if out, err = b.As("").Apply(t.Context(), board.Write{Target: target("a"), Change: same}); err != nil || out.Changed || out.After.Revision != 1 {
			t.Errorf("V4: %+v, %v", out, err)
		}
		b.As("").Apply(t.Context(), board.Write{Target: target("a"), Change: add("B")})
		if got, err := w.Next(t.Context()); err != nil || len(got) != 1 || got[0].Revision != 2 {
			t.Errorf("V4: the first event is %v, %v", got, err)
		}
	})
}

// For a watcher that does not read, only the newest snapshot of each list
// waits.
func TestWatcherSkipsToTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t, memory.New())
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
		w.Close()
		for range 2 {
			if _, err := w.Next(t.Context()); !errors.Is(err, board.ErrClosed) {
				t.Errorf("closed: %v", err)
			}
		}
	})
}

// hintlessStore never hints.
type hintlessStore struct{ board.Store }

func (hintlessStore) Watch(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }

// BAD-INPUT 56: after a lost hint the change arrives within five seconds.
func TestWatcherRecoversFromLostHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t, hintlessStore{memory.New()})
		w := b.As("").Watch(nil)
		defer w.Close()
		b.As("").Apply(t.Context(), board.Write{Target: target("a"), Change: add("A")})
		began := time.Now()
		if got, err := w.Next(t.Context()); err != nil || len(got) != 1 {
			t.Error(got, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("BAD-INPUT 56: the change arrived after %s", took)
		}
	})
}

func TestBoardCloseEndsWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := board.NewBoard(memory.New())
		w := b.As("").Watch(nil)
		b.Close()
		if _, err := w.Next(t.Context()); !errors.Is(err, board.ErrClosed) {
			t.Errorf("error = %v", err)
		}
		if _, err := b.As("").Watch(nil).Next(t.Context()); !errors.Is(err, board.ErrClosed) {
			t.Errorf("a watcher of a closed board: %v", err)
		}
	})
}

// Each error has one kind, however it is wrapped, and a write that may have been saved
// is no refusal.
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
