package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

const (
	// maxBatch is the largest number of requests in one transaction.
	maxBatch = 256
	// gracePeriod is how long a caller whose context ended waits for a running commit.
	gracePeriod = time.Second
	// maxPut is how many bytes may be put into the writer's Memory. A larger Memory is emptied before the next request.
	maxPut = 8 << 20
)

// request is the change of an update, which the writer goroutine runs in its transaction.
type request struct {
	change   func(board.Tx) error
	done     chan struct{} // closed when err is set
	err      error
	panicked string      // the value and the stack of a panic
	claimed  atomic.Bool // set when the writer runs the request, or its caller withdraws it
}

// call runs the change. It recovers from a panic; [Store.Update] then panics in the goroutine of the caller.
func (r *request) call(w *writer) {
	defer func() {
		if v := recover(); v != nil {
			r.panicked, r.err = fmt.Sprintf("%v\n%s", v, debug.Stack()), errors.New("the function panicked")
		}
	}()
	r.panicked = "" // set by an earlier try
	r.err = r.change(w)
	if w.Failed != nil && !errors.Is(r.err, w.Failed) {
		r.err = errors.Join(r.err, w.Failed) // the caller must hear of a failure that the change ignored
	}
}

// Update implements board.Store. It queues a request and waits for the writer's answer. If ctx ends, it withdraws a
// waiting request; a running one gets the grace period, and then Update returns board.ErrUnknownOutcome.
func (s *Store) Update(ctx context.Context, _ board.Key, change func(board.Tx) error) error {
	if err := s.life.Enter(ctx); err != nil {
		return err
	}
	defer s.life.Work.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	req := &request{change: change, done: make(chan struct{})}
	select {
	case s.queue <- req:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-req.done:
	case <-ctx.Done():
		if req.claimed.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		select {
		case <-req.done:
		case <-time.After(gracePeriod):
			return fmt.Errorf("%w (%w)", board.ErrUnknownOutcome, ctx.Err())
		}
	}
	if req.panicked != "" {
		panic(req.panicked)
	}
	return req.err
}

// writeLoop is the goroutine that commits the queued requests, in batches, until Close closes the queue.
func (s *Store) writeLoop() {
	w := newWriter(s)
	defer w.close()
	for first := range s.queue {
		batch := []*request{first}
		runtime.Gosched() // lets other goroutines queue requests, which then share this commit
		for len(batch) < maxBatch && len(s.queue) > 0 {
			batch = append(batch, <-s.queue)
		}
		s.commit(w, batch)
	}
}

// commit runs a batch in one transaction and answers its requests. After [errTogether], it runs each request alone.
func (s *Store) commit(w *writer, batch []*request) {
	err := w.beginTx()
	for err != nil && busy(err) && s.life.Open.Err() == nil {
		time.Sleep(2 * time.Millisecond) // SQLite returns some busy errors at once, without busy_timeout
		err = w.beginTx()
	}
	batch = slices.DeleteFunc(batch, func(r *request) bool { return !r.claimed.CompareAndSwap(false, true) }) // withdrawn
	stored := false
	if err == nil {
		if stored, err = w.write(batch); err != nil {
			err = describe(s.path, err)
		}
	}
	if errors.Is(err, errTogether) {
		for _, req := range batch {
			req.claimed.Store(false)
			s.commit(w, []*request{req})
		}
		return
	}
	if err != nil && !errors.Is(err, errGone) {
		w.close() // the next batch opens the file again
	}
	if stored {
		s.batches.Add(1)
		s.life.Hint()
	}
	for _, req := range batch {
		if err != nil {
			req.err = err
		}
		close(req.done)
	}
	if stored {
		Say(s.path)
	}
}

// writer is the writing connection, and the board.Tx of the request that it runs. It is open if conn is not nil. It
// forgets its Memory after a rollback, a removal, and a commit of another connection (SQLite's data_version).
type writer struct {
	tables.Saver
	*statements
	store  *Store
	file   *file
	conn   *sql.Conn
	seen   int64 // SQLite's data_version when the last transaction began; 0 for none
	logged int64 // the size of the log when it was last looked at

	seq int64 // the last Seq that was given; 0 if unknown, as after the Memory was emptied
}

