package todo

import (
	"context"
	"sync"
)

// turns serves callers of the same key one after the other, in arrival order
// (VARIANTS.md V8). A sync.Mutex would let a newcomer pass those who wait.
type turns struct {
	mu     sync.Mutex
	queues map[string][]chan struct{} // the head's holder works, the rest wait
}

// take waits for the caller's turn. release must be called once; err is ctx's
// when it ended first, and then there is nothing to release.
func (t *turns) take(ctx context.Context, key string) (release func(), err error) {
	t.mu.Lock()
	if t.queues == nil {
		t.queues = make(map[string][]chan struct{})
	}
	mine := make(chan struct{})
	queue := append(t.queues[key], mine)
	t.queues[key] = queue
	t.mu.Unlock()
	if len(queue) == 1 {
		close(mine)
	}
	select {
	case <-mine:
		return func() { t.leave(key, mine) }, nil
	case <-ctx.Done():
		t.leave(key, mine)
		return nil, ctx.Err()
	}
}

// leave takes a caller out of its queue and lets the next one work if it stood
// at the head.
func (t *turns) leave(key string, mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.queues[key]
	for i, c := range queue {
		if c != mine {
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
