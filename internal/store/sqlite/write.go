package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite" // its error type

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// writer is the writing connection; the zero value is not open. It does not use
// the callers' contexts, because one transaction serves many callers.
type writer struct {
	path     string
	file     *file
	conn     *sql.Conn
	stmt     statements
	seen     int64       // SQLite's data_version when a transaction began last; 0 for none
	prepared []*sql.Stmt // those of stmt that are always there, for close
}

// statements are the prepared statements of the writing connection; see
// [writer.prepare].
type statements struct {
	begin, commit, rollback, savepoint, undo, release          *sql.Stmt
	dataVersion, version, operation, newest, record, oldest    *sql.Stmt
	insertHistory, insertList, updateList                      *sql.Stmt
	base, lastBase, insertBase, trimBases                      *sql.Stmt
	countLists, countBegun, pages, abandoned, trash            *sql.Stmt
	clearList, purged, trimHistory, forgetBases, forgetCursors *sql.Stmt
	forgetList, cursors, setCursor, trimCursors                *sql.Stmt
	forgetConversation                                         *sql.Stmt
	insertHostCall, trimHostCalls                              *sql.Stmt

	conn     *sql.Conn
	prepared map[string]*sql.Stmt // what reads of transactions needed, by SQL text
	keep     todo.Keep
	bases    *record.Bases
	memory   *memory
	size     int64 // of the file in the open transaction, in bytes; 0 when not known
}

// close rolls back a transaction that is still open and closes the file. It
// closes the statements first, because SQLite keeps a connection and its locks
// until the last statement is closed.
func (w *writer) close() {
	if w.stmt.memory != nil {
		w.stmt.memory.forget() // before others can write what it takes for its own
	}
	for _, s := range w.prepared {
		_ = s.Close()
	}
	for _, s := range w.stmt.prepared {
		_ = s.Close()
	}
	if w.conn != nil {
		_ = w.conn.Close()
	}
	_ = w.file.release()
	*w = writer{}
}

// open opens the file, unless w is open on the file that its path names.
func (w *writer) open(s *Store) error {
	if w.isCurrent() {
		return nil
	}
	if w.conn != nil {
		if err := w.mergeLog(); err != nil && w.hasItsFile() {
			return describe(w.path, fmt.Errorf("%w: %w", errLogGone, err))
		}
	}
	w.close()
	var err error
	if w.file, err = openWriter(context.Background(), s.path, s.pragmas); err != nil {
		return err
	}
	w.path, w.stmt.keep, w.stmt.bases, w.stmt.memory = s.path, s.keep, &w.file.bases, &s.memory
	if w.conn, err = w.file.db.Conn(context.Background()); err == nil {
		w.stmt.conn, w.stmt.prepared = w.conn, make(map[string]*sql.Stmt)
		err = errors.Join(w.prepare(), w.settleLog())
	}
	if err != nil {
		w.close()
		return describe(s.path, err)
	}
	s.openReader()
	return nil
}

// errGone means that what was committed is in a file or a log that is not there any
// more. The connection still has it, and [writer.open] saves what can be saved.
var errGone = errors.New("the store file or its log is gone")

// errLogGone means that the log was deleted and could not be merged into the file.
// Only the open connection has what is in it, so it must stay open.
var errLogGone = errors.New("its log (-wal) was deleted while in use")

// mergeLog moves everything from the log into the file, of which either may have
// been moved or deleted, and empties the log. Emptied, a log that several
// processes still have open cannot be merged a second time, over what was saved
// since.
func (w *writer) mergeLog() error {
	var busy, pages, moved int
	err := w.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	if e := (*sqlite.Error)(nil); errors.As(err, &e) && e.Code() == codeShortRead {
		return nil // another process has merged and emptied it
	}
	if err == nil && busy != 0 {
		err = errLogInUse
	}
	return err
}

// settleLog merges a log that other processes left. Its last commits may be in the
// system's memory alone, if their sync failed and all processes were killed: the
// system does not write them again, and what is appended to them would be lost with
// them when the power goes. While others read the log it is left as it is: then a
// process lives that knows which commits are good.
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

// isCurrent reports whether w is open on the file that its path names, and on
// the log beside it.
func (w *writer) isCurrent() bool { return w.hasItsFile() && w.file.sameLog(w.path) }

// hasItsFile reports whether w is open on the file that its path names.
func (w *writer) hasItsFile() bool {
	if w.file == nil {
		return false
	}
	info, err := os.Stat(w.path)
	return err == nil && w.file.sameFile(info)
}

