package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// maxBatch is the most saves one transaction carries.
const maxBatch = 256

// lastWait is how long a caller whose context ended waits for the outcome of a
// commit that is under way, and how long a closing store waits for a lock.
const lastWait = time.Second

// save is one call of Save, or of Announce, on its way through the writer.
type save struct {
	next       todo.Snapshot      // its items are the store's own
	body, meta string             // as stored; meta only when a list begins
	announce   *todo.Announcement // instead of a snapshot
	state      atomic.Int32       // waiting, taken or abandoned
	done       chan struct{}
	saved      todo.Snapshot
	err        error
}

const (
	waiting = iota
	taken
	abandoned
)

// newSave encodes a snapshot, in the caller's own time.
func newSave(next todo.Snapshot) (*save, error) {
	next.Items = append([]todo.Item{}, next.Items...)
	body, err := record.Body(next)
	call := &save{next: next, body: string(body), done: make(chan struct{})}
	if next.Revision == 1 {
		meta, metaErr := record.List(next.List)
		call.meta, err = string(meta), errors.Join(err, metaErr)
	}
	return call, err
}

// Save implements todo.Store.
func (s *Store) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	call, err := newSave(next)
	if err == nil {
		err = s.run(ctx, call)
	}
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("save snapshot: %w", err)
	}
	return call.saved, nil
}

// Announce implements todo.Store.
func (s *Store) Announce(ctx context.Context, a todo.Announcement) error {
	if err := s.run(ctx, &save{announce: &a, done: make(chan struct{})}); err != nil {
		return fmt.Errorf("announce call: %w", err)
	}
	return nil
}

// run takes a call through the writer.
func (s *Store) run(ctx context.Context, call *save) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enqueue(call); err != nil {
		return err
	}
	return call.wait(ctx)
}

// enqueue hands a call to the writer, which starts with the first.
func (s *Store) enqueue(call *save) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.IsZero() {
		return todo.ErrClosed
	}
	s.queue = append(s.queue, call)
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

// wait returns the writer's answer. A call that nobody has begun yet is taken
// back when ctx ends; then it was not applied.
func (c *save) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.state.CompareAndSwap(waiting, abandoned) {
		return ctx.Err()
	}
	select {
	case <-c.done:
		return c.err
	case <-time.After(lastWait):
		return fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, ctx.Err())
	}
}

func (c *save) answer(err error) {
	if err != nil {
		c.saved, c.err = todo.Snapshot{}, err
	}
	close(c.done)
}

// writeLoop is the one writer of this process: it commits what waits, together.
// What was queued before Close is still saved.
func (s *Store) writeLoop() {
	var w writer
	defer w.close()
	for s.awaitSaves() {
		switch err := w.begin(s); {
		case busy(err) && s.patient():
			time.Sleep(2 * time.Millisecond) // SQLite has waited before, but not always
		case err != nil:
			w.close()
			for _, call := range s.claim() {
				call.answer(err)
			}
		default:
			s.commit(&w, s.claim())
		}
	}
}

// awaitSaves waits until a caller waits; false when none will.
func (s *Store) awaitSaves() bool {
	for {
		s.mu.Lock()
		s.queue = slices.DeleteFunc(s.queue, func(c *save) bool { return c.state.Load() == abandoned })
		some, closed := len(s.queue) > 0, !s.closed.IsZero()
		s.mu.Unlock()
		if some || closed {
			return some
		}
		select {
		case <-s.wake:
		case <-s.quit:
		}
	}
}

// patient reports whether to go on waiting for a lock: as long as any caller
// does, but a closing store not for ever.
func (s *Store) patient() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed.IsZero() || time.Since(s.closed) < lastWait
}

// claim takes the calls that wait, up to a batch. From here on they are not
// taken back.
func (s *Store) claim() []*save {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), maxBatch)
	batch := slices.DeleteFunc(slices.Clone(s.queue[:n]), func(c *save) bool {
		return !c.state.CompareAndSwap(waiting, taken)
	})
	s.queue = slices.Delete(s.queue, 0, n)
	return batch
}

// commit saves a batch in the transaction that w began, and answers everyone.
func (s *Store) commit(w *writer, batch []*save) {
	wrote, err := w.write(batch)
	if err != nil {
		w.close() // the next batch begins afresh
	} else if wrote {
		s.batches.Add(1)
		s.hints.all()
	}
	for _, call := range batch {
		call.answer(first(err, call.err))
	}
}
