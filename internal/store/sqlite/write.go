package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

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
	prepared []*sql.Stmt // all of stmt, for close
}

// statements are the prepared statements of the writing connection; see
// [writer.prepare].
type statements struct {
	begin, commit, dataVersion, version                         *sql.Stmt
	operation, list, holds, newest, record, oldest              *sql.Stmt
	insertHistory, insertList, updateList                       *sql.Stmt
	base, lastBase, insertBase, trimBases                       *sql.Stmt
	countLists, countBegun, pages, abandoned, trash             *sql.Stmt
	clearList, purged, trimHistory, forgetBases, forgetBindings *sql.Stmt
	forgetList, insertAnnouncement, trimAnnouncements           *sql.Stmt
	bindings, bind, trimBindings, insertHostCall, trimHostCalls *sql.Stmt

	keep   todo.Keep
	bases  *record.Bases
	memory *memory
	size   int64 // of the file in the open transaction, in bytes; 0 when not known
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
		&w.stmt.dataVersion:   `PRAGMA data_version`,
		&w.stmt.version:       `PRAGMA user_version`,
		&w.stmt.operation:     `SELECT list, revision FROM history WHERE operation = ? AND operation <> ''`,
		&w.stmt.list:          `SELECT revision, meta, base, drift FROM lists WHERE id = ?`,
		&w.stmt.holds:         `SELECT list FROM bindings WHERE principal = ? AND conversation = ? AND moved > 0 ORDER BY moved DESC LIMIT 1`,
		&w.stmt.newest:        selectNewest + ` WHERE l.id = ?`,
		&w.stmt.record:        selectRecord + ` WHERE h.list = ? AND h.revision = ?`,
		&w.stmt.insertHistory: `INSERT INTO history (list, revision, operation, person, body, base, sum) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		&w.stmt.insertList: `INSERT INTO lists (id, principal, client, workspace, parent, parent_conversation, conversation, begun, meta, sum,
			revision, seq, updated, base, drift, deleted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
			AND NOT EXISTS (SELECT 1 FROM bindings b WHERE b.list = l.id AND b.conversation <> l.conversation) ORDER BY updated LIMIT ?`,
		&w.stmt.trash:              `SELECT id FROM lists WHERE deleted = 1 AND updated < ? LIMIT ?`,
		&w.stmt.purged:             `SELECT revision, principal, begun FROM lists WHERE id = ?`,
		&w.stmt.clearList:          `UPDATE lists SET client = '', workspace = '', parent = '', parent_conversation = '', conversation = '', meta = ?, sum = ? WHERE id = ?`,
		&w.stmt.forgetBases:        `DELETE FROM bases WHERE list = ?`,
		&w.stmt.forgetBindings:     `DELETE FROM bindings WHERE list = ?`,
		&w.stmt.forgetList:         `DELETE FROM lists WHERE id = ?`,
		&w.stmt.oldest:             selectRecord + ` WHERE h.list = ? ORDER BY h.revision LIMIT 1`,
		&w.stmt.trimHistory:        `DELETE FROM history WHERE list = ? AND revision <= ?`,
		&w.stmt.insertAnnouncement: `INSERT INTO announcements (list, revision, call, process) VALUES (?, ?, ?, ?)`,
		&w.stmt.trimAnnouncements:  `DELETE FROM announcements WHERE seq <= ?`,
		&w.stmt.bindings:           selectBindings,
		&w.stmt.bind: `INSERT OR REPLACE INTO bindings (principal, conversation, list, seen, process, moved, at, server, until, sum)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.stmt.trimBindings: `DELETE FROM bindings WHERE (principal, conversation, list) IN
			(SELECT principal, conversation, list FROM bindings WHERE at < ? AND conversation NOT LIKE 'name:%' LIMIT 100)`,
		&w.stmt.insertHostCall: `INSERT OR REPLACE INTO host_calls (principal, id, session, agent, folder, at) VALUES (?, ?, ?, ?, ?, ?)`,
		&w.stmt.trimHostCalls:  `DELETE FROM host_calls WHERE at < ?`,
		&w.stmt.updateList:     `UPDATE lists SET revision = ?, seq = ?, updated = ?, base = ?, drift = ?, deleted = ? WHERE id = ?`,
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
	if version > newestVersion {
		return fmt.Errorf("schema version %d: %w", version, todo.ErrTooNew)
	}
	w.seen = now
	return nil
}

// write carries out a batch, commits it and reports whether any request
// succeeded. It sets saved and err of each request: one that is refused does
// not affect the others. An error that write returns is for the whole batch;
// nothing of it was applied, unless the error wraps todo.ErrUnknownOutcome.
func (w *writer) write(batch []*request) (succeeded bool, err error) {
	for _, req := range batch {
		req.saved, req.err = req.run(&w.stmt)
		if req.err != nil && !isRefusal(req.err) {
			return false, describe(w.path, req.err)
		}
		succeeded = succeeded || req.err == nil
	}
	if _, err := w.stmt.commit.Exec(); err != nil {
		if failedWith(err, codeIOErr) {
			// The commit may be in the log in spite of the error.
			err = fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, err)
		}
		return false, describe(w.path, err)
	}
	if succeeded && !w.isCurrent() {
		return false, fmt.Errorf("%w: %w: %s", todo.ErrUnknownOutcome, errGone, w.path)
	}
	return succeeded, nil
}

