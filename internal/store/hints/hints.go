// Package hints tells watchers of a store that there is something to read.
package hints

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Hints are the watchers of one store, each with one slot for a hint: who is slow gets
// one for many. The zero value has none.
type Hints struct {
	slots sync.Map // of chan struct{}
}

// Send hints every watcher that has no hint waiting already.
func (h *Hints) Send() {
	for slot := range h.slots.Range {
		board.Signal(slot.(chan struct{}))
	}
}

// Look looks for what nobody sends hints of: it calls the hint function when there is
// something new, and returns after which time to look again; 0 is only when told to.
type Look func() (again time.Duration, err error)

// Watch adds a watcher and calls hint at once, and then for each hint that is sent. look
// is called as long after the first hint as settle says, or after each if that is not 0, then
// whenever something comes from told, and when it says. Watch returns nil when ctx ends,
// [board.ErrClosed] when closed is closed, and the error of look.
func (h *Hints) Watch(ctx context.Context, closed <-chan struct{}, hint func(), settle time.Duration, told <-chan struct{}, look Look) error {
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