func (w *writer) prepare() error {
	for stmt, query := range map[**sql.Stmt]string{
		&w.stmt.begin:         `BEGIN IMMEDIATE`,
		&w.stmt.commit:        `COMMIT`,
		&w.stmt.rollback:      `ROLLBACK`,
		&w.stmt.savepoint:     `SAVEPOINT one`,
		&w.stmt.undo:          `ROLLBACK TO one`,
		&w.stmt.release:       `RELEASE one`,
		&w.stmt.dataVersion:   `PRAGMA data_version`,
		&w.stmt.version:       `PRAGMA user_version`,
		&w.stmt.operation:     `SELECT seq FROM history WHERE operation = ? AND operation <> ''`,
		&w.stmt.newest:        whereNewest,
		&w.stmt.record:        whereRevision,
		&w.stmt.insertHistory: `INSERT INTO history (list, revision, operation, person, body, base, sum) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		&w.stmt.insertList: `INSERT INTO lists (id, principal, client, workspace, parent, parent_conversation, conversation, begun, meta, sum,
			revision, seq, updated, drift, deleted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.stmt.base:       selectBase,
		&w.stmt.lastBase:   `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'bases'), 0)`,
		&w.stmt.insertBase: `INSERT INTO bases (id, list, items, sum) VALUES (?, ?, ?, ?)`,
		&w.stmt.trimBases: `DELETE FROM bases WHERE list = ?1 AND id < (
			SELECT coalesce(min(base), 9223372036854775807) FROM history WHERE list = ?1 AND base > 0)`,
		&w.stmt.countLists: `SELECT coalesce((SELECT n FROM list_counts WHERE principal = ?), 0)`,
		&w.stmt.countBegun: `SELECT count(*) FROM (SELECT 1 FROM lists WHERE conversation = ? AND begun >= ? AND principal = ? LIMIT ?)`,
		&w.stmt.pages: `SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count),
			(SELECT page_size FROM pragma_page_size)`,
		&w.stmt.abandoned: `SELECT id FROM lists l WHERE principal = ? AND revision = 1 AND updated < ? AND conversation <> ''
			AND NOT EXISTS (SELECT 1 FROM cursors c WHERE c.list = l.id AND c.conversation <> l.conversation) ORDER BY updated LIMIT ?`,
		&w.stmt.trash:         `SELECT id FROM lists WHERE deleted = 1 AND updated < ? LIMIT ?`,
		&w.stmt.purged:        `SELECT revision, principal, begun FROM lists WHERE id = ?`,
		&w.stmt.clearList:     `UPDATE lists SET client = '', workspace = '', parent = '', parent_conversation = '', conversation = '', meta = ?, sum = ? WHERE id = ?`,
		&w.stmt.forgetBases:   `DELETE FROM bases WHERE list = ?`,
		&w.stmt.forgetCursors: `DELETE FROM cursors WHERE list = ?`,
		&w.stmt.forgetList:    `DELETE FROM lists WHERE id = ?`,
		&w.stmt.oldest:        selectRecord + ` WHERE h.list = ? ORDER BY h.revision LIMIT 1`,
		&w.stmt.trimHistory:   `DELETE FROM history WHERE list = ? AND revision <= ?`,
		&w.stmt.cursors:       whereConversation,
		&w.stmt.setCursor: `INSERT OR REPLACE INTO cursors (principal, conversation, list, seen, process, until, moved, current, at, sum)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.stmt.forgetConversation: `DELETE FROM cursors WHERE principal = ? AND conversation = ?`,
		&w.stmt.trimCursors: `DELETE FROM cursors WHERE (principal, conversation, list) IN
			(SELECT principal, conversation, list FROM cursors WHERE at < ? AND conversation NOT LIKE 'name:%' LIMIT 100)`,
		&w.stmt.insertHostCall: `INSERT OR REPLACE INTO host_calls (principal, id, session, agent, folder, at) VALUES (?, ?, ?, ?, ?, ?)`,
		&w.stmt.trimHostCalls:  `DELETE FROM host_calls WHERE at < ?`,
		&w.stmt.updateList:     `UPDATE lists SET revision = ?, seq = ?, updated = ?, drift = ?, deleted = ? WHERE id = ?`,
	} {
		prepared, err := w.conn.PrepareContext(context.Background(), query)
		if err != nil {
			return err
		}
		*stmt, w.prepared = prepared, append(w.prepared, prepared)
	}
	return nil
}

// begin opens the file if need be and begins a transaction. While that is open
// no other connection can write.
func (w *writer) begin(s *Store) error {
	if err := w.open(s); err != nil {
		return err
	}
	w.stmt.size = 0
	_, err := w.stmt.begin.Exec()
	if err == nil {
		err = w.notice()
	}
	return describe(w.path, err)
}

// notice forgets what is in memory if another connection has committed, and returns
// todo.ErrTooNew if that upgraded the file.
func (w *writer) notice() error {
	var now int64
	if err := w.stmt.dataVersion.QueryRow().Scan(&now); err != nil || now == w.seen {
		return err
	}
	w.stmt.memory.forget()
	var version int
	if err := w.stmt.version.QueryRow().Scan(&version); err != nil {
		return err
	}
	if version > schemaVersion {
		return fmt.Errorf("schema version %d: %w", version, todo.ErrTooNew)
	}
	w.seen = now
	return nil
}

// write runs the requests of a batch, commits what they stored and reports whether
// that was anything. It sets err of each request: one that is refused does not affect
// the others. An error that write returns is for the whole batch; nothing of it was
// applied, unless the error wraps todo.ErrUnknownOutcome.
func (w *writer) write(batch []*request) (stored bool, err error) {
	for _, req := range batch {
		t := &tx{statements: &w.stmt, alone: len(batch) == 1}
		req.call(t)
		if t.failed != nil && !isAboutOne(t.failed) {
			return false, describe(w.path, t.failed)
		}
		if err := t.end(req.err == nil); err != nil {
			return false, describe(w.path, err)
		}
		if t.gone {
			return false, nil
		}
		stored = stored || req.err == nil && t.writing
	}
	if _, err := w.stmt.commit.Exec(); err != nil {
		if failedWith(err, codeIOErr) {
			// The commit may be in the log in spite of the error.
			err = fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, err)
		}
		return false, describe(w.path, err)
	}
	if stored && !w.isCurrent() {
		return false, fmt.Errorf("%w: %w: %s", todo.ErrUnknownOutcome, errGone, w.path)
	}
	return stored, nil
}

// isAboutOne reports whether an error of the store concerns one request only: what it
// stored is taken back, and the transaction goes on.
func isAboutOne(err error) bool {
	return errors.Is(err, errRecord) || errors.Is(err, errEncode) || failedWith(err, codeTooBig, codeConstraint)
}
