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
