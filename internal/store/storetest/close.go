package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// patience is how long a test waits for what should come at once.
const patience = 10 * time.Second

// receive waits for a value that must come.
func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
	return v
}

func closed(t *testing.T, s todo.Store) {
	must(t, s, list("a", "x", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	_, saveErr := s.Save(t.Context(), list("a", "x", 2))
	_, loadErr := s.Load(t.Context(), "a", 0)
	_, findErr := s.Find(t.Context(), todo.Query{})
	_, historyErr := s.History(t.Context(), "a", 0, 0)
	watchErr := s.Watch(t.Context(), func() {})
	announceErr := s.Announce(t.Context(), todo.Announcement{List: "a", Revision: 1})
	_, announcedErr := s.Announced(t.Context(), 0)
	for name, err := range map[string]error{"announce": announceErr, "announced": announcedErr, "save": saveErr, "load": loadErr, "find": findErr, "history": historyErr, "watch": watchErr} {
		if !errors.Is(err, todo.ErrClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
}

// closedWhileWatched: only the end of its context ends a watch without error.
func closedWhileWatched(t *testing.T, s todo.Store) {
	began := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(context.Background(), func() {
			select {
			case began <- struct{}{}:
			default:
			}
		})
	}()
	for n, hinted := int64(1), false; !hinted; n++ {
		must(t, s, list("a", "x", n))
		select {
		case <-began:
			hinted = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, "the end of the watch", done); !errors.Is(err, todo.ErrClosed) {
		t.Errorf("watch ended with %v", err)
	}
}

// closedWhileSaving: a save that meets Close ends, applied or refused.
func closedWhileSaving(t *testing.T, open Open) {
	for range 20 {
		s := open(t)
		done := make(chan error, 8)
		for i := range cap(done) {
			go func() {
				_, err := s.Save(context.Background(), list(fmt.Sprint("l", i), "x", 1))
				done <- err
			}()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range cap(done) {
			if err := receive(t, "a save's answer", done); err != nil && !errors.Is(err, todo.ErrClosed) {
				t.Errorf("save beside close: %v", err)
			}
		}
	}
}

// manyWatchers take nothing away from readers, and all are hinted.
func manyWatchers(t *testing.T, s todo.Store) {
	const n = 20
	for i := range n {
		hinted := make(chan struct{}, 1)
		stop := begin(t, s, fmt.Sprint("watched", i), func() {
			select {
			case hinted <- struct{}{}:
			default:
			}
		})
		defer stop()
		receive(t, "a hint", hinted)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; { // several polls
		if _, err := s.Load(ctx, "watched0", 0); err != nil {
			t.Fatalf("read beside %d watchers: %v", n, err)
		}
	}
}

// readsGivenUp at any moment leave the store as good as new.
func readsGivenUp(t *testing.T, s todo.Store) {
	must(t, s, list("a", "x", 1))
	for n := range int64(40) {
		must(t, s, list("b", "x", n+1))
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
			t.Errorf("a read given up: %v", err)
		}
	}
	for range 20 {
		if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 1 {
			t.Fatalf("read afterwards: %v, %v", got, err)
		}
	}
}