func newWriter(s *Store) *writer {
	w := &writer{store: s}
	w.Saver = tables.Saver{Reader: tables.NewReader(queries(), w.read, &s.Health), DB: w, Keep: s.keep, Used: &s.Used, Alive: s.Alive,
		Wrap: func(_ context.Context, what string, err error) error { return fmt.Errorf("%s: %w", what, err) }}
	return w
}

// forget empties the memory.
func (w *writer) forget() { w.Memory, w.seq = tables.NewMemory(), 0 }

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

// open opens the file at the path. First it merges the log into the file that was open, even if that file was moved
// away. It does not merge into an open file that was emptied: the log does not hold the whole store.
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
	// Open a reader, too. It keeps the log's shared memory (-shm) open when the writer closes: on a full disk, a writer
	// that opens again could not make the -shm file. And a reader that opened it first, on a read-only file system,
	// would keep it read-only for the whole process, and no later write would succeed (BAD-INPUT 50).
	if f, err := s.use(context.Background()); err == nil {
		_ = f.release()
	}
	return nil
}

// errGone means that committed data is in a file or log that left its path. The connection stays open to rescue it.
var errGone = errors.New("the store file or its log (-wal) was moved, deleted or cut while in use")

// mergeLog moves everything from the log into the file, and empties the log. Either may have left its path.
func (w *writer) mergeLog() error {
	err := w.checkpoint("TRUNCATE")
	if failedWith(err, sqlite3.SQLITE_IOERR_SHORT_READ) {
		return nil // another process has merged and emptied the log
	}
	return err
}

// checkLog checks a log that became shorter: it returns an error if the log lacks pages that SQLite's index lists.
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

// settleLog merges a log that other processes left. If the sync of its last commits failed, they may be only in the
// system's memory: a power failure would lose them and all that is appended later. settleLog does not merge a log that
// another process still reads, because that process knows what is on the disk.
func (w *writer) settleLog() error {
	if w.file.log == nil || w.file.log.Size() == 0 {
		return nil
	}
	// If the file is read-only, this write fails with sqlite3.SQLITE_READONLY; a merge would fail with some I/O error.
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
		err = w.Scan(context.Background(), `PRAGMA data_version`, nil, &now)
	}
	if err == nil && now != w.seen {
		err = w.notice(now)
	}
	if err != nil {
		return describe(w.store.path, err)
	}
	return nil
}

// notice empties the memory after another connection's commit. It returns board.ErrTooNew if the schema is now newer.
func (w *writer) notice(now int64) error {
	w.forget()
	var version int
	if err := w.Scan(context.Background(), `PRAGMA user_version`, nil, &version); err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("schema version %d: %w", version, board.ErrTooNew)
	}
	w.seen = now
	return nil
}

// errTogether means that one request of a batch failed after it had written, so that the whole batch is rolled back.
var errTogether = errors.New("one of several requests failed")

// isAboutOne reports whether an error of the store concerns only the request in which it happened.
func isAboutOne(err error) bool {
	return errors.Is(err, tables.ErrEncode) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		failedWith(err, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT)
}

// write runs the requests of a batch, sets the error of each, and commits. If it returns an error, no request was stored,
// unless the error wraps board.ErrUnknownOutcome.
func (w *writer) write(batch []*request) (stored bool, err error) {
	for _, req := range batch {
		if w.Memory.Put > maxPut {
			w.forget()
		}
		before := w.ran
		w.Failed = nil
		req.call(w)
		wrote := w.ran > before
		switch {
		case w.Failed != nil && !isAboutOne(w.Failed):
			return false, w.Failed
		case req.err != nil && wrote:
			w.forget() // the Memory may have rows that are rolled back
			if err := w.Exec(`ROLLBACK`); err != nil || len(batch) == 1 {
				return false, err
			}
			return false, errTogether
		}
		stored = stored || wrote
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