// isRefusal reports whether an error concerns one request only. The request must
// not have written anything before it.
func isRefusal(err error) bool {
	var conflict *todo.ConflictError
	return errors.As(err, &conflict) || errors.Is(err, todo.ErrNotFound) || errors.Is(err, todo.ErrOperationReused) ||
		errors.Is(err, todo.ErrTooManyLists) || errors.Is(err, todo.ErrStoreFull) ||
		errors.Is(err, errRecord) || failedWith(err, codeTooBig)
}

// announce stores an announcement and deletes those that are not kept any more.
func (st *statements) announce(a todo.Announcement) error {
	res, err := st.insertAnnouncement.Exec(a.List, a.Revision, a.Call, a.Process)
	if err != nil {
		return err
	}
	seq, err := res.LastInsertId()
	if err == nil {
		_, err = st.trimAnnouncements.Exec(seq - todo.KeepAnnouncements)
	}
	return err
}

// save is one snapshot to store, with bindings.
type save struct {
	next     todo.Snapshot // shares no items with the caller
	bindings []todo.Binding
	whole    string // the body of next, if it is small
	meta     string // only when a list begins
	basis    *todo.Basis
}

// run stores the snapshot in the open transaction and returns it, or for a
// repeated operation the one stored then.
func (sv *save) run(st *statements) (todo.Snapshot, error) {
	saved, err := sv.store(st)
	if failedWith(err, codeConstraint) { // the operation, which has no digest, made another revision
		if earlier, ok, err := st.repeated(sv.next.Operation); ok || err != nil {
			return earlier, err
		}
	}
	return saved, err
}

func (sv *save) store(st *statements) (todo.Snapshot, error) {
	next := sv.next
	before, err := st.newestOf(next.List.ID)
	begins := errors.Is(err, sql.ErrNoRows)
	if err != nil && !begins {
		return todo.Snapshot{}, err
	}
	// A caller repeats an operation with a digest, and may do so after others; the
	// board repeats one without, with the revision that it made.
	if next.Operation.Digest != "" || before.Revision != next.Revision-1 {
		if earlier, ok, err := st.repeated(next.Operation); ok || err != nil {
			return earlier, err
		}
	}
	switch {
	case !sv.basis.Holds(st.memory.Load()):
		return todo.Snapshot{}, outdated(st.conflict(next.List.ID))
	case begins:
		return st.beginList(sv)
	case before.Revision != next.Revision-1:
		return todo.Snapshot{}, st.conflict(next.List.ID)
	}
	next.List = before.List
	if !next.Deleted {
		if err := st.checkSize(false); err != nil {
			return todo.Snapshot{}, err
		}
	}
	seq, sum, now, err := st.appendHistory(sv, before.stored)
	if err != nil {
		return todo.Snapshot{}, err
	}
	next.Seq = seq
	if _, err = st.updateList.Exec(next.Revision, next.Seq, record.UnixNano(next.Updated), now.Base, now.Drift, next.Deleted, next.List.ID); err != nil {
		return todo.Snapshot{}, err
	}
	if err := st.bindTo(next.List.ID, sv.bindings); err != nil {
		return todo.Snapshot{}, err
	}
	st.keepList(next, now, sum)
	if next.List.Parent, err = st.parent(next.List); err != nil {
		return todo.Snapshot{}, err
	}
	return next, st.trim(next)
}

// trim deletes the revisions of a list that st.keep does not keep.
func (st *statements) trim(newest todo.Snapshot) error {
	if first := st.keep.First(newest.Revision); first > 1 {
		if err := st.trimUpTo(newest.List.ID, first-1); err != nil {
			return err
		}
	}
	err := st.trimExpired(newest)
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, errRecord) {
		return nil // an age cannot be told: what is old stays, and so does the save
	}
	return err
}

// trimUpTo deletes the revisions of a list up to one, and the base items that no
// other needs.
func (st *statements) trimUpTo(list string, revision int64) error {
	deleted, err := st.trimHistory.Exec(list, revision)
	if err != nil {
		return err
	}
	if n, err := deleted.RowsAffected(); n > 0 && err == nil {
		_, err = st.trimBases.Exec(list)
		return err
	}
	return nil
}

