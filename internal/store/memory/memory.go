// Package memory implements todo.Store in memory, for throw-away lists and
// tests. It keeps every promise of todo.Store except durability: the lists are
// lost when the process ends.
package memory

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"todo-mcp/internal/store/hints"
	"todo-mcp/internal/todo"
)

// Store is a todo.Store in memory.
type Store struct {
	reader
	turn      chan struct{} // taken by the running Update; first come, first served
	mu        sync.RWMutex
	seq, size int64                  // of the last save; of all revisions, in bytes, about
	hostCalls map[todo.Key]notedCall // by principal and id
	attending map[string]bool        // ids of processes
	watchers  hints.Hints
	close     func()
	quit      chan struct{} // closed by close
	keep      todo.Keep
}

var _ todo.Store = (*Store)(nil)

// notedCall is a host call with the time it was noted.
type notedCall struct {
	todo.HostCall
	at time.Time
}

// New returns an empty store that keeps every revision of any number of lists.
func New() *Store { return NewKeeping(todo.Keep{}) }

// NewKeeping returns an empty store with the limits in keep.
func NewKeeping(keep todo.Keep) *Store {
	s := &Store{keep: keep, turn: make(chan struct{}, 1), quit: make(chan struct{}),
		hostCalls: map[todo.Key]notedCall{}, attending: map[string]bool{}}
	s.close = sync.OnceFunc(func() { close(s.quit) })
	s.reader = reader{s, newTable[string, revision](), newTable[todo.Key, todo.Cursor](), newTable[string, todo.Snapshot]()}
	return s
}

// checkUsable returns the error with which a call must end before it starts:
// [todo.ErrClosed] after Close, otherwise ctx.Err().
func (s *Store) checkUsable(ctx context.Context) error {
	select {
	case <-s.quit:
		return todo.ErrClosed
	default:
		return ctx.Err()
	}
}

// take waits for the caller's turn to change the store, in the order of arrival. The
// caller ends it by receiving from s.turn.
func (s *Store) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.checkUsable(ctx)
	if err != nil {
		<-s.turn
	}
	return err
}

// Update implements todo.Store.
func (s *Store) Update(ctx context.Context, _ todo.Key, change func(todo.Tx) error) error {
	err := s.take(ctx)
	if err == nil {
		defer func() { <-s.turn }()
		t := newTx(s)
		if err := change(t); err != nil {
			return err
		}
		if err = ctx.Err(); err == nil {
			t.commit()
			return nil
		}
	}
	return fmt.Errorf("update lists: %w", err)
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (int64, error) {
	return look(ctx, s, "read position", func() (int64, error) { return s.seq, nil })
}

// Attend implements todo.Store.
func (s *Store) Attend(process string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attending[process] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.attending, process)
	}, nil
}

// Alive implements todo.Store. Whoever shares this memory is in the same
// process, and alive until it leaves.
func (s *Store) Alive(process string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.attending[process]
}

// NoteHostCall implements todo.Store.
func (s *Store) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	if err := s.checkUsable(ctx); err != nil {
		return fmt.Errorf("save host call: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.hostCalls, func(_ todo.Key, old notedCall) bool { return at.Sub(old.at) > todo.HostCallAge })
	s.hostCalls[todo.Key{Principal: principal, Conversation: c.ID}] = notedCall{c, at}
	return nil
}

// HostCall implements todo.Store.
func (s *Store) HostCall(ctx context.Context, principal, id string) (todo.HostCall, error) {
	return look(ctx, s, "read host call", func() (found todo.HostCall, err error) {
		if noted := s.hostCalls[todo.Key{Principal: principal, Conversation: id}]; time.Since(noted.at) <= todo.HostCallAge {
			found = noted.HostCall
		}
		return found, nil
	})
}

// Watch implements todo.Store.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	return s.watchers.Watch(ctx, s.quit, hint, nil)
}

// Close implements todo.Store.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.close()
	return nil
}
