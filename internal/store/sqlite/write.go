package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// writer is the writing connection, and the board.Tx of the request that it runs. It is open if conn is not nil. As one
// transaction serves many callers, it ends with no context. The Memory is emptied when something was rolled back or
// removed, or SQLite's data_version says that another connection has committed.
type writer struct {
	tables.Saver
	*statements
	store  *Store
	file   *file
	conn   *sql.Conn
	seen   int64 // SQLite's data_version when the last transaction began; 0 for none
	logged int64 // the size of the log when it was last looked at
	failed error // the first failure of the store in the request that runs

	// What goes with the Memory:
	seq   int64 // the last that was given; 0 for unknown
	size  int64 // of the file when it was last measured, minus four times Memory.Put then
	sized int   // how many more calls may use size
}

func newWriter(s *Store) *writer {
	w := &writer{store: s}
	w.Saver = tables.Saver{Reader: tables.NewReader(queries(), w.read, &s.Health), DB: w, Keep: s.keep, Used: &tables.Used{}, Alive: s.Alive, Do: w.do}
	return w
}

// maxPut is how many bytes are put into a memory before the next request begins another one.
const maxPut = 8 << 20

// forget empties the memory.
func (w *writer) forget() {
	w.Memory, w.seq, w.size, w.sized = tables.NewMemory(), 0, 0, 0
}

// close rolls back a transaction that is still open and closes the file. It closes the statements first, because SQLite
// keeps a connection and its locks until the last statement is closed.
func (w *writer) close() {
	if w.conn != nil {
		for _, stmt := range w.of.Range {
			_ = stmt.(*sql.Stmt).Close()
		}
		_ = w.conn.Close()
	}
	_ = w.file.release()
	*w = writer{store: w.store, Saver: w.Saver}
}

// open opens the file at the path. First it merges the log into the file that was open, which may have been moved away;
// not into an emptied file, where that makes no whole one.
func (w *writer) open() error {
	s := w.store
	if w.conn != nil {
		_, err := s.stat()
		now, _ := os.Stat(s.path)
		isThere := w.file != nil && now != nil && os.SameFile(w.file.info, now)
		if err == nil || !isThere {
			err = describe(s.path, w.mergeLog())
		}
		if err != nil && isThere {
			return fmt.Errorf("%w: %w", errGone, err)
		}
	}
	w.close()
	_, err := s.stat()
	if err != nil {
		return err
	}
	if w.file, err = openWriter(context.Background(), s.path, s.pragmas, nil); err != nil {
		return err
	}
	s.had.Store(true)
	w.forget()
	if w.conn, err = w.file.db.Conn(context.Background()); err == nil {
		w.statements = &statements{db: w.conn}
		err = w.settleLog()
	}
	if err != nil {
		w.close()
		return describe(s.path, err)
	}
	// Now a reader is opened, too. SQLite keeps the shared memory of a log as it was first opened, as long as the
	// process has the log open. If that was on a read-only file system, nothing could be written later (BAD-INPUT 50).
	// And on a full disk a writer that opens again after a failure could not make it.
	if f, err := s.use(context.Background()); err == nil {
		_ = f.release()
	}
	return nil
}

// errGone means that what was committed is in a file or log that left its path. The connection must stay open until
// [writer.open] has saved what can be saved.
var errGone = errors.New("the store file or its log (-wal) was moved, deleted or cut while in use")

// mergeLog moves everything from the log into the file, and empties the log. Either may have left its path.
func (w *writer) mergeLog() error {
	err := w.checkpoint("TRUNCATE")
	if failedWith(err, sqlite3.SQLITE_IOERR_SHORT_READ) {
		return nil
	}
	return err
}

// checkLog returns an error if a log that became shorter was cut: it has less than SQLite's shared memory says.
func (w *writer) checkLog() error {
	err := w.checkpoint("PASSIVE")
	if failedWith(err, sqlite3.SQLITE_IOERR_SHORT_READ) {
		return fmt.Errorf("%w: %s was cut, and what was saved last is lost: end all programs that use the store, then run `todo-mcp check`; if that finds a problem, restore a backup (`todo-mcp backup --restore FILE`)", errGone, w.store.log)
	}
	return describe(w.store.path, err)
}

