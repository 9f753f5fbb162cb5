package server_test

import (
	"context"
	"errors"
	"net/url"
	"runtime"
	"sync/atomic"

	"todo-mcp/internal/todo"
)

// failing is a store that fails while it is broken.
type failing struct {
	todo.Store
	broken atomic.Bool
}

var errDisk = errors.New("disk on fire")

func (f *failing) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	if f.broken.Load() {
		return todo.Snapshot{}, errDisk
	}
	return f.Store.Save(ctx, next)
}

func (f *failing) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	if f.broken.Load() {
		return nil, errDisk
	}
	return f.Store.Find(ctx, q)
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func escape(text string) string { return url.QueryEscape(text) }
