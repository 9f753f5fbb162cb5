package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// savedSuffix is what the path of a store has behind it in that of the file that a process touches
// after it has saved something, if it is there: then another process watches. It is no file of
// SQLite's, since on some systems a watched file is opened, and closing that would drop all locks
// that the process has on it.
const savedSuffix = "-alive" + string(filepath.Separator) + "saved"

// Say tells those who watch the file at a path, in other processes, that something was stored
// in it, or left in its spool.
func Say(path string) {
	now := time.Now()
	_ = os.Chtimes(path+savedSuffix, now, now)
}

// SpoolSuffix is what the name of a store's file has behind it in that of the file with what
// hooks left there. Who watches the store is told of that, too: to read it is to apply it.
const SpoolSuffix = "-hooks"

// spoolTime returns when the spool was changed last; zero where there is none.
func (s *Store) spoolTime() time.Time {
	info, err := os.Stat(s.path + SpoolSuffix)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

const (
	// lookAnyway is how often a listener looks though nothing was said: whether the file
	// that it listens to is still the one that others touch. What was saved without a word,
	// as by another machine's kernel, is found sooner by whoever reads what is new at times.
	lookAnyway = 10 * time.Second
	// lookOften is how often it looks while it cannot listen: there is no store yet, its
	// folder is read-only, or the system has no watch left.
	lookOften = 50 * time.Millisecond
	// together is the time in which several saves of others are one.
	together = 20 * time.Millisecond
)

// listener hears when other processes store something.
type listener struct {
	file  string
	heard chan struct{}
	on    *fsnotify.Watcher // nil while it does not listen
	info  os.FileInfo       // of the file that it listens to
}

// listen listens, unless it does already, and returns after which time to look anyway. There
// must be a store.
func (l *listener) listen() time.Duration {
	now, err := os.Stat(l.file)
	if l.on != nil && err == nil && os.SameFile(now, l.info) {
		return lookAnyway
	}
	l.close()
	if l.begin() != nil {
		return lookOften
	}
	return lookAnyway
}

// begin makes the file, if need be, and begins to listen to it.
func (l *listener) begin() error {
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.file, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	l.info, err = f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	on, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := on.Add(l.file); err != nil {
		return errors.Join(err, on.Close())
	}
	l.on = on
	go pass(on, l.heard)
	return nil
}

// pass passes on that something was heard, until the watcher is closed.
func pass(on *fsnotify.Watcher, heard chan<- struct{}) {
	for {
		select {
		case _, ok := <-on.Events:
			if !ok {
				return
			}
		case _, ok := <-on.Errors:
			if !ok {
				return
			}
		}
		board.Signal(heard)
		time.Sleep(together)
	}
}

// close ends listening.
func (l *listener) close() {
	if l.on != nil {
		_ = l.on.Close()
		l.on = nil
	}
}

// removeFolder removes the folder of what processes say, unless one is known there.
func (s *Store) removeFolder() {
	folder := filepath.Dir(s.path + savedSuffix)
	if left, err := os.ReadDir(folder); err == nil && len(left) == 1 && left[0].Name() == filepath.Base(s.path+savedSuffix) {
		_ = os.Remove(s.path + savedSuffix)
	}
	_ = os.Remove(folder) // fails while other processes are known
}
