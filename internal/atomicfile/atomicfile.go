// Package atomicfile replaces files as a whole: a reader sees the old or the new content, even after a crash.
package atomicfile

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

// Write replaces the content of a file, or makes the file, with mode 0600. An existing file keeps its mode and owner;
// if that is impossible, Write fails. A link is replaced, not followed. check may be nil; it is called just before the
// file is replaced, and its error prevents that.
func Write(path string, data []byte, check func() error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".todo-mcp-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails harmlessly after the rename
	_, err = f.Write(data)
	if old, missing := os.Stat(path); missing == nil {
		err = errors.Join(err, f.Chmod(old.Mode().Perm()), chownLike(f, old))
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && check != nil {
		err = check()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		SyncFolder(filepath.Dir(path))
	}
	return err
}

// SyncFolder makes new names in a folder survive power loss. It ignores errors: not every system can sync folders.
func SyncFolder(path string) {
	if f, err := os.Open(path); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// Above returns the folders above a path, up to the root. A new file survives power loss only if all of them are
// synced, since another process may have made some of them just before.
func Above(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := filepath.Dir(path); yield(dir) && dir != filepath.Dir(dir); {
			dir = filepath.Dir(dir)
		}
	}
}

// ErrLocked is the error for a lock that another process holds.
var ErrLocked = errors.New("another todo-mcp has it in use: try again")

// TryLock makes a file and locks it until unlock removes it or the process ends. The error is [ErrLocked] if another
// process holds the lock. Links and pipes are refused.
func TryLock(path string) (unlock func(), err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file, so it cannot be a lock: move it away", path)
	}
	lock := flock.New(path)
	if got, err := lock.TryLock(); err != nil {
		return nil, err
	} else if !got {
		return nil, ErrLocked
	}
	// The last holder may have removed the file after this process opened it; then the name belongs to another file.
	locked, err := lock.Stat()
	named, gone := os.Stat(path)
	if err != nil || gone != nil || !os.SameFile(locked, named) {
		_ = lock.Close()
		return nil, errors.Join(err, ErrLocked)
	}
	return func() {
		if runtime.GOOS == "windows" { // Windows cannot remove an open file
			_ = lock.Close()
		}
		_ = os.Remove(path) // before the lock is released, so that nobody locks a removed file
		_ = lock.Close()
	}, nil
}
