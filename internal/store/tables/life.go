package tables

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Life tracks a store from its opening to its end, with its running calls and its watchers.
type Life struct {
	Open context.Context // ends when the store is closed
	Work sync.WaitGroup  // running calls, and the work that the store does by itself

	end    context.CancelFunc
	before func(context.Context)
	mu     sync.Mutex // held while Enter adds to Work, and while Open ends
	slots  sync.Map   // a channel of each watcher, with room for one hint: a slow watcher gets one for many saves
}

// NewLife returns the life of a store. Each call of Enter first calls the given function, unless that is nil.
func NewLife(before func(context.Context)) *Life {
	l := &Life{before: before}
	l.Open, l.end = context.WithCancel(context.Background())
	return l
}

// Enter registers a call, which must end with Work.Done. After End it returns [board.ErrClosed].
func (l *Life) Enter(ctx context.Context) error {
	if l.before != nil {
		l.before(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Open.Err() != nil {
		return board.ErrClosed
	}
	l.Work.Add(1)
	return nil
}

// End ends Open. After that, Enter adds no call to Work.
func (l *Life) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

// Hint hints every watcher that has no hint waiting already.
func (l *Life) Hint() {
	for slot := range l.slots.Range {
		board.Signal(slot.(chan struct{}))
	}
}

// hintAnyway is how often Watch hints without a reason. It bounds how late a watcher sees a change whose hint was lost.
// BAD-INPUT 56 allows 5 s; the other 2 s are for a slow machine.
const hintAnyway = 3 * time.Second

// Watch calls hint at once, after each [Life.Hint], after each value from the channel told, and every hintAnyway. After
// each hint it calls its last parameter, which returns nil or a channel whose first value causes one more hint. The
// argument of this call is true if the last hint came from such a channel or from hintAnyway. Watch returns
// [board.ErrClosed] after End, or nil when ctx ends.
func (l *Life) Watch(ctx context.Context, hint func(), told <-chan struct{}, again func(waited bool) <-chan time.Time) error {
	if err := l.Enter(ctx); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer l.Work.Done()
	slot := make(chan struct{}, 1)
	l.slots.Store(slot, true)
	defer l.slots.Delete(slot)
	anyway := time.NewTicker(hintAnyway)
	defer anyway.Stop()
	for waited := false; ctx.Err() == nil; {
		hint()
		wait := again(waited)
		waited = false
		select {
		case <-slot:
		case <-told:
		case <-wait:
			waited = true
		case <-anyway.C:
			waited = true
		case <-l.Open.Done():
			return fmt.Errorf("watch store: %w", board.ErrClosed)
		case <-ctx.Done():
		}
	}
	return nil
}
