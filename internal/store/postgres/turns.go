package postgres

import (
	"context"
	"sync"

	"todo-mcp/internal/todo"
)

// turns are fair locks by key: who waits for the same one gets its turn in the order
// of arrival, and holds no connection meanwhile.
type turns struct {
	mu sync.Mutex
	of map[todo.Key]*turn
}

type turn struct {
	taken chan struct{} // one slot
	users int           // who has it or waits for it
}

// take waits for the caller's turn, which lasts until it calls release.
func (t *turns) take(ctx context.Context, key todo.Key) (release func(), err error) {
	t.mu.Lock()
	if t.of == nil {
		t.of = make(map[todo.Key]*turn)
	}
	if t.of[key] == nil {
		t.of[key] = &turn{taken: make(chan struct{}, 1)}
	}
	own := t.of[key]
	own.users++
	t.mu.Unlock()
	select {
	case own.taken <- struct{}{}:
		return func() { <-own.taken; t.leave(key, own) }, nil
	case <-ctx.Done():
		t.leave(key, own)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(key todo.Key, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.of, key)
	}
}
