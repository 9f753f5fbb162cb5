package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// timeout is how long a test waits for events that should come at once.
const timeout = 10 * time.Second

// receive returns the next value of a channel. The test fails if none comes within timeout.
func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(timeout):
		t.Fatalf("%s: nothing within %s", what, timeout)
	}
	return v
}

// notify sends to a channel that holds one value, unless the channel is full.
func notify(slot chan<- struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}

// checkRefused tests that each call of a store returns the error in want, and that no function of an update runs.
func checkRefused(t *testing.T, ctx context.Context, s board.Store, want error) {
	t.Helper()
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"update": s.Update(ctx, board.Key{}, func(board.Tx) error {
			t.Error("an update runs")
			return nil
		}),
		"load":     second(s.Load(ctx, "a", 0)),
		"find":     second(s.Find(ctx, board.Query{})),
		"history":  second(s.History(ctx, "a", 0, 0)),
		"seen":     second(s.Seen(ctx, board.Key{})),
		"seen of":  second(s.SeenOn(ctx, "", "a")),
		"position": second(s.Position(ctx)),
		"chat":     second(s.Chat(ctx, "a")),
		"chats":    second(s.Chats(ctx, board.ChatQuery{})),
		"key":      second(s.Keyed(ctx, board.ChatKey{})),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func closed(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "x", 1))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	checkRefused(t, t.Context(), s, board.ErrClosed)
	if err := s.Watch(t.Context(), func() {}); !errors.Is(err, board.ErrClosed) {
		t.Errorf("watch after close: %v", err)
	}
}

// closedWhileWatched tests that Close ends a watch with [board.ErrClosed]. A watch ends without an error only when its
// context ends.
func closedWhileWatched(t *testing.T, s board.Store) {
	began := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(context.Background(), func() { notify(began) })
	}()
	for n, hinted := int64(1), false; !hinted; n++ {
		mustSave(t, s, list("a", "x", n))
		select {
		case <-began:
			hinted = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, "the end of the watch", done); !errors.Is(err, board.ErrClosed) {
		t.Errorf("watch ended with %v", err)
	}
}

// closedWhileSaving tests that saves concurrent with Close return, either applied or with [board.ErrClosed].
func closedWhileSaving(t *testing.T, open Open) {
	for range 5 {
		s := open(t)
		done := make(chan error, 8)
		for i := range cap(done) {
			go func() {
				_, err := Save(context.Background(), s, list(fmt.Sprint("l", i), "x", 1))
				done <- err
			}()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range cap(done) {
			if err := receive(t, "a save's answer", done); err != nil && !errors.Is(err, board.ErrClosed) {
				t.Errorf("save during close: %v", err)
			}
		}
	}
}

// closedWhileUpdating tests that Close waits for a running update, which succeeds, and that an update that waits behind
// it ends, applied or with [board.ErrClosed].
func closedWhileUpdating(t *testing.T, s board.Store) {
	hold := startUpdate(t, s, board.Key{Chat: "x"}, saveHeld)
	second, closing := make(chan error, 1), make(chan error, 1)
	go func() {
		second <- s.Update(context.Background(), board.Key{Chat: "x"}, func(board.Tx) error { return nil })
	}()
	time.Sleep(arrival)
	go func() { closing <- s.Close() }()
	select {
	case err := <-closing:
		t.Errorf("closed while an update runs: %v", err)
		closing <- err
	case <-time.After(arrival):
	}
	if err := hold.end(t); err != nil {
		t.Errorf("an update that ran as the store was closed: %v", err)
	}
	if err := receive(t, "the end of Close", closing); err != nil {
		t.Error(err)
	}
	if err := receive(t, "the update that waited", second); err != nil && !errors.Is(err, board.ErrClosed) {
		t.Errorf("an update that waited as the store was closed: %v", err)
	}
}

// manyWatchers tests that each of many watchers is hinted, and that reads still work.
func manyWatchers(t *testing.T, s board.Store) {
	const n = 20
	for i := range n {
		hinted := make(chan struct{}, 1)
		stop := startWatch(t, s, fmt.Sprint("watched", i), func() { notify(hinted) })
		defer stop()
		receive(t, "a hint", hinted)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; { // several polls
		if _, err := s.Load(ctx, "watched0", 0); err != nil {
			t.Fatalf("read with %d watchers: %v", n, err)
		}
	}
}

// cancelledReads tests that the store still works after reads were cancelled at
// any moment.
func cancelledReads(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "x", 1))
	for n := range int64(40) {
		mustSave(t, s, list("b", "x", n+1))
	}
	done := make(chan error, 200)
	for range cap(done) {
		go func() {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			_, err := s.History(ctx, "b", 0, 0)
			done <- err
		}()
	}
	for range cap(done) {
		if err := receive(t, "a read's answer", done); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled read: %v", err)
		}
	}
	for range 20 {
		if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 1 {
			t.Fatalf("read afterwards: %v, %v", got, err)
		}
	}
}