func (w *writer) checkpoint(mode string) error {
	var busy, pages, moved int
	err := w.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &moved)
	if err == nil && busy != 0 {
		err = errLogInUse
	}
	return err
}

// settleLog merges a log that other processes left. If the sync of its last commits failed, they may be in the system's
// memory alone, and are not written again: what is appended would be lost with them at a power failure. While others
// read the log it is left alone: one of them knows which commits are on the disk.
func (w *writer) settleLog() error {
	if w.file.log == nil || w.file.log.Size() == 0 {
		return nil
	}
	// Merging into a read-only file fails with an I/O error like others; a write fails with sqlite3.SQLITE_READONLY.
	if _, err := w.conn.ExecContext(context.Background(), "DELETE FROM lists WHERE FALSE"); err != nil {
		return err
	}
	if err := w.mergeLog(); !errors.Is(err, errLogInUse) {
		return err
	}
	return nil
}

// isCurrent reports whether the open file and log are those at their paths, and not empty. It notes the log's size.
func (w *writer) isCurrent() bool {
	if w.file == nil || w.file.log == nil {
		return false
	}
	now, err1 := os.Stat(w.store.path)
	log, err2 := os.Stat(w.store.log)
	if err1 != nil || err2 != nil || now.Size() == 0 || !os.SameFile(w.file.info, now) || !os.SameFile(w.file.log, log) {
		return false
	}
	w.logged = log.Size()
	return true
}

// beginTx opens the file if need be and begins a transaction. Until it ends no other connection can write.
func (w *writer) beginTx() error {
	before := w.logged
	if !w.isCurrent() {
		if err := w.open(); err != nil {
			return err
		}
	} else if w.logged < before {
		if err := w.checkLog(); err != nil {
			w.logged = before // so that the next transaction checks again
			return err
		}
	}
	var now int64
	err := w.Exec(`BEGIN IMMEDIATE`)
	if err == nil {
		err = w.scan(`PRAGMA data_version`, nil, &now)
	}
	if err == nil && now != w.seen {
		err = w.notice(now)
	}
	if err != nil {
		return describe(w.store.path, err)
	}
	return nil
}

// notice empties the memory after another connection's commit, or returns board.ErrTooNew if that changed the schema.
func (w *writer) notice(now int64) error {
	w.forget()
	var version int
	if err := w.scan(`PRAGMA user_version`, nil, &version); err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("schema version %d: %w", version, board.ErrTooNew)
	}
	w.seen = now
	return nil
}

// write runs the requests of a batch in the open transaction, and commits. It sets the error of each: one that fails
// does not affect the others. Its own error is for the whole batch: nothing was stored, unless it wraps
// board.ErrUnknownOutcome.
func (w *writer) write(batch []*request) (stored bool, err error) {
	alone := len(batch) == 1
	unlessAlone := func(statement string) {
		if !alone && err == nil {
			err = w.Exec(statement)
		}
	}
	for _, req := range batch {
		unlessAlone(`SAVEPOINT request`)
		if err != nil {
			return false, err
		}
		if w.Memory.Put > maxPut {
			w.forget()
		}
		before := w.ran
		w.failed = nil
		req.call(w)
		wrote := w.ran > before
		isAboutOne := func(err error) bool {
			return errors.Is(err, tables.ErrEncode) || failedWith(err, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT)
		}
		if w.failed != nil && !isAboutOne(w.failed) {
			return false, w.failed
		}
		if req.err != nil && wrote {
			w.forget() // the memory may have what is rolled back
			if alone {
				return false, w.Exec(`ROLLBACK`)
			}
			unlessAlone(`ROLLBACK TO request`)
		}
		unlessAlone(`RELEASE request`)
		stored = stored || wrote && req.err == nil
	}
	if err != nil {
		return false, err
	}
	if err := w.Exec(`COMMIT`); err != nil {
		if failedWith(err, sqlite3.SQLITE_IOERR) {
			err = fmt.Errorf("%w (%w)", board.ErrUnknownOutcome, err) // the commit may be in the log
		}
		return false, err
	}
	if stored && !w.isCurrent() {
		return false, fmt.Errorf("%w: %w", board.ErrUnknownOutcome, errGone)
	}
	return stored, nil
}
