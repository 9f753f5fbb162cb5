package servertest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Failing is a store that returns [ErrDisk] while Broken is true, and otherwise the errors
// that Fault returns.
type Failing struct {
	board.Store
	Broken atomic.Bool
	Silent bool // a call returns only when its context ends
	// Fault, if set, gets the name of each called method, and the call's list or an empty
	// string. The call fails with the error that Fault returns, if any. A board's reads
	// for its watchers do not call Fault.
	Fault func(method, list string) error
}

// ErrDisk is the error of [Failing].
var ErrDisk = errors.New("disk on fire")

func (f *Failing) fails(ctx context.Context, method, list string) error {
	if f.Broken.Load() {
		return ErrDisk
	}
	if f.Silent {
		<-ctx.Done()
		return ctx.Err()
	}
	if f.Fault == nil || method == "" {
		return nil
	}
	return f.Fault(method, list)
}

// Update implements board.Store.
func (f *Failing) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	if err := f.fails(ctx, "Update", ""); err != nil {
		return err
	}
	return f.Store.Update(ctx, key, change)
}

// Load implements board.Store.
func (f *Failing) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	if err := f.fails(ctx, "Load", list); err != nil {
		return todo.Snapshot{}, err
	}
	return f.Store.Load(ctx, list, revision)
}

// Find implements board.Store.
func (f *Failing) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	method := "Find"
	if q.OldestFirst && q.Deleted {
		method = "" // a board's read for its watchers
	}
	if err := f.fails(ctx, method, ""); err != nil {
		return nil, err
	}
	return f.Store.Find(ctx, q)
}

// History implements board.Store.
func (f *Failing) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	if err := f.fails(ctx, "History", list); err != nil {
		return nil, err
	}
	return f.Store.History(ctx, list, after, limit)
}

// Seen implements board.Store.
func (f *Failing) Seen(ctx context.Context, of board.Key) ([]board.Seen, error) {
	if err := f.fails(ctx, "Seen", ""); err != nil {
		return nil, err
	}
	return f.Store.Seen(ctx, of)
}

// SeenOn implements board.Store.
func (f *Failing) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	if err := f.fails(ctx, "SeenOn", list); err != nil {
		return nil, err
	}
	return f.Store.SeenOn(ctx, principal, list)
}

// Nth has a [Failing.Fault] that makes one call of a store fail: the n-th after [Nth.Fail].
type Nth struct {
	mu           sync.Mutex
	left         int
	err          error
	method, list string // of the call that failed
}

// Fail makes the n-th call from now on fail with err. If n is 0, no call fails.
func (f *Nth) Fail(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.err, f.method, f.list = n, err, "", ""
}

// Fault is the function for [Failing.Fault].
func (f *Nth) Fault(method, list string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left != 0 {
		return nil
	}
	f.method, f.list = method, list
	return f.err
}

// Failed returns the method and the list of the call that failed. Both are empty while no
// call has failed.
func (f *Nth) Failed() (method, list string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.method, f.list
}

// Slow is a store in which each save waits, in its transaction, until a value is sent
// on Let.
type Slow struct {
	board.Store
	Saving chan string   // receives the text of the first item before each save
	Let    chan struct{} // each value sent lets one save continue
}

// Update implements board.Store.
func (s Slow) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	return s.Store.Update(ctx, key, func(tx board.Tx) error { return change(slowTx{tx, s}) })
}

type slowTx struct {
	board.Tx
	slow Slow
}

// Save implements board.Tx.
func (t slowTx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	t.slow.Saving <- next.Items[0].Text
	select {
	case <-t.slow.Let:
	case <-ctx.Done():
		return todo.Snapshot{}, ctx.Err()
	}
	return t.Tx.Save(ctx, next)
}

// Grows returns a check that the heap has grown by at most the given number of bytes since Grows was called.
func Grows(t testing.TB) (check func(what string, most int64)) {
	before := heap()
	return func(what string, most int64) {
		t.Helper()
		if grown := int64(heap()) - int64(before); grown > most {
			t.Errorf("%s: %d bytes more are in use", what, grown)
		}
	}
}

// heap returns how many bytes of the heap are in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
