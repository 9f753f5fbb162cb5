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
	"regexp"
	"slices"
	"sync/atomic"

	"modernc.org/sqlite"             // the driver and its error type
	sqlite3 "modernc.org/sqlite/lib" // result codes

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
)

var (
	errBeingCreated = errors.New("store file is being made") // another process creates or changes the file; try again
	errLogInUse     = errors.New("store is being read")      // others read the log that is to be merged; try again
)

// file is an open database with a count of its users. A nil *file means that no database is open.
type file struct {
	db    *sql.DB
	info  fs.FileInfo
	log   fs.FileInfo  // of the -wal file when the database was opened; nil if there was none
	fixed bool         // it was opened as immutable, see openReader
	users atomic.Int32 // the last release closes the database

	statements statements
}

// newFile returns the file at path that db has open. The caller is its first user.
func newFile(db *sql.DB, path string, info fs.FileInfo) *file {
	f := &file{db: db, info: info, statements: statements{db: db}}
	f.log, _ = os.Stat(path + "-wal")
	f.users.Store(1)
	return f
}

func (f *file) release() error {
	if f == nil || f.users.Add(-1) > 0 {
		return nil
	}
	return f.db.Close()
}

// isChanged reports whether a file that was read as immutable now has a log, has changed its size or time, or is gone.
func isChanged(path string, before, now fs.FileInfo) bool {
	return hasLog(path) || now == nil || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())
}

// hasLog reports whether there is a -wal file. Without such a file, no process uses the store.
func hasLog(path string) bool {
	_, err := os.Stat(path + "-wal")
	return !errors.Is(err, fs.ErrNotExist)
}

// look describes the file at path; nil, nil if there is none. Its error says what to do if no store can be at path. It
// does not open the file: only SQLite may, since closing another descriptor drops all locks that the process has on it.
func look(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, err := os.Readlink(path); err == nil {
			return nil, fmt.Errorf("open store: %s is a link to a file that is not there, %s: make that available, remove the link, or name another file with --store", path, to)
		}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("open store: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("open store: %s is a folder, name a file in it", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("open store: %s is not a file but a pipe, a socket or a device: name a file with --store", path)
	case info.Size() > 0:
		return info, nil
	}
	// SQLite would take the file for a new database and delete its log.
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		if now, err := os.Stat(path); err != nil || now.Size() > 0 {
			return look(path) // another process has just made both, the file first
		}
		return nil, fmt.Errorf("open store: %w: %s is empty, but its log %s-wal is not: restore a copy of both, move both away, or name another file with --store; they were left as they are",
			board.ErrCorrupt, path, path)
	}
	return info, nil
}

// probe returns an error if the file at path is not a store that this version can use. It does not change the file.
func probe(path string) error {
	info, err := look(path)
	if info == nil || err != nil || info.Size() == 0 {
		return err
	}
	mode, fixed := "mode=ro", !hasLog(path)
	if fixed {
		mode = "immutable=1"
	}
	f, err := openReaderAs(context.Background(), mode, path, info)
	now, _ := os.Stat(path)
	if failedWith(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY) || err != nil && fixed && isChanged(path, info, now) {
		err = nil // locked, not readable without writing, or changed meanwhile: the version cannot be read now
	}
	return errors.Join(err, f.release())
}

// openReader opens the database at path, described by info, for reading; nil, nil if it has no schema yet. Where the
// folder is read-only, SQLite can make no log, and reads only a file that is declared immutable.
func openReader(ctx context.Context, path string, info fs.FileInfo) (*file, error) {
	f, err := openReaderAs(ctx, "mode=rw", path, info)
	if failedWith(err, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) && !hasLog(path) {
		f, err = openReaderAs(ctx, "immutable=1", path, info)
		now, _ := os.Stat(path)
		switch {
		case f != nil:
			f.fixed = true
		case err != nil && isChanged(path, info, now):
			err = fmt.Errorf("%w (%w)", errBeingCreated, err)
		}
	}
	return f, err
}

// maxReaders is the number of connections that all reads share.
const maxReaders = 4

func openReaderAs(ctx context.Context, mode, path string, info fs.FileInfo) (*file, error) {
	db := openDatabase(path, maxReaders, mode, "busy_timeout(100)", "query_only(1)")
	version, err := schemaOf(ctx, db)
	if err == nil && version > 0 {
		return newFile(db, path, info), nil
	}
	return nil, errors.Join(describe(path, err), db.Close())
}

