// Package sqlite implements board.Store in one SQLite file, which several processes may share. It keeps every promise of
// board.Store: an acknowledged save is in the file (WAL, synchronous=FULL) and survives kill -9 and power loss.
//
// The first Update creates the file and its folder. Updates that wait at the same time share a transaction. Every call
// uses the file that has the path now. Once no file has it any more, calls fail: a new file would show an empty board,
// as if there never were lists.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// Store is a board.Store in an SQLite file.
type Store struct {
	tables.Reader
	tables.Health
	path      string
	log       string         // SQLite's log (-wal), beside the file
	temporary string         // the folder that Close removes; empty for none
	pragmas   []string       // more pragmas of the writing connection
	quit      chan struct{}  // closed by Close
	work      sync.WaitGroup // running calls and watches
	watchers  tables.Hints
	reading   chan *file  // one slot, used as a lock: the database to read from; nil if not open
	had       atomic.Bool // the file was open once, so that one must be there

	queue       chan *request // what the writer goroutine is to run
	startWriter func()
	writing     sync.WaitGroup // the writer goroutine
	batches     atomic.Int64   // committed transactions, for tests

	mu     sync.Mutex
	closed time.Time // when Close was called; zero before
	keep   board.Keep
}

var _ board.Store = (*Store)(nil)

// Open returns a store in the file at path, which need not exist. For a file that this version cannot use it returns an
// error, such as [board.ErrTooNew] or [board.ErrCorrupt], and leaves it unchanged.
func Open(path string, keep board.Keep) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // SQLite puts -wal and -shm beside the target of a symlink
	}
	err = probe(path)
	if errors.Is(err, board.ErrEarlier) && keep.Moving != nil {
		err = upgrade(path, keep.Moving)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, log: path + "-wal", keep: keep, quit: make(chan struct{}), reading: make(chan *file, 1), queue: make(chan *request, maxBatch)}
	s.reading <- nil
	s.Reader = tables.NewReader(queries(), s.query, &s.Health)
	s.startWriter = sync.OnceFunc(func() { s.writing.Go(s.writeLoop) })
	return s, nil
}

// Temporary returns a store in a temporary folder, which Close removes. Its saves do not wait for the disk.
func Temporary(keep board.Keep) (*Store, error) {
	folder, err := os.MkdirTemp("", "todo-mcp-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for lists that end with the program: %w: name another by the variable TMPDIR", err)
	}
	s, err := Open(filepath.Join(folder, "todo.db"), keep)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s.temporary, s.pragmas = folder, []string{"synchronous(OFF)"}
	return s, nil
}

// Close implements board.Store. It waits for running calls, but no longer than twice the grace period: on a very slow
// disk the last commit may end later. The hint function of Watch must not call it.
func (s *Store) Close() error {
	s.mu.Lock()
	first := s.closed.IsZero()
	if first {
		s.closed = time.Now()
		close(s.quit)
	}
	s.mu.Unlock()
	ended := make(chan error, 1)
	go func() { ended <- s.end(first) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * gracePeriod):
		return nil
	}
}

// end waits for running calls, and closes what is open.
func (s *Store) end(first bool) error {
	s.work.Wait()
	if first {
		close(s.queue)
	}
	s.writing.Wait()
	f := <-s.reading
	s.reading <- nil
	err := f.release()
	if s.temporary != "" {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
	if err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// enter registers a call for which Close waits until s.work.Done, or returns [board.ErrClosed] after Close.
func (s *Store) enter(ctx context.Context) error {
	if s.keep.Before != nil {
		s.keep.Before(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.IsZero() {
		return board.ErrClosed
	}
	s.work.Add(1)
	return nil
}

// use returns the database to read from, which the caller must release; nil if there is no file yet, or no schema in it.
func (s *Store) use(ctx context.Context) (f *file, err error) {
	select {
	case f = <-s.reading:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.reading <- f }()
	f, err = s.renew(ctx, f, readers)
	if f != nil {
		f.users.Add(1)
	}
	return f, err
}

// renew returns f, which may be nil, if the path still names it. Otherwise it releases f and opens the file at the path
// for reading; nil if there never was one.
func (s *Store) renew(ctx context.Context, f *file, connections int) (*file, error) {
	info, err := s.stat()
	isCurrent := err == nil && f != nil && info != nil && os.SameFile(f.info, info) && !(f.fixed && isChanged(s.path, f.info, info))
	if isCurrent && f.log != nil {
		// After a log was deleted, f is current until a writer begins the next one.
		log, err := os.Stat(s.log)
		isCurrent = err != nil || log.Size() == 0 || os.SameFile(f.log, log)
	}
	if isCurrent {
		if info.ModTime().Equal(f.info.ModTime()) {
			return f, nil
		}
		// A log was merged, or a newer program has moved the file to its schema.
		if _, err = schemaOf(ctx, f.db); err == nil {
			f.info = info
			return f, nil
		}
		err = describe(s.path, err)
	}
	err = errors.Join(err, f.release())
	if info == nil || err != nil {
		return nil, err
	}
	f, err = openReader(ctx, s.path, info, connections)
	if f != nil {
		s.had.Store(true)
	}
	return f, err
}

// stat is [look], with nil for an empty file. That there is none is an error once the store had a file open.
func (s *Store) stat() (fs.FileInfo, error) {
	info, err := look(s.path)
	if info != nil && info.Size() == 0 {
		info = nil
	}
	if info == nil && err == nil && s.had.Load() {
		err = fmt.Errorf("open store: %s was moved, removed or emptied while it was in use: put it back, restore a backup (`todo-mcp backup --restore FILE`), or restart this program, which then begins a new store", s.path)
	}
	return info, err
}
