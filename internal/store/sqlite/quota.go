package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

// makeRoom returns an error when a list may not begin, see [todo.Keep.MakeRoom].
func (w *writer) makeRoom(l todo.List, now time.Time) error {
	keep := w.store.keep
	usage := func(since time.Time) (u todo.Usage, err error) {
		if err = w.scan(`SELECT coalesce((SELECT n FROM list_counts WHERE principal = ?1), 0),
			(SELECT count(*) FROM (SELECT 1 FROM lists WHERE conversation = ?2 AND begun >= ?3 AND principal = ?1 LIMIT ?4))`,
			[]any{l.Principal, l.Conversation, record.UnixNano(since), keep.Begun}, &u.Lists, &u.Begun); err == nil {
			u.Bytes, err = w.storeSize()
		}
		return u, err
	}
	return keep.MakeRoom(l, now, usage, func(before time.Time) error {
		return w.forgetLists(`SELECT id FROM lists l WHERE principal = ? AND revision = 1 AND updated < ? AND conversation <> ''
			AND NOT EXISTS (SELECT 1 FROM cursors c WHERE c.list = l.id AND c.conversation <> l.conversation) ORDER BY updated LIMIT ?`,
			l.Principal, record.UnixNano(before), todo.MaxAbandoned)
	})
}

// storeSize returns the size of the file in the open transaction, in bytes; 0 where it
// is not limited.
func (w *writer) storeSize() (bytes int64, err error) {
	if w.store.keep.Bytes > 0 {
		err = w.scan(`SELECT ((SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)) *
			(SELECT page_size FROM pragma_page_size)`, nil, &bytes)
	}
	return bytes, err
}

// maxTrash is how many lists, deleted long ago, one save removes.
const maxTrash = 4

// tidy removes lists that were deleted too long ago to bring them back, and some of the
// cursors that nobody has used for too long.
func (w *writer) tidy(now time.Time) error {
	if err := w.forgetLists(`SELECT id FROM lists WHERE deleted = 1 AND updated < ? LIMIT ?`, record.UnixNano(now.Add(-todo.TrashAge)), maxTrash); err != nil {
		return err
	}
	gone, err := w.exec(`DELETE FROM cursors WHERE (principal, conversation, list) IN
		(SELECT principal, conversation, list FROM cursors WHERE at < ? AND conversation NOT LIKE 'name:%' LIMIT 100)`,
		record.UnixNano(now.Add(-todo.CursorAge)))
	if err != nil {
		return err
	}
	if n, err := gone.RowsAffected(); n > 0 || err != nil {
		w.forget()
	}
	return nil
}

// forgetLists removes the lists that a query selects.
func (w *writer) forgetLists(query string, args ...any) error {
	var ids []string
	err := w.query(context.Background(), query, args, func(rows tables.Rows) (err error) {
		ids, err = tables.Collect(rows, func(rows tables.Rows) (id string, err error) { return id, rows.Scan(&id) })
		return err
	})
	for _, id := range ids {
		if err == nil {
			err = w.forgetList(id)
		}
	}
	return err
}

// forgetList removes a list with all that belongs to it.
func (w *writer) forgetList(id string) error {
	w.forget()
	for _, statement := range []string{`DELETE FROM history WHERE list = ?`, `DELETE FROM cursors WHERE list = ?`, `DELETE FROM lists WHERE id = ?`} {
		if _, err := w.exec(statement, id); err != nil {
			return err
		}
	}
	return nil
}

// Purge implements todo.Tx. One revision without content takes the place of all.
func (w *writer) Purge(_ context.Context, list string, by todo.Writer, now time.Time) error {
	var principal string
	var newest, begun int64
	err := w.scan(`SELECT principal, revision, begun FROM lists WHERE id = ?`, []any{list}, &principal, &newest, &begun)
	if errors.Is(err, sql.ErrNoRows) {
		return tables.ErrNoSnapshot
	}
	if err == nil {
		err = w.forgetList(list)
	}
	if err == nil {
		last := record.Purged(list, principal, newest, time.Unix(0, begun), by, now)
		err = w.insertList(&last, time.Unix(0, begun))
	}
	if w.note(err) != nil {
		return fmt.Errorf("purge list: %w", err)
	}
	return nil
}
