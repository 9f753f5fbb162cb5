package tables_test

import (
	"context"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// A watch that begins while hints are sent ends when it should.
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
	for n := range 20_000 {
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
