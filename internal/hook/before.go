package hook

import (
	"context"
	"os"
	"sync"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// Before returns a store with the spool in front of it: before anything is read or changed,
// what hooks left there is applied. So it is as if a hook had done that itself, at the time
// when it was told. Watching the store tells of what is left, too, see the store.
func (s Spool) Before(st board.Store) board.Store {
	if s.File == "" {
		return st
	}
	return &fronted{Store: st, spool: s}
}

// fronted is a store with a spool in front of it.
type fronted struct {
	board.Store
	spool Spool

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

// settle applies what was left.
func (f *fronted) settle(ctx context.Context) {
	if info, err := os.Lstat(f.spool.File); err != nil || info.Size() <= emptySize {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	size := f.spool.bytes()
	if size <= emptySize || size == f.stuck && time.Now().Before(f.again) {
		return
	}
	// Who asked may be gone: others ask, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := f.spool.Drain(ctx, f.Store); err != nil {
		f.spool.Log(err)
		if f.spool.bytes() == size {
			f.stuck, f.again = size, time.Now().Add(settleAgain)
		}
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

func (f *fronted) Seen(ctx context.Context, of board.Key) ([]board.Seen, error) {
	f.settle(ctx)
	return f.Store.Seen(ctx, of)
}

func (f *fronted) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	f.settle(ctx)
	return f.Store.SeenOn(ctx, principal, list)
}

func (f *fronted) Named(ctx context.Context, principal, name string) (string, error) {
	f.settle(ctx)
	return f.Store.Named(ctx, principal, name)
}

func (f *fronted) Chat(ctx context.Context, id string) (todo.Chat, error) {
	f.settle(ctx)
	return f.Store.Chat(ctx, id)
}

func (f *fronted) Chats(ctx context.Context, q board.ChatQuery) ([]todo.Chat, error) {
	f.settle(ctx)
	return f.Store.Chats(ctx, q)
}

func (f *fronted) Keyed(ctx context.Context, k board.ChatKey) (string, error) {
	f.settle(ctx)
	return f.Store.Keyed(ctx, k)
}

func (f *fronted) Position(ctx context.Context) (int64, error) {
	f.settle(ctx)
	return f.Store.Position(ctx)
}

func (f *fronted) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	f.settle(ctx)
	return f.Store.Update(ctx, key, change)
}
