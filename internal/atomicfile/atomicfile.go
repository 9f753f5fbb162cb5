// Package atomicfile replaces files as a whole: who reads one sees the old content
// or the new one, also after a crash.
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

// Write gives the file at path new content, or makes it. A file keeps its mode and
// its owner, and Write fails where it cannot; a new one is for its owner alone. A
// link is replaced, not followed.
//
// check, unless it is nil, is called when only the last step, the rename, is left
// to do. With its error Write ends, and nothing has changed.
func Write(path string, data []byte, check func() error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".todo-mcp-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // there is none any more when it has its name
	_, err = f.Write(data)
	if old, missing := os.Stat(path); missing == nil { // who may read it may read the new one
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

// SyncFolder makes new names in a folder survive power loss. It ignores errors:
// not every system can sync a folder.
func SyncFolder(path string) {
	if f, err := os.Open(path); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// Above returns the folders above a path, up to the root: a new name is on the disk when all
// of them are synced. Who made some of them is not known, and may not have synced them yet.
func Above(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := filepath.Dir(path); yield(dir) && dir != filepath.Dir(dir); {
			dir = filepath.Dir(dir)
		}
	}
}

// ErrLocked is the error for a lock that another process has now.
var ErrLocked = errors.New("another todo-mcp has it in use: try again")

// TryLock makes a file and locks it, until unlock removes it or the process ends, in
// whatever way. The error is [ErrLocked] if another process has it. A link is not followed,
// and a pipe is not waited for.
func TryLock(path string) (unlock func(), err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, and so no lock: move it away", path)
	}
	lock := flock.New(path)
	if got, err := lock.TryLock(); err != nil {
		return nil, err
	} else if !got {
		return nil, ErrLocked
	}
	// The last holder may have removed the file after it was opened here; then another
	// process can lock the next one.
	locked, err := lock.Stat()
	named, gone := os.Stat(path)
	if err != nil || gone != nil || !os.SameFile(locked, named) {
		_ = lock.Close()
		return nil, errors.Join(err, ErrLocked)
	}
	return func() {
		if runtime.GOOS == "windows" { // which removes no file that is open
			_ = lock.Close()
		}
		_ = os.Remove(path) // before others can lock it, so that none locks a file without a name
		_ = lock.Close()
	}, nil
}
