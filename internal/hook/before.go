package hook

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Front applies what hooks left in a spool as soon as somebody uses the store: so it is as if
// a hook had done that itself, at the time when it was told.
type Front struct {
	Spool
	// Store is what the events are applied to, whose Keep has Settle as its Before. While it
	// is nil, nothing is applied.
	Store board.Store

	mu    sync.Mutex
	stuck int64     // the size of the file of which nothing could be applied
	again time.Time // while it has that size, nothing is tried before
}

const (
	// settleTimeout is how long a read or a change waits for what was left: then it goes on
	// without that.
	settleTimeout = time.Second
	// settleAgain is after which time that is tried again of which nothing could be applied.
	settleAgain = 3 * time.Second
)

// Settle applies what was left. Who applies it uses the store, too: that does not wait.
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
	// Who asked may be gone: others ask, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := f.Drain(ctx, f.Store); err != nil {
		f.Log(err)
		if f.bytes() == size {
			f.stuck, f.again = size, time.Now().Add(settleAgain)
		}
	}
}

// draining marks the context of who applies what was left.
type draining struct{}
