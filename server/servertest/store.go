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

// Save implements todo.Store.
func (f *Failing) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (todo.Snapshot, error) {
	if f.Broken.Load() {
		return todo.Snapshot{}, ErrDisk
	}
	return f.Store.Save(ctx, next, bindings...)
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

// Bindings implements todo.Store.
func (f *Failing) Bindings(ctx context.Context, principal, conversation string) ([]todo.Binding, error) {
	if f.Broken.Load() {
		return nil, ErrDisk
	}
	return f.Store.Bindings(ctx, principal, conversation)
}

// Slow is a store in which each save waits until a value is sent on Let.
type Slow struct {
	todo.Store
	Saving chan string   // receives the text of the first item before each save
	Let    chan struct{} // each value sent lets one save continue
}

// Save implements todo.Store.
func (s Slow) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (todo.Snapshot, error) {
	s.Saving <- next.Items[0].Text
	select {
	case <-s.Let:
	case <-ctx.Done():
		return todo.Snapshot{}, ctx.Err()
	}
	return s.Store.Save(ctx, next, bindings...)
}

// Heap returns how many bytes of the heap are in use after a garbage collection.
func Heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
