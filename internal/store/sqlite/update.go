package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// maxBatch is the largest number of requests in one transaction.
const maxBatch = 256

// gracePeriod is how long a caller whose context ended waits for a running commit, and a closing store for a lock.
const gracePeriod = time.Second

// request is the change of an update, which the writer goroutine runs in its transaction.
type request struct {
	change   func(board.Tx) error
	done     chan struct{} // closed when err is set
	err      error
	panicked string      // the value and the stack of a panic
	claimed  atomic.Bool // the writer runs the request, or its caller has withdrawn it
}

var errPanicked = errors.New("the function panicked")

// call runs the change. It recovers from a panic, which [Store.Update] repeats.
func (r *request) call(w *writer) {
	defer func() {
		if v := recover(); v != nil {
			r.panicked, r.err = fmt.Sprintf("%v\n%s", v, debug.Stack()), errPanicked
		}
	}()
	r.err = r.change(w)
	if w.failed != nil && !errors.Is(r.err, w.failed) {
		r.err = errors.Join(r.err, w.failed) // it must not go on as if nothing had happened
	}
}

// Update implements board.Store. It queues a request and waits for the writer's answer. When ctx ends it withdraws the
// request, or, if that has begun, returns board.ErrUnknownOutcome after the grace period.
func (s *Store) Update(ctx context.Context, _ board.Key, change func(board.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.work.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	s.startWriter()
	req := &request{change: change, done: make(chan struct{})}
	select {
	case s.queue <- req:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-req.done:
	case <-ctx.Done():
		if req.claimed.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		select {
		case <-req.done:
		case <-time.After(gracePeriod):
			return fmt.Errorf("%w (%w)", board.ErrUnknownOutcome, ctx.Err())
		}
	}
	if errors.Is(req.err, errPanicked) {
		panic(req.panicked)
	}
	return req.err
}

// writeLoop is the goroutine that commits the queued requests, in batches, until Close closes the queue.
func (s *Store) writeLoop() {
	w := newWriter(s)
	defer w.close()
	for first := range s.queue {
		for batch := []*request{first}; len(batch) > 0; {
			runtime.Gosched() // lets other goroutines queue requests, which then share this commit
			for len(batch) < maxBatch && len(s.queue) > 0 {
				batch = append(batch, <-s.queue)
			}
			batch = s.commit(w, batch)
		}
	}
}

// commit runs a batch in one transaction and answers its requests, or returns all if another process has the file
// locked.
func (s *Store) commit(w *writer, batch []*request) (again []*request) {
	err := w.beginTx()
	if err != nil && busy(err) && s.mayRetry() {
		time.Sleep(2 * time.Millisecond) // not every busy error comes after busy_timeout
		return batch
	}
	batch = slices.DeleteFunc(batch, func(r *request) bool { return !r.claimed.CompareAndSwap(false, true) }) // withdrawn
	stored := false
	if err == nil {
		if stored, err = w.write(batch); err != nil {
			err = describe(s.path, err)
		}
	}
	if err != nil && !errors.Is(err, errGone) {
		w.close() // the next batch opens the file again
	}
	if stored {
		s.batches.Add(1)
		s.watchers.Send()
	}
	for _, req := range batch {
		if err != nil {
			req.err = err
		}
		close(req.done)
	}
	if stored {
		Say(s.path)
	}
	return nil
}

// mayRetry reports whether the store is open, or was closed within the grace period.
func (s *Store) mayRetry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed.IsZero() || time.Since(s.closed) < gracePeriod
}
