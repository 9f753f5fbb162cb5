package todo

import (
	"context"
	"sync"
)

// turns is a set of fair mutexes by key: callers with the same key get their
// turn in arrival order (docs/spec/variants.md V8). A sync.Mutex would let a
// newcomer overtake waiting callers.
type turns struct {
	mu     sync.Mutex
	queues map[string][]chan struct{} // the first caller has its turn, the others wait
}

// take waits for the caller's turn, which lasts until release is called; that
// must happen exactly once. If ctx ends first, take returns ctx's error and a
// nil release.
func (t *turns) take(ctx context.Context, key string) (release func(), err error) {
	t.mu.Lock()
	if t.queues == nil {
		t.queues = make(map[string][]chan struct{})
	}
	turn := make(chan struct{})
	queue := append(t.queues[key], turn)
	t.queues[key] = queue
	t.mu.Unlock()
	if len(queue) == 1 {
		close(turn)
	}
	select {
	case <-turn:
		return func() { t.leave(key, turn) }, nil
	case <-ctx.Done():
		t.leave(key, turn)
		return nil, ctx.Err()
	}
}

// leave removes a caller from its queue. If it was the first, the next caller
// gets its turn.
func (t *turns) leave(key string, turn chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.queues[key]
	for i, c := range queue {
		if c != turn {
			continue
		}
		queue = append(queue[:i:i], queue[i+1:]...)
		if i == 0 && len(queue) > 0 {
			close(queue[0])
		}
		break
	}
	if len(queue) == 0 {
		delete(t.queues, key)
		return
	}
	t.queues[key] = queue
}
