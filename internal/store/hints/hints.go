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
	slots sync.Map // of chan struct{}
}

// Add adds a watcher and returns its slot, until it is removed.
func (h *Hints) Add() (slot chan struct{}, remove func()) {
	slot = make(chan struct{}, 1)
	h.slots.Store(slot, true)
	return slot, func() { h.slots.Delete(slot) }
}

// Send hints every watcher that has no hint waiting already.
func (h *Hints) Send() {
	for slot := range h.slots.Range {
		select {
		case slot.(chan struct{}) <- struct{}{}:
		default:
		}
	}
}

// pollEvery is how often a watch polls for what nobody sends hints of.
const pollEvery = 50 * time.Millisecond

// Watch adds a watcher and calls hint at once, and then for each hint that is sent.
// poll, unless it is nil, is called every 50 ms, and calls hint when there is something
// new. Watch returns nil when ctx ends, [todo.ErrClosed] when closed is closed, and the
// error of poll.
func (h *Hints) Watch(ctx context.Context, closed <-chan struct{}, hint func(), poll func() error) error {
	slot, remove := h.Add()
	defer remove()
	var tick <-chan time.Time
	if poll != nil {
		ticker := time.NewTicker(pollEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	hint()
	for ctx.Err() == nil {
		var err error
		select {
		case <-slot:
			hint()
		case <-tick:
			err = poll()
		case <-closed:
			err = todo.ErrClosed
		case <-ctx.Done():
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch store: %w", err)
		}
	}
	return nil
}
