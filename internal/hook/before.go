package hook

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// Before returns a store with the spool in front of it: before anything is read or changed,
// what hooks left there is applied. So it is as if a hook had done that itself, at the time
// when it was told. Watching the store tells of what is left, too, see the store.
func (s Spool) Before(st board.Store) board.Store {
	if s.Folder == "" {
		return st
	}
	return &fronted{Store: st, spool: s}
}

// fronted is a store with a spool in front of it.
type fronted struct {
	board.Store
	spool Spool
	// empty is when the folder had been changed last as nothing was found in it, in Unix
	// nanoseconds.
	empty atomic.Int64

	mu    sync.Mutex
	again time.Time // after a failure nothing is tried before
}

const (
	// settleTimeout is how long a read or a change waits for what was left: then it goes on
	// without that.
	settleTimeout = time.Second
	// settleAgain is after which time that is tried again after a failure.
	settleAgain = 3 * time.Second
	// tick is how long a folder may have the same time though it was changed: file systems
	// have a clock of their own.
	tick = 50 * time.Millisecond
)

// settle applies what was left.
func (f *fronted) settle(ctx context.Context) {
	folder, err := os.Stat(f.spool.Folder)
	if err != nil || folder.ModTime().UnixNano() == f.empty.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Before(f.again) {
		return
	}
	if len(f.spool.ids()) == 0 {
		if now.Sub(folder.ModTime()) > tick {
			f.empty.Store(folder.ModTime().UnixNano())
		}
		return
	}
	// Who asked may be gone: others ask, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := f.spool.Drain(ctx, f.Store); err != nil {
		f.again = now.Add(settleAgain)
		f.spool.Log(err)
	}
}

// Unwrap returns the store behind the spool.
func (f *fronted) Unwrap() board.Store { return f.Store }

func (f *fronted) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	f.settle(ctx)
	return f.Store.Load(ctx, list, revision)
}

func (f *fronted) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	f.settle(ctx)
	return f.Store.Find(ctx, q)
}

func (f *fronted) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	f.settle(ctx)
	return f.Store.History(ctx, list, after, limit)
}

func (f *fronted) Cursors(ctx context.Context, of board.Key) ([]board.Cursor, error) {
	f.settle(ctx)
	return f.Store.Cursors(ctx, of)
}

func (f *fronted) CursorsOn(ctx context.Context, principal, list string) ([]board.Cursor, error) {
	f.settle(ctx)
	return f.Store.CursorsOn(ctx, principal, list)
}

func (f *fronted) HostCall(ctx context.Context, of board.HostCallKey) (board.HostCall, error) {
	f.settle(ctx)
	return f.Store.HostCall(ctx, of)
}

func (f *fronted) Position(ctx context.Context) (int64, error) {
	f.settle(ctx)
	return f.Store.Position(ctx)
}

func (f *fronted) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	f.settle(ctx)
	return f.Store.Update(ctx, key, change)
}
