package tables

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Hints are the watchers of one store. Each has one slot for a hint: a slow watcher gets one hint for many saves.
type Hints struct{ slots sync.Map }

// Send hints every watcher that has no hint waiting already.
func (h *Hints) Send() {
	for slot := range h.slots.Range {
		board.Signal(slot.(chan struct{}))
	}
}

// Watch calls hint at once and after each Send. It calls look a time settle after it began and, if settle > 0, after
// each hint; whenever told receives; and after the time that the last look returned (0: none). It returns look's error,
// [board.ErrClosed] after closed, or nil when ctx ends.
func (h *Hints) Watch(ctx context.Context, closed <-chan struct{}, hint func(), settle time.Duration, told <-chan struct{},
	look func() (again time.Duration, err error)) error {
	slot := make(chan struct{}, 1)
	h.slots.Store(slot, true)
	defer h.slots.Delete(slot)
	again := time.NewTimer(settle)
	defer again.Stop()
	hint()
	for ctx.Err() == nil {
		select {
		case <-slot:
			if hint(); settle > 0 {
				again.Reset(settle)
			}
			continue
		case <-again.C:
		case <-told:
		case <-closed:
			return fmt.Errorf("watch store: %w", board.ErrClosed)
		case <-ctx.Done():
			return nil
		}
		next, err := look()
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch store: %w", err)
		}
		again.Stop()
		if next > 0 {
			again.Reset(next)
		}
	}
	return nil
}
