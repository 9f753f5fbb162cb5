package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// makeRoom returns an error when a list may not begin, see todo.Keep. Where only
// room is missing it first removes abandoned lists of the same principal.
func (st *statements) makeRoom(l todo.List, now time.Time) error {
	if st.keep.Begun > 0 && l.Conversation != "" {
		var n int
		day := record.UnixNano(now.Add(-24 * time.Hour))
		if err := st.countBegun.QueryRow(l.Conversation, day, l.Principal, st.keep.Begun).Scan(&n); err != nil {
			return err
		}
		if err := st.keep.CheckBegun(n); err != nil {
			return err
		}
	}
	err := st.checkRoom(l.Principal)
	if !errors.Is(err, todo.ErrTooManyLists) && !errors.Is(err, todo.ErrStoreFull) || st.keep.Abandoned <= 0 {
		return err
	}
	gone, evictErr := st.forget(st.abandoned, l.Principal, record.UnixNano(now.Add(-st.keep.Abandoned)), todo.MaxAbandoned)
	if evictErr != nil || gone == 0 {
		return firstError(evictErr, err)
	}
	return st.checkRoom(l.Principal)
}

// checkRoom returns an error when the principal has too many lists, or when the
// store is too full for another one.
func (st *statements) checkRoom(principal string) error {
	var n int
	if err := st.countLists.QueryRow(principal).Scan(&n); err != nil {
		return err
	}
	return firstError(st.keep.CheckLists(n), st.checkSize(true))
}

// checkSize returns todo.ErrStoreFull when the file is as large as it may be.
func (st *statements) checkSize(begins bool) error {
	if st.keep.Bytes <= 0 {
		return nil
	}
	if st.size == 0 {
		var pages, size int64
		if err := st.pages.QueryRow().Scan(&pages, &size); err != nil {
			return err
		}
		st.size = pages * size
	}
	return st.keep.CheckBytes(st.size, begins)
}

// maxTrash is how many lists, deleted long ago, one save removes.
const maxTrash = 4

// forgetTrash removes lists that were deleted too long ago to bring them back.
func (st *statements) forgetTrash(now time.Time) error {
	_, err := st.forget(st.trash, record.UnixNano(now.Add(-todo.TrashAge)), maxTrash)
	return err
}

// forget removes the lists that a query selects, with all that belongs to them,
// and returns how many.
func (st *statements) forget(query *sql.Stmt, args ...any) (n int, err error) {
	ids, err := idsOf(query.Query(args...))
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := st.forgetContent(id); err != nil {
			return 0, err
		}
		if _, err := st.forgetList.Exec(id); err != nil {
			return 0, err
		}
	}
	if len(ids) > 0 {
		st.memory.forget()
		st.size = 0
	}
	return len(ids), nil
}

// forgetOldCursors removes some of the cursors that nobody has used for too long.
func (st *statements) forgetOldCursors(now time.Time) error {
	gone, err := st.trimCursors.Exec(record.UnixNano(now.Add(-todo.CursorAge)))
	if err != nil {
		return err
	}
	if n, err := gone.RowsAffected(); n > 0 || err != nil {
		st.memory.forget()
	}
	return nil
}

func idsOf(rows *sql.Rows, err error) (ids []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// forgetContent removes the revisions and cursors of a list.
func (st *statements) forgetContent(id string) error {
	const all = int64(1<<63 - 1)
	_, err := st.trimHistory.Exec(id, all)
	for _, remove := range []*sql.Stmt{st.forgetBases, st.forgetCursors} {
		if err == nil {
			_, err = remove.Exec(id)
		}
	}
	return err
}

// purgeBatch is how many lists are purged in one transaction, so that writes need
// not wait long.
const purgeBatch = 50

// Purge implements todo.Store.
func (s *Store) Purge(ctx context.Context, by todo.Writer, now time.Time, lists ...string) (purged []string, err error) {
	for batch := range slices.Chunk(lists, purgeBatch) {
		some, err := s.purge(ctx, by, now, batch)
		if err != nil {
			return purged, fmt.Errorf("purge lists: %w", err)
		}
		purged = append(purged, some...)
	}
	return purged, nil
}

// purge purges lists in one transaction and returns the ids of those there were.
func (s *Store) purge(ctx context.Context, by todo.Writer, now time.Time, lists []string) ([]string, error) {
	var purged []string // not to be read after an error: the writer may still be at work
	err := s.submit(ctx, func(t *tx) error {
		return t.writes(func() error {
			for _, id := range lists {
				ok, err := t.purge(id, by, now)
				if err != nil {
					return err
				}
				if ok {
					purged = append(purged, id)
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return purged, nil
}

// purge replaces all revisions of a list by one without content, which tells
// watchers that it was deleted; ok is false when there is no such list.
func (st *statements) purge(id string, by todo.Writer, now time.Time) (ok bool, err error) {
	var revision, begun int64
	var principal string
	err = st.purged.QueryRow(id).Scan(&revision, &principal, &begun)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	st.memory.forget()
	st.size = 0
	if err := st.forgetContent(id); err != nil {
		return false, err
	}
	last := todo.Snapshot{List: todo.List{ID: id, Principal: principal, Created: time.Unix(0, begun).UTC()}, Revision: revision + 1,
		Updated: now.UTC(), Deleted: true, Writer: by}
	meta, err := record.List(last.List)
	if err != nil {
		return false, err
	}
	seq, _, _, err := st.appendHistory(last, record.Stored{})
	if err != nil {
		return false, err
	}
	of := listRow{id: id, principal: principal, begun: begun, meta: meta}
	if _, err := st.clearList.Exec(string(meta), of.expectedSum(), id); err != nil {
		return false, err
	}
	_, err = st.updateList.Exec(last.Revision, seq, record.UnixNano(now), 0, true, id)
	return true, err
}
