package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"todo-mcp/internal/todo"
)

// writer is the writing connection; its zero value is not open. It is not
// interrupted by callers' contexts: a transaction serves many.
type writer struct {
	path     string
	file     *file
	conn     *sql.Conn
	stmt     statements
	prepared []*sql.Stmt // the same, to be closed
}

type statements struct {
	version, operation, list, scope, record, history, begin, advance *sql.Stmt
	count, oldest, trim, announce, unannounce                        *sql.Stmt

	keep todo.Keep
}

// close ends a transaction that is open without effect. SQLite keeps a
// connection, with its locks, until its last statement is closed.
func (w *writer) close() {
	for _, s := range w.prepared {
		_ = s.Close()
	}
	if w.conn != nil {
		_ = w.conn.Close()
	}
	_ = w.file.release()
	*w = writer{}
}

// open opens the file, or opens it anew when it is another than before.
func (w *writer) open(s *Store) error {
	if w.current() {
		return nil
	}
	if w.conn != nil {
		// The file may have been moved; then what the log holds goes with it.
		_, _ = w.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint")
	}
	w.close()
	var err error
	if w.file, err = openWriter(context.Background(), s.path, s.pragmas); err != nil {
		return err
	}
	w.path, w.stmt.keep = s.path, s.keep
	if w.conn, err = w.file.db.Conn(context.Background()); err == nil {
		err = w.prepare()
	}
	if err != nil {
		w.close()
		return describe(s.path, err)
	}
	return nil
}

// current reports whether w is open on what its path names.
func (w *writer) current() bool {
	if w.file == nil {
		return false
	}
	info, err := os.Stat(w.path)
	return err == nil && w.file.is(info)
}

