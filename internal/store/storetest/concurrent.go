package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"todo-mcp/internal/todo"
)

// beginOnce: of many that begin an exclusive scope's list at once, one wins.
func beginOnce(t *testing.T, s todo.Store) {
	const n = 16
	var all sync.WaitGroup
	won := make(chan string, n)
	for i := range n {
		all.Go(func() {
			id := fmt.Sprint("l", i)
			_, err := s.Save(context.Background(), exclusive(id, "x"))
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
		t.Errorf("%d lists began in one exclusive scope", len(won))
	}
}

// linearizable: writers that each add to what they read lose no addition, and
// nobody reads backwards.
func linearizable(t *testing.T, s todo.Store) {
	const writers, each = 8, 25
	must(t, s, list("a", "x", 1))
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
					t.Errorf("lost to revision %d, having read %d", conflict.Current.Revision, seen)
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
	// Cancelling at any moment leaves a whole revision or none, and the answer
	// tells which unless it says that it cannot.
	for n := int64(1); n <= 40; {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := s.Save(ctx, list("b", "x", n))
		now, loadErr := s.Load(t.Context(), "b", 0)
		if loadErr != nil && !errors.Is(loadErr, todo.ErrNotFound) {
			t.Fatal(loadErr)
		}
		if err == nil && now.Revision != n || err != nil && !errors.Is(err, todo.ErrUnknownOutcome) && now.Revision != n-1 {
			t.Fatalf("save of revision %d said %v, the store is at %d", n, err, now.Revision)
		}
		n = now.Revision + 1
		if err != nil {
			must(t, s, list("b", "x", n))
			n++
		}
	}
}
