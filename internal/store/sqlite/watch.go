package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
)

// aliveFile returns the path of the file that a process keeps locked while it is alive. The lock ends with the process.
func (s *Store) aliveFile(process string) string {
	return filepath.Join(s.path+"-alive", filepath.Base(process))
}

// Attend implements board.Store.
func (s *Store) Attend(process string) (leave func()) {
	path := s.aliveFile(process)
	_ = os.MkdirAll(filepath.Dir(path), 0o700) // without the folder the lock fails, too
	leave, _ = atomicfile.TryLock(path)
	return leave
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

// Watch implements board.Store. It calls hint at once for saves through this store. A save of another process writes
// the file [savedSuffix], for which Watch also calls hint. While it cannot listen to that file, it calls hint every
// [lookOften]: the caller finds out by [Store.Position] whether there is anything new.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	if err := s.life.Enter(ctx); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.life.Work.Done() // Close waits until the listener is closed
	others := &listener{file: s.path + savedSuffix, heard: make(chan struct{}, 1)}
	defer func() {
		if others.on != nil {
			_ = others.on.Close()
		}
	}()
	return s.life.Watch(ctx, hint, others.heard, func(bool) <-chan time.Time {
		if info, _ := s.stat(); info != nil && others.listen() == nil { // without a store, listen must make no file
			return nil
		}
		return time.After(lookOften)
	})
}

// savedSuffix, after the store's path, names a file that watchers make and that each save writes. It is not one of
// SQLite's files: some systems open a watched file, and closing a file of SQLite would drop all locks on it.
const savedSuffix = "-alive" + string(filepath.Separator) + "saved"

// Say tells watchers in other processes that something was saved in the store at a path, or added to its spool.
func Say(path string) {
	if f, err := os.OpenFile(path+savedSuffix, os.O_WRONLY, 0); err == nil {
		_, _ = f.Write([]byte("\n")) // a write, since Wine reports no change of the times alone
		f.Close()
	}
}

// SpoolSuffix after the store's path names the folder to which hooks add events.
const SpoolSuffix = "-events"

const (
	// lookOften is how often Watch hints if it cannot listen: there is no store, or the system allows no more watches.
	lookOften = 50 * time.Millisecond
	// together is the pause after a hint: all saves of other processes meanwhile cause one more hint.
	together = 20 * time.Millisecond
)

// listener has a channel, heard, to which it sends a signal when other processes write a file.
type listener struct {
	file  string
	heard chan struct{}
	on    *fsnotify.Watcher // nil until it listens
	info  os.FileInfo       // describes the file that it listens to
}

// listen starts to listen to the file at its path, unless it listens already, and makes a missing file. When it starts,
// it sends a signal to the channel, since it may have missed earlier saves.
func (l *listener) listen() error {
	now, err := os.Stat(l.file)
	if err == nil && os.SameFile(now, l.info) {
		return nil
	}
	if l.on == nil {
		if l.on, err = fsnotify.NewWatcher(); err != nil {
			return err
		}
		go pass(l.on, l.heard)
	}
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.file, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	now, err = f.Stat()
	if err = errors.Join(err, f.Close(), l.on.Add(l.file)); err == nil {
		l.info = now
		board.Signal(l.heard)
	}
	return err
}

// pass sends a signal to a channel for each event, until the watcher is closed.
func pass(on *fsnotify.Watcher, heard chan<- struct{}) {
	for ok := false; ; {
		select {
		case _, ok = <-on.Events:
		case _, ok = <-on.Errors:
		}
		if !ok {
			return
		}
		board.Signal(heard)
		time.Sleep(together)
	}
}
