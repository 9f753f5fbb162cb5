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
	return write(path, data, check, func(f *os.File) error {
		old, err := os.Stat(path)
		if err != nil {
			return nil
		}
		return errors.Join(f.Chmod(old.Mode().Perm()), chownLike(f, old)) // who may read the old one may read the new one
	})
}

// WritePrivate gives the file at path new content, or makes it, for the user of this
// process alone, whoever had it or could read it. A link is replaced, not followed.
func WritePrivate(path string, data []byte) error { return write(path, data, nil, nil) }

// write makes a file beside path, for its owner alone unless share changes that, and
// gives it the name path.
func write(path string, data []byte, check func() error, share func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".todo-mcp-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // there is none any more when it has its name
	_, err = f.Write(data)
	if share != nil {
		err = errors.Join(err, share(f))
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
