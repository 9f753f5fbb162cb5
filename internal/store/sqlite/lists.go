package sqlite

import (
	"errors"
	"fmt"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// errEncode means that a revision cannot be stored, as one with a time after the year
// 9999; others are not affected.
var errEncode = errors.New("it has no stored form")

// insertList stores the row of a list that begins with a revision, and returns its
// checksum.
func (w *writer) insertList(first todo.Snapshot, begun time.Time) (sum int64, err error) {
	l := first.List
	meta, err := record.List(l)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errEncode, err)
	}
	of := listRow{id: l.ID, principal: l.Principal, client: l.Client, workspace: l.Workspace, parent: l.Parent,
		parentConversation: l.ParentConversation, conversation: l.Conversation, begun: record.UnixNano(begun), meta: meta}
	sum = of.expectedSum()
	_, err = w.statements.exec(`INSERT INTO lists (id, principal, client, workspace, parent, parent_conversation, conversation, begun, meta, sum,
		revision, seq, updated, deleted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		of.id, of.principal, of.client, of.workspace, of.parent, of.parentConversation, of.conversation, of.begun, string(meta), sum,
		first.Revision, first.Seq, record.UnixNano(first.Updated), first.Deleted)
	return sum, err
}

// updateList makes a revision the newest of its list.
func (w *writer) updateList(next todo.Snapshot) error {
	_, err := w.statements.exec(`UPDATE lists SET revision = ?, seq = ?, updated = ?, deleted = ? WHERE id = ?`,
		next.Revision, next.Seq, record.UnixNano(next.Updated), next.Deleted, next.List.ID)
	return err
}

// appendHistory inserts the row of one revision, and returns its Seq and checksum.
func (w *writer) appendHistory(next todo.Snapshot) (seq, sum int64, err error) {
	body, err := record.Body(next)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errEncode, err)
	}
	list, person, updated := next.List.ID, number(next.Writer.Person), record.UnixNano(next.Updated)
	sum = sumOfRevision(list, next.Revision, next.Operation.ID, person, updated, body)
	res, err := w.statements.exec(`INSERT INTO history (list, revision, operation, person, updated, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		list, next.Revision, next.Operation.ID, person, updated, string(body), sum)
	if err != nil {
		return 0, 0, err
	}
	if w.size > 0 {
		w.size += int64(len(body))
	}
	seq, err = res.LastInsertId()
	return seq, sum, err
}

// trim deletes the revisions of a list that are not kept.
func (w *writer) trim(newest todo.Snapshot) error {
	upTo := w.keep.First(newest.Revision) - 1
	if upTo < 1 {
		return nil
	}
	_, err := w.statements.exec(`DELETE FROM history WHERE list = ? AND revision <= ?`, newest.List.ID, upTo)
	return err
}
