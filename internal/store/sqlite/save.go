package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// maxBatch is the largest number of requests in one transaction.
const maxBatch = 256

// gracePeriod is how long a caller still waits, after its context ended, for
// the outcome of a running commit, and how long a closing store waits for a
// lock.
const gracePeriod = time.Second

// request is something to store that the writer goroutine carries out. Its run
// stores it in the open transaction and returns the saved snapshot, if it is a
// save.
type request struct {
	run   func(*statements) (todo.Snapshot, error)
	state atomic.Int32  // waiting, claimed or withdrawn
	done  chan struct{} // closed when saved and err are set
	saved todo.Snapshot
	err   error
}

const (
	waiting   = iota // in the queue
	claimed          // in a batch of the writer
	withdrawn        // by the caller, when its context ended
)

// newSave copies next and encodes it. The caller of Save does this,
// so that the writer need not.
func newSave(next todo.Snapshot, bindings []todo.Binding) (*save, error) {
	next = next.Clone()
	sv := &save{next: next, bindings: bindings}
	var err error
	if record.Size(next.Items) <= record.SmallItems {
		var body []byte
		body, err = record.Body(next)
		sv.whole = string(body)
	}
	if next.Revision == 1 {
		meta, metaErr := record.List(next.List)
		sv.meta, err = string(meta), errors.Join(err, metaErr)
	}
	return sv, err
}

// Save implements todo.Store.
func (s *Store) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (saved todo.Snapshot, err error) {
	sv, err := newSave(next, bindings)
	if err == nil {
		sv.basis = todo.BasisOf(ctx)
		saved, err = s.submit(ctx, sv.run)
	}
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("save snapshot: %w", err)
	}
	return saved, nil
}

// Announce implements todo.Store.
func (s *Store) Announce(ctx context.Context, a todo.Announcement) error {
	_, err := s.submit(ctx, func(st *statements) (todo.Snapshot, error) { return todo.Snapshot{}, st.announce(a) })
	if err != nil {
		return fmt.Errorf("announce call: %w", err)
	}
	return nil
}

// submit queues a request and waits until the writer has answered it.
func (s *Store) submit(ctx context.Context, run func(*statements) (todo.Snapshot, error)) (todo.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return todo.Snapshot{}, err
	}
	req := &request{run: run, done: make(chan struct{})}
	if err := s.enqueue(req); err != nil {
		return todo.Snapshot{}, err
	}
	if err := req.wait(ctx); err != nil {
		return todo.Snapshot{}, err // saved may still be written to
	}
	return req.saved, nil
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
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// wait returns the writer's answer. When ctx ends, a request that still waits
// in the queue is withdrawn, so it is not applied. If the writer has claimed it
// and does not answer within the grace period, wait returns
// todo.ErrUnknownOutcome.
func (r *request) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(waiting, withdrawn) {
		return ctx.Err()
	}
	select {
	case <-r.done:
		return r.err
	case <-time.After(gracePeriod):
		return fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, ctx.Err())
	}
}

func (r *request) answer(err error) {
	if err != nil {
		r.saved, r.err = todo.Snapshot{}, err
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
	for {
		s.mu.Lock()
		s.queue = slices.DeleteFunc(s.queue, func(r *request) bool { return r.state.Load() == withdrawn })
		queued, closed := len(s.queue) > 0, !s.closed.IsZero()
		s.mu.Unlock()
		if queued || closed {
			return queued
		}
		select {
		case <-s.wake:
		case <-s.quit:
		}
	}
}

// mayRetry reports whether the writer should keep trying to get a lock: always
// while the store is open, and for the grace period after Close.
func (s *Store) mayRetry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed.IsZero() || time.Since(s.closed) < gracePeriod
}

// claim removes up to maxBatch requests from the queue and returns them,
// without the withdrawn ones. A claimed request cannot be withdrawn any more.
func (s *Store) claim() []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), maxBatch)
	batch := slices.DeleteFunc(slices.Clone(s.queue[:n]), func(r *request) bool {
		return !r.state.CompareAndSwap(waiting, claimed)
	})
	s.queue = slices.Delete(s.queue, 0, n)
	return batch
}

// commit carries out a batch in the transaction that w began, and answers every
// request in it.
func (s *Store) commit(w *writer, batch []*request) {
	succeeded, err := w.write(batch)
	if err != nil && !errors.Is(err, errGone) {
		w.close() // the next batch opens the file again
	} else if succeeded {
		s.batches.Add(1)
		s.watchers.hintAll()
	}
	for _, req := range batch {
		req.answer(firstError(err, req.err))
	}
}