// maxLog is the size in bytes to which SQLite truncates a larger log when it begins the log anew (BAD-INPUT 65).
const maxLog = 4 << 20

// openWriter opens the database for writing, and creates a missing folder, file and schema. [makeSchema] calls say.
func openWriter(ctx context.Context, path string, pragmas []string, say func(text string)) (*file, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	// fullfsync matters only on macOS, where fsync does not reach the disk.
	settings := append([]string{"busy_timeout(200)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)", "temp_store(MEMORY)",
		fmt.Sprintf("journal_size_limit(%d)", maxLog)}, pragmas...)
	db := openDatabase(path, 1, "mode=rw", settings...)
	if err := makeSchema(ctx, db, path, say); err != nil {
		return nil, errors.Join(describe(path, err), db.Close())
	}
	return newFile(db, path, info), nil
}

// create creates an empty file at path that only its owner may read, and its folder, unless the file exists. While
// another process creates the file, under a lock that ends with that process, it returns errBeingCreated.
func create(path string) error {
	if info, err := look(path); info != nil || err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make store folder: %w", err)
	}
	unlock, err := atomicfile.TryLock(path + "-lock")
	if errors.Is(err, atomicfile.ErrLocked) {
		return errBeingCreated
	}
	if err == nil {
		err = publish(path)
		unlock()
	}
	if err != nil {
		return fmt.Errorf("make store file: %w", err)
	}
	return nil
}

// publish creates the file, if it is missing. It first removes logs of a deleted database, which SQLite would apply.
func publish(path string) error {
	if info, err := look(path); info != nil || err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := removeLeftover(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return atomicfile.Write(path, nil, nil)
}

// Tests replace these functions, to act while a file is being created, and to see which folders are synced.
var removeLeftover, syncFolder = os.Remove, atomicfile.SyncFolder

// openDatabase returns the database at path. Its connections are opened at their first use.
func openDatabase(path string, connections int, mode string, pragmas ...string) *sql.DB {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if filepath.VolumeName(path) != "" {
		u.Path = "/" + u.Path
	}
	u.RawQuery = mode + "&" + url.Values{"_pragma": pragmas}.Encode()
	db, _ := sql.Open("sqlite", u.String()) // fails only for an unknown driver
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

// describe wraps err with the path and, for a file that cannot be used, with advice. It keeps nil and ErrDamaged as is.
func describe(path string, err error) error {
	switch {
	case err == nil || errors.Is(err, board.ErrDamaged):
		return err
	case errors.Is(err, board.ErrTooNew):
		return fmt.Errorf("open store %s: %w, or name another file with --store", path, err)
	case failedWith(err, sqlite3.SQLITE_ERROR) && otherTables.MatchString(err.Error()):
		return describe(path, board.ErrTooNew) // a newer program has changed the tables meanwhile
	case errors.Is(err, board.ErrEarlier):
		return fmt.Errorf("open store %s: %w, and so does `todo-mcp lists --store sqlite:%[1]s`; it was left as it is", path, err)
	case errors.Is(err, errForeign):
		return fmt.Errorf("open store %s: %w: %w: name another file with --store; it was left as it is", path, board.ErrCorrupt, err)
	case failedWith(err, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
		return fmt.Errorf("open store %s: %w: make its folder, the file and those beside it (-wal, -shm) readable and writable, or name another file with --store", path, err)
	case failedWith(err, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
		return fmt.Errorf("open store %s: %w (%w): move the file away or restore a copy, or name another with --store; it was left as it is", path, board.ErrCorrupt, err)
	}
	return fmt.Errorf("open store %s: %w", path, err)
}

// otherTables matches SQLite's errors for a statement that does not fit the tables, since another version changed them.
var otherTables = regexp.MustCompile(`no such (table|column)|has no column`)

// failedWith reports whether err is an SQLite error with one of the result codes, primary or extended.
func failedWith(err error, codes ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (slices.Contains(codes, e.Code()&0xff) || slices.Contains(codes, e.Code()))
}

// busy reports whether to try again: others have the file locked, read a log that is to be merged, or create the file.
func busy(err error) bool {
	return errors.Is(err, errBeingCreated) || errors.Is(err, errLogInUse) || failedWith(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
}
