package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"todo-mcp/internal/todo"
)

// beginOnce tests that only one of many concurrent saves begins the list of a
// conversation that held none; the others get a conflict.
func beginOnce(t *testing.T, s todo.Store) {
	const n = 16
	var all sync.WaitGroup
	won := make(chan string, n)
	for i := range n {
		all.Go(func() {
			id := fmt.Sprint("l", i)
			_, err := s.Save(context.Background(), list(id, "x", 1), holds("c", "", ""))
			var conflict *todo.ConflictError
			switch {
			case err == nil:
				won <- id
			case !errors.As(err, &conflict):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Errorf("%d lists began in one conversation", len(won))
	}
}

// linearizable tests that concurrent writers lose none of their increments, and
// that nobody reads an older revision after a newer one.
func linearizable(t *testing.T, s todo.Store) {
	const writers, each = 8, 25
	mustSave(t, s, list("a", "x", 1))
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			seen := int64(0)
			for added := 0; added < each; {
				now, err := s.Load(context.Background(), "a", 0)
				if err != nil || now.Revision < seen {
					t.Errorf("read revision %d after %d: %v", now.Revision, seen, err)
					return
				}
				seen = now.Revision
				now.Revision++
				now.LastID++
				saved, err := s.Save(context.Background(), now)
				var conflict *todo.ConflictError
				switch {
				case err == nil:
					added++
					seen = saved.Revision
				case !errors.As(err, &conflict):
					t.Error(err)
					return
				case conflict.Current.Revision < seen+1:
					t.Errorf("conflict with revision %d after reading %d", conflict.Current.Revision, seen)
				}
			}
		})
	}
	all.Wait()
	got, err := s.History(t.Context(), "a", 0, 0)
	if err != nil || len(got) != 1+writers*each {
		t.Fatalf("%d revisions, %v", len(got), err)
	}
	for i, r := range got {
		if r.Revision != int64(i+1) || r.LastID != i+1 {
			t.Fatalf("revision %d counts %d at place %d", r.Revision, r.LastID, i)
		}
	}
}

func cancelled(t *testing.T, s todo.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, saveErr := s.Save(ctx, list("a", "x", 1))
	_, loadErr := s.Load(ctx, "a", 0)
	_, findErr := s.Find(ctx, todo.Query{})
	_, historyErr := s.History(ctx, "a", 0, 0)
	for name, err := range map[string]error{"save": saveErr, "load": loadErr, "find": findErr, "history": historyErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Load(t.Context(), "a", 0); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("a cancelled save was applied: %v", err)
	}
	// A save cancelled at any moment is applied completely or not at all. Its
	// error shows which, unless it wraps ErrUnknownOutcome.
	for n := int64(1); n <= 40; {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := s.Save(ctx, list("b", "x", n))
		now, loadErr := s.Load(t.Context(), "b", 0)
		if loadErr != nil && !errors.Is(loadErr, todo.ErrNotFound) {
			t.Fatal(loadErr)
		}
		if err == nil && now.Revision != n || err != nil && !errors.Is(err, todo.ErrUnknownOutcome) && now.Revision != n-1 {
			t.Fatalf("save of revision %d returned %v, the store is at %d", n, err, now.Revision)
		}
		n = now.Revision + 1
		if err != nil {
			mustSave(t, s, list("b", "x", n))
			n++
		}
	}
}
