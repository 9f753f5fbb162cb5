package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"todo-mcp/internal/atomicfile"
	"todo-mcp/internal/todo"
)

// BackUp writes a copy of the store, as it is at one moment, to a file that is not there
// yet, and that only its owner may read; others go on writing the store meanwhile. It reads
// all of the copy as [Store.Check] does, and returns how many revisions it has. Without an
// error the copy is on the disk.
func (s *Store) BackUp(ctx context.Context, to string, found func(problem string)) (revisions int, err error) {
	part := to + ".part"
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up store: %w", err)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(part + suffix)
		}
	}()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return 0, errors.Join(err, fmt.Errorf("%s is there already: name another file, or move it away", to))
	}
	if err := os.WriteFile(part, nil, 0o600); err != nil { // SQLite takes an empty file
		return 0, err
	}
	db, err := openDatabase(s.path, 1, "mode=rw", "busy_timeout(10000)")
	if err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, part)
	if err = errors.Join(describe(s.path, err), db.Close()); err != nil {
		return 0, err
	}
	if revisions, err = check(ctx, part, found); err != nil {
		return 0, err
	}
	if err := syncFile(part); err != nil {
		return 0, err
	}
	if err := os.Rename(part, to); err != nil {
		return 0, err
	}
	atomicfile.SyncFolder(filepath.Dir(to))
	return revisions, nil
}

// check is [Store.Check] of the store in a file.
func check(ctx context.Context, path string, found func(string)) (revisions int, err error) {
	s, err := Open(path, todo.Keep{})
	if err != nil {
		return 0, err
	}
	revisions, err = s.Check(ctx, found)
	return revisions, errors.Join(err, s.Close())
}

// syncFile moves what was written of a file to the disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
