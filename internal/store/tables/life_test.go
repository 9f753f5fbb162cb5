package tables_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// A watch that begins during concurrent hints returns when its context ends.
func TestWatchBeginsAmongHints(t *testing.T) {
	l := tables.NewLife(nil)
	sending, stop := context.WithCancel(t.Context())
	defer stop()
	for range 4 {
		go func() {
			for sending.Err() == nil {
				l.Hint()
			}
		}()
	}
	for n := range 5_000 {
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Watch(ctx, end, nil, func(bool) <-chan time.Time { return nil }) }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("watch %d does not end", n)
		}
	}
}

// BAD-INPUT 56: after a lost hint, a watcher is hinted within five seconds.
func TestWatchHintsAnyway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		began, hints := time.Now(), 0
		err := tables.NewLife(nil).Watch(ctx, func() {
			if hints++; hints == 3 {
				end()
			}
		}, nil, func(bool) <-chan time.Time { return nil })
		if took := time.Since(began); err != nil || took > 2*5*time.Second {
			t.Errorf("BAD-INPUT 56: two more hints came after %s, %v", took, err)
		}
	})
}
