// Package atomicfile replaces files as a whole: who reads one sees the old content
// or the new one, also after a crash.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write gives the file at path new content, or makes it. A file keeps its mode and
// its owner, and Write fails where it cannot; a new one is for its owner alone. A
// link is replaced, not followed.
//
// check, unless it is nil, is called when only the last step, the rename, is left
// to do. With its error Write ends, and nothing has changed.
func Write(path string, data []byte, check func() error) error {
	f, err := create(path, data)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if old, statErr := os.Stat(path); statErr == nil { // who may read the old one may read the new one
		err = errors.Join(f.Chmod(old.Mode().Perm()), chownLike(f, old))
	}
	return publish(f, path, err, check)
}

// WritePrivate gives the file at path new content, or makes it, for the user of this
// process alone, whoever had it or could read it. A link is replaced, not followed.
func WritePrivate(path string, data []byte) error {
	f, err := create(path, data)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	return publish(f, path, nil, nil)
}

// create makes a file beside path, for its owner alone, with content.
func create(path string, data []byte) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".todo-mcp-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(data); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// publish closes a file and gives it the name path, unless err is an error already or
// check returns one.
func publish(f *os.File, path string, err error, check func() error) error {
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	SyncFolder(filepath.Dir(path))
	return nil
}

// SyncFolder makes new names in a folder survive power loss. It ignores errors:
// not every system can sync a folder.
func SyncFolder(path string) {
	if f, err := os.Open(path); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
