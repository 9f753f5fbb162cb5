package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// beginList saves the first revision of a list.
func (st *statements) beginList(next todo.Snapshot) (todo.Snapshot, error) {
	begun := time.Now()
	if err := st.makeRoom(next.List, begun); err != nil {
		return todo.Snapshot{}, err
	}
	meta, err := record.List(next.List)
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("%w: %w", errEncode, err)
	}
	seq, sum, now, err := st.appendHistory(next, record.Stored{})
	if err != nil {
		return todo.Snapshot{}, err
	}
	next.Seq = seq
	l := next.List
	of := listRow{id: l.ID, principal: l.Principal, client: l.Client, workspace: l.Workspace, parent: l.Parent,
		parentConversation: l.ParentConversation, conversation: l.Conversation, begun: record.UnixNano(begun), meta: meta}
	if _, err := st.insertList.Exec(of.id, of.principal, of.client, of.workspace, of.parent, of.parentConversation, of.conversation, of.begun, string(meta), of.expectedSum(),
		next.Revision, next.Seq, record.UnixNano(next.Updated), now.Drift, next.Deleted); err != nil {
		return todo.Snapshot{}, err
	}
	st.keepList(next, now, sum)
	if next.List.Parent, err = st.parent(l); err != nil {
		return todo.Snapshot{}, err
	}
	if err := st.forgetTrash(begun); err != nil {
		return todo.Snapshot{}, err
	}
	return next, st.forgetOldCursors(begun)
}

// appendHistory inserts the row of one revision, after one that was stored with
// the given base and drift.
func (st *statements) appendHistory(next todo.Snapshot, after record.Stored) (seq, sum int64, now record.Stored, err error) {
	if now, err = st.encode(next, after); err != nil {
		return 0, 0, now, err
	}
	person := int64(0)
	if next.Writer.Person {
		person = 1
	}
	list, revision, operation := next.List.ID, next.Revision, next.Operation.ID
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
	return st.decode(&r)
}

// decode decodes a row that was read in the open transaction, in which base items that
// are missing have not just been deleted.
func (st *statements) decode(r *row) (todo.Snapshot, error) {
	s, err := r.snapshot(st.readBase)
	if errors.Is(err, errBaseGone) {
		err = fmt.Errorf("%w: %s", errRecord, err.Error())
	}
	return s, err
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
