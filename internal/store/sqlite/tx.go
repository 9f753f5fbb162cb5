package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

var _ todo.Tx = (*writer)(nil)

// read is the [tables.Query] of the transaction. It does not end with a context: the
// transaction of others would end with it.
func (w *writer) read(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
	err := w.note(w.query(context.Background(), query, args, read))
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// note notes a failure of the store, and returns it.
func (w *writer) note(err error) error {
	if err != nil && !todo.IsRefusal(err) && w.failed == nil {
		w.failed = err
	}
	return err
}

// Cursors implements todo.Tx.
func (w *writer) Cursors(_ context.Context, of todo.Key) ([]todo.Cursor, error) {
	all, _, err := w.cursorsOf(of)
	return slices.Clone(all), w.note(err)
}

// Load implements todo.Tx. It keeps the newest revisions that it reads.
func (w *writer) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	if revision != 0 && w.memory.lists[list].Revision != revision {
		return w.Reader.Load(ctx, list, revision)
	}
	found, ok := w.memory.lists[list]
	if !ok {
		if found, err = w.Reader.Load(ctx, list, 0); err != nil {
			return found, err
		}
		w.grow(record.Footprint(found))
		w.memory.lists[list] = found
	}
	if l := &found.List; l.ParentConversation != "" {
		all, _, err := w.cursorsOf(todo.Key{Principal: l.Principal, Conversation: l.ParentConversation})
		l.Parent = todo.Current(all)
		return found, w.note(err)
	}
	return found, nil
}

// Save implements todo.Tx. It deletes the revisions that are not kept any more.
func (w *writer) Save(ctx context.Context, next todo.Snapshot) (saved todo.Snapshot, err error) {
	defer func() {
		if w.note(err) != nil {
			saved, err = todo.Snapshot{}, fmt.Errorf("save snapshot: %w", err)
		}
	}()
	before, err := w.Load(ctx, next.List.ID, 0)
	if err != nil && !errors.Is(err, todo.ErrNotFound) {
		return next, err
	}
	if next.Revision != before.Revision+1 && (before.Revision > 0 || next.Revision < 1) {
		return next, fmt.Errorf("revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, todo.ErrNotFound)
	}
	next = next.Clone()
	if before.Revision == 0 {
		return w.begin(ctx, next, time.Now())
	}
	next.List = before.List
	size, err := w.storeSize()
	if err == nil && !next.Deleted {
		err = w.store.keep.CheckBytes(size, false)
	}
	if err == nil {
		err = w.appendHistory(&next)
	}
	if err != nil {
		return next, err
	}
	_, err = w.exec(`UPDATE lists SET revision = ?, seq = ?, updated = ?, deleted = ? WHERE id = ?`,
		next.Revision, next.Seq, record.UnixNano(next.Updated), next.Deleted, next.List.ID)
	if first := w.store.keep.First(next.Revision); err == nil && first > 1 {
		_, err = w.exec(`DELETE FROM history WHERE list = ? AND revision < ?`, next.List.ID, first)
	}
	return next, err
}

// begin stores the first revision of a list, if there is room, and tidies up.
func (w *writer) begin(ctx context.Context, first todo.Snapshot, now time.Time) (todo.Snapshot, error) {
	err := w.makeRoom(first.List, now)
	if err == nil {
		err = w.insertList(&first, now)
	}
	if err != nil {
		return first, err
	}
	saved, err := w.Load(ctx, first.List.ID, 0)
	if err == nil {
		err = w.tidy(now)
	}
	return saved, err
}

// errEncode means that a revision cannot be stored, as one with a time after the year
// 9999; others are not affected.
var errEncode = errors.New("it has no stored form")

// insertList stores the row of a list that began at a time, and of its one revision.
func (w *writer) insertList(first *todo.Snapshot, begun time.Time) error {
	values, err := tables.ListValues(*first, begun)
	if err != nil {
		return fmt.Errorf("%w: %w", errEncode, err)
	}
	if err := w.appendHistory(first); err != nil {
		return err
	}
	_, err = w.exec(`INSERT INTO lists (id, principal, client, workspace, parent, parent_conversation, conversation, begun, meta, sum,
		revision, seq, updated, deleted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append(values, sumOf(values...), first.Revision, first.Seq, record.UnixNano(first.Updated), first.Deleted)...)
	return err
}

// appendHistory inserts the row of one revision, sets its Seq and keeps it in memory.
func (w *writer) appendHistory(next *todo.Snapshot) error {
	body, err := record.Body(*next)
	if err != nil {
		return fmt.Errorf("%w: %w", errEncode, err)
	}
	values := []any{next.List.ID, next.Revision, next.Operation.ID, next.Writer.Person, record.UnixNano(next.Updated)}
	sum := sumOf(append(values, body)...)
	done, err := w.exec(`INSERT INTO history (list, revision, operation, person, updated, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		append(values, string(body), sum)...)
	if err != nil {
		return err
	}
	if next.Seq, err = done.LastInsertId(); err == nil {
		w.grow(record.Footprint(*next))
		w.memory.lists[next.List.ID] = *next
	}
	return err
}

// cursorsOf returns the cursors of a conversation but for the damaged ones, and
// whether there are such. It keeps them if all are good.
func (w *writer) cursorsOf(of todo.Key) (found []todo.Cursor, isDamaged bool, err error) {
	if known, ok := w.memory.cursors[of]; ok {
		return known, false, nil
	}
	err = w.query(context.Background(), queries.CursorsOf, []any{of.Principal, of.Conversation}, func(rows tables.Rows) error {
		for rows.Next() {
			c, err := scanCursor(rows)
			switch {
			case errors.Is(err, errRecord):
				isDamaged = true
			case err != nil:
				return err
			default:
				found = append(found, c)
			}
		}
		return rows.Err()
	})
	if err == nil && !isDamaged {
		w.grow((len(found) + 1) * (256 + len(of.Principal) + len(of.Conversation)))
		w.memory.cursors[of] = found
	}
	return found, isDamaged, err
}

// SetCursor implements todo.Tx. It removes damaged cursors of the conversation, which
// would be in the way of every read.
func (w *writer) SetCursor(_ context.Context, c todo.Cursor) error {
	known, isDamaged, err := w.cursorsOf(c.Key)
	if err == nil && isDamaged {
		_, err = w.exec(`DELETE FROM cursors WHERE principal = ? AND conversation = ?`, c.Principal, c.Conversation)
	}
	all, set := todo.SetCursor(known, c, time.Now())
	for _, now := range all {
		ended := !now.Current && now.List == todo.Current(known)
		if err == nil && (isDamaged || now.List == set.List || ended) {
			values := tables.CursorValues(now)
			_, err = w.exec(`INSERT OR REPLACE INTO cursors (principal, conversation, list, seen, process, until, moved, current, at, sum)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(values, sumOf(values...))...)
		}
	}
	if err == nil {
		w.grow((len(all) + 1) * (256 + len(c.Principal) + len(c.Conversation)))
		w.memory.cursors[c.Key] = all
	}
	if w.note(err) != nil {
		return fmt.Errorf("save cursor: %w", err)
	}
	return nil
}
