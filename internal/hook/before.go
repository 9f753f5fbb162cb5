package hook

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Front applies the events of a spool before anybody reads or writes the store, each with the time
// when its hook was told of it.
type Front struct {
	Spool
	// Store is the store, whose Keep.Before is Settle. Nil applies nothing.
	Store board.Store

	mu    sync.Mutex
	stuck int64     // the size of the file when none of its events could be applied
	again time.Time // when to try again if it still has that size
}

const (
	// settleTimeout is how long a read or a write waits for the events; then it goes on without them.
	settleTimeout = time.Second
	settleAgain   = 3 * time.Second
)

// Settle applies the waiting events. Calls from within Drain, which uses the same store, return at once.
func (f *Front) Settle(ctx context.Context) {
	if f.Store == nil || ctx.Value(draining{}) != nil {
		return
	}
	if info, err := os.Lstat(f.File); err != nil || info.Size() <= emptySize {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	size := f.bytes()
	if size <= emptySize || size == f.stuck && time.Now().Before(f.again) {
		return
	}
	// Not canceled with its caller: other callers wait for the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := f.Drain(ctx, f.Store); err != nil {
		f.Log(err)
		if f.bytes() == size {
			f.stuck, f.again = size, time.Now().Add(settleAgain)
		}
	}
}

// draining is the key of a value in the contexts of [Spool.Drain].
type draining struct{}
