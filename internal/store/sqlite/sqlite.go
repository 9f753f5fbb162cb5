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
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite" // the driver, and its errors

	"todo-mcp/internal/todo"
)

// Store is a todo.Store in a file.
type Store struct {
	path  string
	poll  time.Duration
	saves chan *save
	quit  chan struct{} // closed by Close
	work  sync.WaitGroup
	hints hints

	mu      sync.Mutex
	read    *file // nil until there is a file to read
	closed  bool
	writing bool // the writer's goroutine runs

	batches int // how many transactions were committed; the writer's own
}

var _ todo.Store = (*Store)(nil)

// file is an open database and which file it is.
type file struct {
	db   *sql.DB
	info fs.FileInfo
}

// Option sets up a [Store].
type Option func(*Store)

// WithPoll sets how often other processes' saves are looked for while somebody
// watches; 50 ms if not set.
func WithPoll(d time.Duration) Option { return func(s *Store) { s.poll = d } }

// Open returns a store on a file, which need not exist yet. A file that is no
// database of ours is refused and left as it is: [todo.ErrTooNew] or
// [todo.ErrCorrupt].
func Open(path string, opts ...Option) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{path: path, poll: 50 * time.Millisecond, saves: make(chan *save, maxBatch), quit: make(chan struct{})}
	for _, opt := range opts {
		opt(s)
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	if _, err := s.reader(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close implements todo.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.quit)
	s.mu.Unlock()
	s.work.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == nil {
		return nil
	}
	return s.read.db.Close()
}

// reader returns a database to read from; nil when there is nothing to read
// yet. A file that is another than before is opened anew.
func (s *Store) reader(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, todo.ErrClosed
	}
	info, err := stat(s.path)
	if s.read != nil && (err != nil || info == nil || !os.SameFile(info, s.read.info)) {
		_ = s.read.db.Close()
		s.read = nil
	}
	if err != nil || info == nil {
		return nil, err
	}
	if s.read == nil {
		db, err := openReader(ctx, s.path)
		if db == nil || err != nil {
			return nil, err
		}
		s.read = &file{db, info}
	}
	return s.read.db, nil
}

// stat tells about a file; nil when there is none or it is empty.
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("open store: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("open store: %s is a folder, name a file in it", path)
	case info.Size() == 0:
		return nil, nil
	}
	return info, nil
}

// openReader opens for reading; nil when no schema is there yet, as when
// another process is just making it.
func openReader(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, "busy_timeout(5000)", "query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	version, err := schemaVersion(ctx, db)
	if err == nil && version > 0 {
		return db, nil
	}
	return nil, errors.Join(describe(path, err), db.Close())
}

// openWriter makes the folder, the file and the schema as need be.
func openWriter(ctx context.Context, path string) (*file, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make store folder: %w", err)
	}
	// SQLite gives its side files the mode of this one.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make store file: %w", err)
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("make store file: %w", err)
	}
	db, err := sql.Open("sqlite", dsn(path, "busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)")+"&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.SetMaxOpenConns(1)
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(describe(path, err), db.Close())
	}
	return &file{db, info}, nil
}

func dsn(path string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if filepath.VolumeName(path) != "" {
		u.Path = "/" + u.Path
	}
	u.RawQuery = url.Values{"_pragma": pragmas}.Encode()
	return u.String()
}

// describe says what a person can do about a file that cannot be used.
func describe(path string, err error) error {
	var e *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, todo.ErrTooNew):
		return fmt.Errorf("open store %s: %w: use the todo-mcp that wrote it or a later one, or name another file with --store", path, err)
	case errors.As(err, &e) && (primary(e) == codeCorrupt || primary(e) == codeNotADB):
		return fmt.Errorf("open store %s: %w (%w): move the file away or restore a copy; it was left as it is", path, todo.ErrCorrupt, err)
	}
	return fmt.Errorf("open store %s: %w", path, err)
}

// SQLite's primary result codes that we tell apart.
const (
	codeBusy    = 5
	codeIOErr   = 10
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
)

func primary(e *sqlite.Error) int { return e.Code() & 0xff }

// failedWith reports whether err is SQLite's with a primary code.
func failedWith(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && primary(e) == code
}
