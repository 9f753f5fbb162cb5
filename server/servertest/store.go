package servertest

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"todo-mcp/internal/todo"
)

// Failing is a store that returns [ErrDisk] while Broken is true.
type Failing struct {
	todo.Store
	Broken atomic.Bool
}

// ErrDisk is the error of [Failing].
var ErrDisk = errors.New("disk on fire")

// Update implements todo.Store.
func (f *Failing) Update(ctx context.Context, key todo.Key, change func(todo.Tx) error) error {
	if f.Broken.Load() {
		return ErrDisk
	}
	return f.Store.Update(ctx, key, change)
}

// Load implements todo.Store.
func (f *Failing) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	if f.Broken.Load() {
		return todo.Snapshot{}, ErrDisk
	}
	return f.Store.Load(ctx, list, revision)
}

// Find implements todo.Store.
func (f *Failing) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	if f.Broken.Load() {
		return nil, ErrDisk
	}
	return f.Store.Find(ctx, q)
}

// Cursors implements todo.Store.
func (f *Failing) Cursors(ctx context.Context, of todo.Key) ([]todo.Cursor, error) {
	if f.Broken.Load() {
		return nil, ErrDisk
	}
	return f.Store.Cursors(ctx, of)
}

// Slow is a store in which each save waits, in its transaction, until a value is sent
// on Let.
type Slow struct {
	todo.Store
	Saving chan string   // receives the text of the first item before each save
	Let    chan struct{} // each value sent lets one save continue
}

// Update implements todo.Store.
func (s Slow) Update(ctx context.Context, key todo.Key, change func(todo.Tx) error) error {
	return s.Store.Update(ctx, key, func(tx todo.Tx) error { return change(slowTx{tx, s}) })
}

type slowTx struct {
	todo.Tx
	slow Slow
}

// Save implements todo.Tx.
func (t slowTx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	t.slow.Saving <- next.Items[0].Text
	select {
	case <-t.slow.Let:
	case <-ctx.Done():
		return todo.Snapshot{}, ctx.Err()
	}
	return t.Tx.Save(ctx, next)
}

// Heap returns how many bytes of the heap are in use after a garbage collection.
func Heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
