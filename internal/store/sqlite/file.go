package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite" // the driver, and its errors

	"todo-mcp/internal/todo"
)

// readers is how many connections read at the same time.
const readers = 4

// staleAfter is when the mark of a process that makes the file is taken for a
// dead one's: making it takes microseconds.
const staleAfter = 5 * time.Second

// errBeingMade: another process is just making the file; try again.
var errBeingMade = errors.New("store file is being made")

// file is an open database and which file it is. Who opened it counts as one of
// its users; the last to release it closes it. A nil file is not open.
type file struct {
	db    *sql.DB
	info  fs.FileInfo
	users atomic.Int32
}

func newFile(db *sql.DB, info fs.FileInfo) *file {
	f := &file{db: db, info: info}
	f.users.Store(1)
	return f
}

func (f *file) release() error {
	if f == nil || f.users.Add(-1) > 0 {
		return nil
	}
	return f.db.Close()
}

// is reports whether f is open on the file that info tells about.
func (f *file) is(info fs.FileInfo) bool {
	return f != nil && info != nil && os.SameFile(f.info, info)
}

// stat tells about a file; nil when there is none or it is empty. No descriptor
// of the file is ever opened beside SQLite's: closing one would take away the
// locks of the whole process.
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("open store: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("open store: %s is a folder, name a file in it", path)
	case info.Size() == 0:
		return nil, nil
	}
	return info, nil
}

// probe looks at a file and leaves it as it is, byte for byte. While no process
// has a log beside the file there is nothing to lock.
func probe(path string) error {
	if info, err := stat(path); info == nil || err != nil {
		return err
	}
	how := "mode=ro"
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		how = "immutable=1"
	}
	db, err := sql.Open("sqlite", dsn(path, how, "busy_timeout(1000)"))
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	_, err = check(context.Background(), db)
	if failedWith(err, codeBusy, codeReadOnly) {
		err = nil // somebody works on it; it cannot be told now
	}
	return errors.Join(describe(path, err), db.Close())
}

// openReader opens for reading; nil when no schema is there yet, as when
// another process is just making it.
func openReader(ctx context.Context, path string, info fs.FileInfo, connections int) (*file, error) {
	db, err := sql.Open("sqlite", dsn(path, "mode=rw", "busy_timeout(100)", "query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	version, err := check(ctx, db)
	if err == nil && version > 0 && version < len(migrations()) {
		err = upgrade(ctx, path)
	}
	if err == nil && version > 0 {
		return newFile(db, info), nil
	}
	return nil, errors.Join(describe(path, err), db.Close())
}

// upgrade brings a file that an older version wrote to our schema.
func upgrade(ctx context.Context, path string) error {
	f, err := openWriter(ctx, path, nil)
	if err != nil {
		return err
	}
	return f.release()
}

// openWriter makes the folder, the file and the schema as need be.
func openWriter(ctx context.Context, path string, pragmas []string) (*file, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	// fullfsync matters on macOS alone, where fsync does not reach the disk.
	settings := append([]string{"busy_timeout(200)", "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)"}, pragmas...)
	db, err := sql.Open("sqlite", dsn(path, "mode=rw", settings...))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.SetMaxOpenConns(1)
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(describe(path, err), db.Close())
	}
	return newFile(db, info), nil
}

// create makes an empty file that only its owner may read, and its folder,
// unless there is one. The file is made under another name, which keeps other
// processes from making it too, and closed before SQLite can have it open.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make store folder: %w", err)
	}
	mark := path + "-new"
	f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(mark)
		}
		return errBeingMade
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = publish(mark, path)
	}
	if err != nil {
		_ = os.Remove(mark)
		return fmt.Errorf("make store file: %w", err)
	}
	return nil
}

// publish gives the new file its name. What a deleted database left beside it
// goes first: SQLite would take it for this one's.
func publish(mark, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(mark))
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(mark, path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(path))
	syncFolder(filepath.Dir(filepath.Dir(path)))
	return nil
}

// syncFolder makes names in a folder outlive power loss, where that is possible.
func syncFolder(path string) {
	if f, err := os.Open(path); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

func dsn(path, how string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if filepath.VolumeName(path) != "" {
		u.Path = "/" + u.Path
	}
	u.RawQuery = how + "&" + url.Values{"_pragma": pragmas}.Encode()
	return u.String()
}

// describe says what a person can do about a file that cannot be used.
func describe(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, todo.ErrTooNew):
		return fmt.Errorf("open store %s: %w: use the todo-mcp that wrote it or a later one, or name another file with --store", path, err)
	case errors.Is(err, errForeign):
		return fmt.Errorf("open store %s: %w: %w: name another file with --store; it was left as it is", path, todo.ErrCorrupt, err)
	case failedWith(err, codeCorrupt, codeNotADB):
		return fmt.Errorf("open store %s: %w (%w): move the file away or restore a copy, or name another with --store; it was left as it is", path, todo.ErrCorrupt, err)
	}
	return fmt.Errorf("open store %s: %w", path, err)
}

// SQLite's primary result codes that we tell apart.
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeProtocol = 15 // a race for locks, to be tried again
	codeTooBig   = 18
	codeNotADB   = 26
)

// failedWith reports whether err is SQLite's with one of the primary codes.
func failedWith(err error, codes ...int) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range codes {
		if e.Code()&0xff == code {
			return true
		}
	}
	return false
}

// busy reports whether somebody else is in the way, so that it helps to wait.
func busy(err error) bool {
	return errors.Is(err, errBeingMade) || failedWith(err, codeBusy, codeProtocol)
}
