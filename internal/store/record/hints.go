package record

import (
	"context"
	"fmt"
	"sync"

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

// Relay calls hint for each hint in a slot. It returns nil when ctx ends or a value
// comes from until, and [todo.ErrClosed] when the store is closed.
func Relay[T any](ctx context.Context, slot <-chan struct{}, until <-chan T, closed <-chan struct{}, hint func()) error {
	for {
		select {
		case <-slot:
			hint()
		case <-until:
			return nil
		case <-ctx.Done():
			return nil
		case <-closed:
			return fmt.Errorf("watch store: %w", todo.ErrClosed)
		}
	}
}
