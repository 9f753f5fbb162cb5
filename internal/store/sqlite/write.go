package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// writer is the writing connection; it is open if it has a connection. It is the board.Tx
// of the request that it runs. It does not use the callers' contexts, because one
// transaction serves many callers.
type writer struct {
	tables.Saver
	*statements
	store  *Store
	file   *file
	conn   *sql.Conn
	seen   int64   // SQLite's data_version when a transaction began last; 0 for none
	logged int64   // how long the log was when it was looked at last
	failed error   // the first failure of the store in the request that runs
	memory *memory // what it stored or read last
}

func newWriter(s *Store) *writer {
	w := &writer{store: s}
	w.Saver = tables.Saver{Reader: tables.NewReader(queries(), w.read, scans, &s.Health), DB: w, Keep: s.keep, Used: &tables.Used{}, Alive: s.Alive}
	w.Do = func(_ context.Context, what string, run func() error) error { return w.fail(what, run()) }
	return w
}

// memory is what the writer stored or read last, as it is in its transaction. It is
// right as long as no other connection commits: the writer asks SQLite's data_version
// before each transaction, and begins another memory where that has changed or
// something is taken back or removed.
type memory struct {
	lists map[string]todo.Snapshot // the newest revisions
	seen  map[board.Key][]board.Seen
	chats map[string]todo.Chat // the zero one where there is none
	seq   int64                // that was given last; 0 if it is not known
	put   int                  // the size of all that was put into it, in bytes: of its texts, and rowOverhead for each row
	size  int64                // of the file when it was looked at, without four times what was put then
	sized int                  // how many calls may still take it as it was
}

const (
	// maxPut is how much is put into a memory before the next request begins another one: what
	// is needed is soon there again.
	maxPut = 8 << 20
	// rowOverhead is what a row takes beside its texts, in bytes.
	rowOverhead = 1000
)

// forget begins another memory.
func (w *writer) forget() {
	w.memory = &memory{lists: make(map[string]todo.Snapshot), seen: make(map[board.Key][]board.Seen), chats: make(map[string]todo.Chat)}
}

// close rolls back a transaction that is still open and closes the file. It
// closes the statements first, because SQLite keeps a connection and its locks
// until the last statement is closed.
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

// open opens the file that the path names. First it merges the log into the file that is
// open, which may have been moved away; not into an emptied one, where that makes no whole.
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
	// SQLite keeps the shared memory of a log as it was first opened in a process, as long
	// as anyone there has it open: where the first were reads while the file system was
	// read-only, nothing could be written afterwards (BAD-INPUT 50). And it stays while the
	// writer is closed after a failure: on a full disk it could not be made again.
	if f, err := s.use(context.Background()); err == nil {
		_ = f.release()
	}
	return nil
}

// errGone means that what was committed is in a file or a log that is not there any
// more. The connection still has it, so that it must stay open until [writer.open] has
// saved what can be saved.
var errGone = errors.New("the store file or its log (-wal) was moved, deleted or cut while in use")

// mergeLog moves everything from the log into the file, and empties the log. Either may
// have been moved or deleted. An empty log that several processes still have open cannot
// be merged a second time, over what was saved since.
func (w *writer) mergeLog() error {
	err := w.checkpoint("TRUNCATE")
	if failedWith(err, codeShortRead) {
		return nil // another process has merged and emptied it
	}
	return err
}

// checkLog returns an error if a log that became shorter was cut: SQLite finds less in it
// than it knows to be there. Of one that a process merged and emptied it knows that.
func (w *writer) checkLog() error {
	err := w.checkpoint("PASSIVE")
	if failedWith(err, codeShortRead) {
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

// settleLog merges a log that other processes left. Its last commits may be in the system's
// memory alone, if their sync failed: the system does not write them again, and what is
// appended to them would be lost with them when the power goes. While others read the log it
// is left as it is: then a process lives that knows which commits are good.
func (w *writer) settleLog() error {
	if w.file.log == nil || w.file.log.Size() == 0 {
		return nil
	}
	// Merging into a file that is read-only is an I/O error like others; a write
	// says what it is.
	if _, err := w.conn.ExecContext(context.Background(), "DELETE FROM lists WHERE FALSE"); err != nil {
		return err
	}
	if err := w.mergeLog(); !errors.Is(err, errLogInUse) {
		return err
	}
	return nil
}

// isCurrent reports whether w is open on the file that its path names, which nobody has
// emptied, and on the log beside it. It notes how long that is.
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

// beginTx opens the file if need be and begins a transaction. While that is open
// no other connection can write.
func (w *writer) beginTx() error {
	before := w.logged
	if !w.isCurrent() {
		if err := w.open(); err != nil {
			return err
		}
	} else if w.logged < before {
		if err := w.checkLog(); err != nil {
			w.logged = before // to be looked at again
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

// notice forgets what is in memory, since another connection has committed, and returns
// board.ErrTooNew if that upgraded the file. now is SQLite's data_version.
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

// write runs the requests of a batch in the open transaction, and commits what they
// stored. It sets the error of each: one that is refused does not affect the others, as
// each has a savepoint unless it is alone. An error that write returns is for the whole
// batch; nothing of it was applied, unless the error wraps board.ErrUnknownOutcome.
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
		if w.memory.put > maxPut {
			w.forget()
		}
		before := w.ran
		w.failed = nil
		req.call(w)
		wrote := w.ran > before
		if isAboutOne := errors.Is(w.failed, tables.ErrEncode) || failedWith(w.failed, codeTooBig, codeConstraint); w.failed != nil && !isAboutOne {
			return false, w.failed
		}
		if req.err != nil && wrote {
			w.forget() // it may have what is taken back
			if alone {
				err = w.Exec(`ROLLBACK`)
				return false, err
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
		if failedWith(err, codeIOErr) {
			// The commit may be in the log in spite of the error.
			err = fmt.Errorf("%w (%w)", board.ErrUnknownOutcome, err)
		}
		return false, err
	}
	if stored && !w.isCurrent() {
		return false, fmt.Errorf("%w: %w", board.ErrUnknownOutcome, errGone)
	}
	return stored, nil
}
