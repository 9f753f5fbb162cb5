// Package sqlite keeps lists in one SQLite file that several processes may
// share. It keeps every promise of todo.Store: what Save acknowledged is in the
// file (WAL, synchronous=FULL), and survives kill -9 and power loss.
//
// Opening leaves nothing behind: the file and its folder are made by the first
// Save. Saves that wait at the same time are committed together. A file that is
// deleted or replaced under a running process is noticed, and the next call
// goes to what is there then. It drops nothing, but it may hint a watcher once
// for many saves.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"todo-mcp/internal/todo"
)

// Store is a todo.Store in a file.
type Store struct {
	path    string
	poll    time.Duration
	pragmas []string // further settings of the writing connection
	wake    chan struct{}
	quit    chan struct{}  // closed by Close
	work    sync.WaitGroup // calls in hand and the writer
	hints   hints
	reading chan *file // one slot: the database to read from, nil if not open

	mu      sync.Mutex
	queue   []*save
	closed  time.Time // zero until Close
	writing bool      // the writer's goroutine runs

	batches atomic.Int64 // transactions committed
	keep    todo.Keep
}

var _ todo.Store = (*Store)(nil)

// Option sets up a [Store].
type Option func(*Store)

// WithPoll sets how often other processes' saves are looked for while somebody
// watches; 50 ms if not set.
func WithPoll(d time.Duration) Option { return func(s *Store) { s.poll = d } }

// WithKeep sets how much is kept; everything if not set.
func WithKeep(k todo.Keep) Option { return func(s *Store) { s.keep = k } }

// Open returns a store on a file, which need not exist yet. A file that is no
// database of ours is refused and left as it is: [todo.ErrTooNew] or
// [todo.ErrCorrupt].
func Open(path string, opts ...Option) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // SQLite keeps its side files beside the real one
	}
	if err := probe(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, poll: 50 * time.Millisecond, wake: make(chan struct{}, 1), quit: make(chan struct{}), reading: make(chan *file, 1)}
	s.reading <- nil
	for _, opt := range opts {
		opt(s)
	}
	return s, nil
}

// Close implements todo.Store. It waits for calls in hand; a hint of Watch must
// not call it.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed.IsZero() {
		s.closed = time.Now()
		close(s.quit)
	}
	s.mu.Unlock()
	s.work.Wait()
	f := <-s.reading
	s.reading <- nil
	if err := f.release(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// enter begins a call; s.work.Done ends it unless err.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.IsZero() {
		return todo.ErrClosed
	}
	s.work.Add(1)
	return nil
}

// reader returns the database to read from, to be released; nil when there is
// nothing to read yet. A file that is another than before is opened anew.
func (s *Store) reader(ctx context.Context) (f *file, err error) {
	select {
	case f = <-s.reading:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.reading <- f }()
	f, err = f.renew(ctx, s.path, readers)
	if f != nil {
		f.users.Add(1)
	}
	return f, err
}

// renew returns the open file if it still is what the path names; if not it
// lets go of it and opens what is there, nil if nothing.
func (f *file) renew(ctx context.Context, path string, connections int) (*file, error) {
	info, err := stat(path)
	if err == nil && f.is(info) {
		return f, nil
	}
	err = errors.Join(err, f.release())
	if info == nil || err != nil {
		return nil, err
	}
	return openReader(ctx, path, info, connections)
}
