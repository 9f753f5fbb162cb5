package sqlite

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"todo-mcp/internal/atomicfile"
)

// aliveFile returns the file that a process keeps locked while it is alive. The
// operating system lets go of the lock when the process ends, in whatever way.
func (s *Store) aliveFile(process string) string {
	return filepath.Join(s.path+"-alive", filepath.Base(process))
}

// Attend implements todo.Store.
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
		_ = os.Remove(filepath.Dir(path)) // fails while other processes are known
	}, nil
}

// Alive implements todo.Store. It removes the file of a process that has ended.
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
