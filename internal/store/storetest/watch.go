package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// startWatch starts a watch and returns when it has begun: it saves to list id
// until the first hint comes.
func startWatch(t *testing.T, s board.Store, id string, hint func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, func() {
			notify(first)
			hint()
		})
	}()
	for n := int64(1); ; n++ {
		mustSave(t, s, list(id, "w", n))
		select {
		case <-first:
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Errorf("watch ended with %v", err)
				}
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hintAfterSave tests that a save can be read when its hint comes, and that a
// hint always follows the last save.
func hintAfterSave(t *testing.T, s board.Store) {
	var mu sync.Mutex
	var seen int64
	hinted := make(chan struct{}, 1)
	stop := startWatch(t, s, "watched", func() {
		now, err := s.Load(context.Background(), "a", 0)
		if err != nil && !errors.Is(err, board.ErrNotFound) {
			t.Error(err)
		}
		mu.Lock()
		if now.Revision < seen {
			t.Errorf("read revision %d after %d", now.Revision, seen)
		}
		seen = now.Revision
		mu.Unlock()
		notify(hinted)
	})
	defer stop()
	const last = 50
	for n := range int64(last) {
		mustSave(t, s, list("a", "x", n+1))
	}
	deadline := time.After(5 * time.Second)
	for {
		mu.Lock()
		now := seen
		mu.Unlock()
		if now == last {
			return
		}
		select {
		case <-hinted:
		case <-deadline:
			t.Fatalf("the last hint read revision %d of %d", now, last)
		}
	}
}