// trimExpired deletes the oldest revisions of a list that st.keep has expired.
func (st *statements) trimExpired(newest todo.Snapshot) error {
	if st.keep.Age <= 0 {
		return nil
	}
	witness, err := st.scan(st.record.QueryRow(newest.List.ID, st.keep.Witness(newest.Revision)))
	if err != nil {
		return err
	}
	for range todo.MaxExpired {
		oldest, err := st.scan(st.oldest.QueryRow(newest.List.ID))
		if err != nil || !st.keep.Expired(oldest, witness, newest) {
			return err
		}
		if err := st.trimUpTo(newest.List.ID, oldest.Revision); err != nil {
			return err
		}
	}
	return nil
}

// repeated returns the snapshot that an operation saved before and true, or
// false if it is new. It returns todo.ErrOperationReused if the digest
// differs.
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
	earlier, err := st.scan(st.record.QueryRow(list, revision))
	if err == nil && earlier.Operation != op {
		return todo.Snapshot{}, false, todo.ErrOperationReused
	}
	return earlier, true, err
}

// beginList saves the first revision of a list. It returns a
// *todo.ConflictError when the conversation that begins it holds another list
// than its binding expects.
func (st *statements) beginList(sv *save) (todo.Snapshot, error) {
	next := sv.next
	if next.Revision != 1 {
		return todo.Snapshot{}, fmt.Errorf("revision %d: %w", next.Revision, todo.ErrNotFound)
	}
	if len(sv.bindings) > 0 {
		b := sv.bindings[0]
		switch held, err := st.held(b.Principal, b.Conversation); {
		case err != nil:
			return todo.Snapshot{}, err
		case held != b.Over:
			return todo.Snapshot{}, st.conflict(held)
		}
	}
	begun := time.Now()
	if err := st.makeRoom(next.List, begun); err != nil {
		return todo.Snapshot{}, err
	}
	seq, sum, now, err := st.appendHistory(sv, record.Stored{})
	if err != nil {
		return todo.Snapshot{}, err
	}
	next.Seq = seq
	l := next.List
	of := listRow{id: l.ID, principal: l.Principal, client: l.Client, workspace: l.Workspace, parent: l.Parent,
		parentConversation: l.ParentConversation, conversation: l.Conversation, begun: record.UnixNano(begun), meta: []byte(sv.meta)}
	if _, err := st.insertList.Exec(of.id, of.principal, of.client, of.workspace, of.parent, of.parentConversation, of.conversation, of.begun, sv.meta, of.expectedSum(),
		next.Revision, next.Seq, record.UnixNano(next.Updated), now.Base, now.Drift, next.Deleted); err != nil {
		return todo.Snapshot{}, err
	}
	if err := st.bindTo(l.ID, sv.bindings); err != nil {
		return todo.Snapshot{}, err
	}
	st.keepList(next, now, sum)
	if next.List.Parent, err = st.parent(l); err != nil {
		return todo.Snapshot{}, err
	}
	if err := st.forgetTrash(begun); err != nil {
		return todo.Snapshot{}, err
	}
	return next, st.forgetOldBindings(begun)
}

// appendHistory inserts the row of one revision, after one that was stored with
// the given base and drift.
func (st *statements) appendHistory(sv *save, after record.Stored) (seq, sum int64, now record.Stored, err error) {
	now.Body = sv.whole
	if now.Body == "" {
		if now, err = st.encode(sv.next, after); err != nil {
			return 0, 0, now, err
		}
	}
	person := int64(0)
	if sv.next.Writer.Person {
		person = 1
	}
	list, revision, operation := sv.next.List.ID, sv.next.Revision, sv.next.Operation.ID
	sum = sumOfRevision(list, revision, operation, person, now.Base, []byte(now.Body))
	res, err := st.insertHistory.Exec(list, revision, operation, person, now.Body, now.Base, sum)
	if err != nil {
		return 0, 0, now, err
	}
	if st.size > 0 {
		st.size += int64(len(now.Body) + len(now.NewBase))
	}
	seq, err = res.LastInsertId()
	return seq, sum, now, err
}

// scan reads and decodes one revision.
func (st *statements) scan(from *sql.Row) (todo.Snapshot, error) {
	r, err := scan(from)
	if err != nil {
		return todo.Snapshot{}, err
	}
	s, err := r.snapshot(st.readBase)
	if errors.Is(err, errBaseGone) {
		err = fmt.Errorf("%w: %s", errRecord, err.Error())
	}
	return s, err
}

// outdated returns the error of a save that is based on what was in memory before.
func outdated(err error) error {
	if conflict := (*todo.ConflictError)(nil); errors.As(err, &conflict) {
		conflict.Outdated = true
	}
	return err
}

// conflict returns a *todo.ConflictError with the newest snapshot of a list; the
// zero Snapshot when there is no such list.
func (st *statements) conflict(list string) error {
	current, err := st.scan(st.newest.QueryRow(list))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return &todo.ConflictError{Current: current}
}