func (w *writer) prepare() error {
	for to, query := range map[**sql.Stmt]string{
		&w.stmt.version:    `PRAGMA user_version`,
		&w.stmt.operation:  `SELECT list, revision FROM history WHERE operation = ? AND operation <> ''`,
		&w.stmt.list:       `SELECT revision, meta FROM lists WHERE id = ?`,
		&w.stmt.scope:      `SELECT id, revision FROM lists WHERE exclusive = ?`,
		&w.stmt.record:     selectRecord + ` WHERE h.list = ? AND h.revision = ?`,
		&w.stmt.history:    `INSERT INTO history (list, revision, operation, body) VALUES (?, ?, ?, ?)`,
		&w.stmt.begin:      `INSERT INTO lists (id, scope, exclusive, principal, parent, meta, revision, seq, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.stmt.count:      `SELECT count(*) FROM lists WHERE principal = ?`,
		&w.stmt.oldest:     selectRecord + ` WHERE h.list = ? ORDER BY h.revision LIMIT 1`,
		&w.stmt.trim:       `DELETE FROM history WHERE list = ? AND revision <= ?`,
		&w.stmt.announce:   `INSERT INTO announcements (list, revision, call, process) VALUES (?, ?, ?, ?)`,
		&w.stmt.unannounce: `DELETE FROM announcements WHERE seq <= ?`,
		&w.stmt.advance:    `UPDATE lists SET revision = ?, seq = ?, updated = ? WHERE id = ?`,
	} {
		stmt, err := w.conn.PrepareContext(context.Background(), query)
		if err != nil {
			return err
		}
		*to, w.prepared = stmt, append(w.prepared, stmt)
	}
	return nil
}

// begin begins a transaction; when it returns nil nobody else writes.
func (w *writer) begin(s *Store) error {
	if err := w.open(s); err != nil {
		return err
	}
	if _, err := w.conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		return describe(w.path, err)
	}
	var version int
	err := w.stmt.version.QueryRow().Scan(&version)
	if err == nil && version > len(migrations()) {
		err = fmt.Errorf("schema version %d: %w", version, todo.ErrTooNew) // meanwhile
	}
	return describe(w.path, err)
}

// write saves a batch and commits. Each save is decided by itself: its own
// refusal is its answer. An error is the whole batch's, and none of it was
// applied unless it wraps todo.ErrUnknownOutcome.
func (w *writer) write(batch []*save) (wrote bool, err error) {
	for _, call := range batch {
		call.saved, call.err = w.stmt.save(call)
		if call.err != nil && !own(call.err) {
			return false, describe(w.path, call.err)
		}
		wrote = wrote || call.err == nil
	}
	if _, err := w.conn.ExecContext(context.Background(), "COMMIT"); err != nil {
		if failedWith(err, codeIOErr) {
			// What reached the log may yet be found there.
			err = fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, err)
		}
		return false, describe(w.path, err)
	}
	if wrote && !w.current() {
		return false, fmt.Errorf("%w: the store file %s is gone", todo.ErrUnknownOutcome, w.path)
	}
	return wrote, nil
}

// own reports whether an error is one save's own answer, given before it wrote
// anything.
func own(err error) bool {
	var conflict *todo.ConflictError
	return errors.As(err, &conflict) || errors.Is(err, todo.ErrNotFound) || errors.Is(err, todo.ErrOperationReused) ||
		errors.Is(err, todo.ErrTooManyLists) ||
		errors.Is(err, errRecord) || failedWith(err, codeTooBig)
}

// put puts up an announcement and takes down those that are not kept.
func (st *statements) put(a todo.Announcement) error {
	res, err := st.announce.Exec(a.List, a.Revision, a.Call, a.Process)
	if err != nil {
		return err
	}
	seq, err := res.LastInsertId()
	if err == nil {
		_, err = st.unannounce.Exec(seq - todo.KeepAnnouncements)
	}
	return err
}

// save decides one save.
func (st *statements) save(call *save) (todo.Snapshot, error) {
	if call.announce != nil {
		return todo.Snapshot{}, st.put(*call.announce)
	}
	next := call.next
	if done, ok, err := st.repeated(next.Operation); ok || err != nil {
		return done, err
	}
	var revision int64
	var meta []byte
	err := st.list.QueryRow(next.List.ID).Scan(&revision, &meta)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return st.beginList(call)
	case err != nil:
		return todo.Snapshot{}, err
	case revision != next.Revision-1:
		return todo.Snapshot{}, st.conflict(next.List.ID, revision)
	}
	next.List = todo.List{}
	if err := json.Unmarshal(meta, &next.List); err != nil {
		return todo.Snapshot{}, fmt.Errorf("%w: list %s: %w", errRecord, call.next.List.ID, err)
	}
	if next.Seq, err = st.append(call); err != nil {
		return todo.Snapshot{}, err
	}
	if _, err = st.advance.Exec(next.Revision, next.Seq, stamp(next.Updated), next.List.ID); err != nil {
		return todo.Snapshot{}, err
	}
	return next, st.forget(next)
}

// maxExpired bounds how many revisions that are too old go with one save.
const maxExpired = 8

// forget trims a list's history to what is kept.
func (st *statements) forget(newest todo.Snapshot) error {
	if first := st.keep.First(newest.Revision); first > 1 {
		if _, err := st.trim.Exec(newest.List.ID, first-1); err != nil {
			return err
		}
	}
	for range maxExpired {
		if st.keep.Age <= 0 {
			break
		}
		oldest, err := scan(st.oldest.QueryRow(newest.List.ID))
		if err != nil || oldest.Revision == newest.Revision || !st.keep.Expired(oldest, newest.Updated) {
			return err
		}
		if _, err := st.trim.Exec(newest.List.ID, oldest.Revision); err != nil {
			return err
		}
	}
	return nil
}

// repeated answers an operation that was applied before.
func (st *statements) repeated(op todo.Operation) (todo.Snapshot, bool, error) {
	if op.ID == "" {
		return todo.Snapshot{}, false, nil
	}
	var list string
	var revision int64
	err := st.operation.QueryRow(op.ID).Scan(&list, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return todo.Snapshot{}, false, nil
	}
	if err != nil {
		return todo.Snapshot{}, false, err
	}
	done, err := scan(st.record.QueryRow(list, revision))
	if err == nil && done.Operation != op {
		return todo.Snapshot{}, false, todo.ErrOperationReused
	}
	return done, true, err
}

// beginList saves the first revision of a list, unless its scope is taken.
func (st *statements) beginList(call *save) (todo.Snapshot, error) {
	next := call.next
	if next.Revision != 1 {
		return todo.Snapshot{}, fmt.Errorf("revision %d: %w", next.Revision, todo.ErrNotFound)
	}
	key := next.List.Scope.Key()
	exclusive := sql.NullString{String: key, Valid: next.List.Scope.Exclusive}
	if exclusive.Valid {
		var other string
		var revision int64
		if err := st.scope.QueryRow(key).Scan(&other, &revision); err == nil {
			return todo.Snapshot{}, st.conflict(other, revision)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return todo.Snapshot{}, err
		}
	}
	if err := st.room(next.List.Scope.Principal); err != nil {
		return todo.Snapshot{}, err
	}
	var err error
	if next.Seq, err = st.append(call); err != nil {
		return todo.Snapshot{}, err
	}
	_, err = st.begin.Exec(next.List.ID, key, exclusive, next.List.Scope.Principal, next.List.Parent,
		call.meta, next.Revision, next.Seq, stamp(next.Updated))
	return next, err
}

// room refuses a list past the quota.
func (st *statements) room(principal string) error {
	if st.keep.Lists <= 0 {
		return nil
	}
	var n int
	if err := st.count.QueryRow(principal).Scan(&n); err != nil {
		return err
	}
	if n >= st.keep.Lists {
		return fmt.Errorf("%w: at most %d", todo.ErrTooManyLists, st.keep.Lists)
	}
	return nil
}

// append writes the history row and returns its place.
func (st *statements) append(call *save) (seq int64, err error) {
	res, err := st.history.Exec(call.next.List.ID, call.next.Revision, call.next.Operation.ID, call.body)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// conflict is the error that carries a list's newest snapshot.
func (st *statements) conflict(list string, revision int64) error {
	current, err := scan(st.record.QueryRow(list, revision))
	if err != nil {
		return err
	}
	return &todo.ConflictError{Current: current}
}

// stamp is a time as Unix nanoseconds; times out of reach (before 1678, after
// 2262) count as the nearest.
func stamp(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}
