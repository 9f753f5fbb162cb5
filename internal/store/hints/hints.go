// Package hints tells watchers of a store that there is something to read.
package hints

import (
	"context"
	"fmt"
	"sync"
	"time"

	"todo-mcp/internal/todo"
)

// Hints are the watchers of one store, each with one slot for a hint: who is slow gets
// one for many. The zero value has none.
type Hints struct {
	mu    sync.Mutex
	slots map[chan struct{}]bool
}

// Add adds a watcher and returns its slot, until it is removed.
func (h *Hints) Add() (slot chan struct{}, remove func()) {
	slot = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.slots == nil {
		h.slots = make(map[chan struct{}]bool)
	}
	h.slots[slot] = true
	return slot, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.slots, slot)
	}
}

// Send hints every watcher that has no hint waiting already.
func (h *Hints) Send() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for slot := range h.slots {
		select {
		case slot <- struct{}{}:
		default:
		}
	}
}

// Watch adds a watcher and calls hint at once, then for each hint that is sent, and once
// more some time after it unless that is 0. It returns nil when ctx ends, and
// [todo.ErrClosed] when closed is closed.
func (h *Hints) Watch(ctx context.Context, closed <-chan struct{}, after time.Duration, hint func()) error {
	slot, remove := h.Add()
	defer remove()
	hint()
	var again <-chan time.Time
	for ctx.Err() == nil {
		select {
		case <-closed:
			return fmt.Errorf("watch store: %w", todo.ErrClosed)
		case <-slot:
			hint()
			if after > 0 {
				again = time.After(after)
			}
		case <-again:
			hint()
		case <-ctx.Done():
		}
	}
	return nil
}
