package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
)

// aliveFile returns the file that a process keeps locked while it is alive. The
// operating system lets go of the lock when the process ends, in whatever way.
func (s *Store) aliveFile(process string) string {
	return filepath.Join(s.path+"-alive", filepath.Base(process))
}

// Attend implements board.Store.
func (s *Store) Attend(process string) (leave func(), err error) {
	path := s.aliveFile(process)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make process known: %w", err)
	}
	unlock, err := atomicfile.TryLock(path)
	if err != nil {
		return nil, fmt.Errorf("make process known: %w", err)
	}
	return func() {
		unlock()
		s.removeFolder()
	}, nil
}

// Alive implements board.Store. It removes the file of a process that has ended.
func (s *Store) Alive(process string) bool {
	path := s.aliveFile(process)
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return false
	}
	lock := flock.New(path)
	free, err := lock.TryRLock()
	if err != nil || !free {
		return true
	}
	_ = os.Remove(path)
	_ = lock.Close()
	return false
}

// Watch implements board.Store. It hints saves through this store at once, and all others
// when SQLite's data_version changes: when another connection has committed. It looks at
// that when another process says so, and seldom otherwise. For that it has a connection of its
// own, because a watch can last for hours and must not occupy one of the readers.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.work.Done()
	var open *file
	var last int64
	var spool time.Time
	others := &listener{file: s.path + savedSuffix, heard: make(chan struct{}, 1)}
	defer func() {
		_ = open.release()
		others.close()
		s.removeFolder()
	}()
	return s.watchers.Watch(ctx, s.quit, hint, 0, others.heard, func() (again time.Duration, err error) {
		before, now := open, int64(0)
		again = lookOften
		if left := s.spoolTime(); !left.Equal(spool) {
			spool = left
			hint()
		}
		if open, err = s.renew(ctx, open, 1); open != nil && err == nil {
			again = others.listen()
			err = describe(s.path, open.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now))
		}
		switch {
		case busy(err):
			return lookOften, nil
		case err == nil && open != nil && (open != before || now != last):
			last = now
			hint()
		}
		return again, err
	})
}
