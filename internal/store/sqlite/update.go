package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"todo-mcp/internal/todo"
)

// maxBatch is the largest number of requests in one transaction.
const maxBatch = 256

// gracePeriod is how long a caller still waits, after its context ended, for
// the outcome of a running commit, and how long a closing store waits for a
// lock.
const gracePeriod = time.Second

// request is a function that the writer goroutine runs in its transaction.
type request struct {
	run      func(*tx) error
	done     chan struct{} // closed when err is set
	err      error
	panicked string // with what, and where, the function panicked
}

// Update implements todo.Store.
func (s *Store) Update(ctx context.Context, _ todo.Key, change func(todo.Tx) error) error {
	return s.submit(ctx, func(t *tx) error { return change(t) })
}

// submit queues a request and waits until the writer has answered it.
func (s *Store) submit(ctx context.Context, run func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	req := &request{run: run, done: make(chan struct{})}
	if err := s.enqueue(req); err != nil {
		return err
	}
	err := s.wait(ctx, req)
	if errors.Is(err, errPanicked) {
		panic(req.panicked)
	}
	return err
}

// enqueue adds a request to the queue and wakes the writer goroutine, which the
// first request starts.
func (s *Store) enqueue(req *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.IsZero() {
		return todo.ErrClosed
	}
	s.queue = append(s.queue, req)
	if !s.writing {
		s.writing = true
		s.work.Go(s.writeLoop)
	}
	s.wake.Signal()
	return nil
}

// wait returns the writer's answer. When ctx ends, a request that still waits
// in the queue is withdrawn, so it is not applied. If the writer has claimed it
// and does not answer within the grace period, wait returns
// todo.ErrUnknownOutcome.
func (s *Store) wait(ctx context.Context, req *request) error {
	select {
	case <-req.done:
		return req.err
	case <-ctx.Done():
	}
	if s.withdraw(req) {
		return ctx.Err()
	}
	select {
	case <-req.done:
		return req.err
	case <-time.After(gracePeriod):
		return fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, ctx.Err())
	}
}

// withdraw removes a request from the queue; false is for one that the writer has.
func (s *Store) withdraw(req *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, req)
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	}
	return i >= 0
}

func (r *request) answer(err error) {
	if err != nil {
		r.err = err
	}
	close(r.done)
}

// writeLoop is the goroutine that does all writing of this store: it commits
// the requests that wait in the queue, in batches. It ends after Close, when
// the queue is empty.
func (s *Store) writeLoop() {
	var w writer
	defer w.close()
	for s.awaitRequests() {
		runtime.Gosched() // who can go on may save something, too, and then waits for one commit
		switch err := w.begin(s); {
		case busy(err) && s.mayRetry():
			time.Sleep(2 * time.Millisecond) // not every busy error comes after busy_timeout
		case err != nil:
			if !errors.Is(err, errLogGone) {
				w.close()
			}
			for _, req := range s.claim() {
				req.answer(err)
			}
		default:
			s.commit(&w, s.claim())
		}
	}
}

// awaitRequests blocks until a request waits in the queue and returns true. It
// returns false when the store is closed and the queue is empty.
func (s *Store) awaitRequests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && s.closed.IsZero() {
		s.wake.Wait()
	}
	return len(s.queue) > 0
}

// mayRetry reports whether the writer should keep trying to get a lock: always
// while the store is open, and for the grace period after Close.
func (s *Store) mayRetry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed.IsZero() || time.Since(s.closed) < gracePeriod
}

// claim removes up to maxBatch requests from the queue and returns them. They cannot be
// withdrawn any more.
func (s *Store) claim() []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), maxBatch)
	batch := slices.Clone(s.queue[:n])
	s.queue = slices.Delete(s.queue, 0, n)
	return batch
}

// commit carries out a batch in the transaction that w began, and answers every
// request in it.
func (s *Store) commit(w *writer, batch []*request) {
	stored, err := w.write(batch)
	if err != nil && !errors.Is(err, errGone) {
		w.close() // the next batch opens the file again
	} else if stored {
		s.batches.Add(1)
		s.watchers.Send()
	}
	for _, req := range batch {
		req.answer(err)
	}
}
