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

// selectCursor selects cursors.
const selectCursor = `SELECT c.principal, c.conversation, c.list, c.seen, c.process, c.until, c.moved, c.current, c.at, c.sum FROM cursors c`

const (
	// whereConversation selects those of a conversation, the one that became current
	// last first.
	whereConversation = selectCursor + ` WHERE c.principal = ? AND c.conversation = ? ORDER BY c.moved DESC`
	// whereList selects those on a list. With the plus sign SQLite goes by the list, on
	// which few are, and not through all of the principal.
	whereList = selectCursor + ` WHERE +c.principal = ? AND c.list = ? ORDER BY c.conversation`
	// whereCurrent selects the current ones of a principal.
	whereCurrent = selectCursor + ` WHERE c.principal = ? AND c.current = 1 ORDER BY c.conversation`
)

// onList returns the query of CursorsOn and its arguments.
func onList(principal, list string) (query string, args []any) {
	if list == "" {
		return whereCurrent, []any{principal}
	}
	return whereList, []any{principal, list}
}

// Cursors implements todo.Store.
func (s *Store) Cursors(ctx context.Context, of todo.Key) ([]todo.Cursor, error) {
	return s.queryCursors(ctx, whereConversation, of.Principal, of.Conversation)
}

// CursorsOn implements todo.Store.
func (s *Store) CursorsOn(ctx context.Context, principal, list string) ([]todo.Cursor, error) {
	query, args := onList(principal, list)
	return s.queryCursors(ctx, query, args...)
}

func (s *Store) queryCursors(ctx context.Context, query string, args ...any) (found []todo.Cursor, err error) {
	err = s.forEachRow(ctx, query, args, func() { found = nil }, func(rows *sql.Rows) error {
		c, err := scanCursor(rows)
		found = append(found, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read cursors: %w", err)
	}
	return found, nil
}

// scanCursor reads one row of selectCursor.
func scanCursor(rows *sql.Rows) (c todo.Cursor, err error) {
	var until, at, stored int64
	if err := rows.Scan(&c.Principal, &c.Conversation, &c.List, &c.Seen, &c.Process, &until, &c.Moved, &c.Current, &at, &stored); err != nil {
		return c, damagedType(err)
	}
	if sumOfCursor(c, until, at) != stored {
		return c, damaged("cursors", c.Conversation, c.List)
	}
	c.At = time.Unix(0, at).UTC()
	if until != 0 {
		c.Until = time.Unix(0, until).UTC()
	}
	return c, nil
}

func sumOfCursor(c todo.Cursor, until, at int64) int64 {
	var s sum
	s.text(c.Principal)
	s.text(c.Conversation)
	s.text(c.List)
	s.number(c.Seen)
	s.text(c.Process)
	s.number(until)
	s.number(c.Moved)
	s.number(isCurrent(c))
	s.number(at)
	return s.value()
}

// isCurrent returns the column current of a cursor.
func isCurrent(c todo.Cursor) int64 {
	if c.Current {
		return 1
	}
	return 0
}

// cursorsOf returns the cursors of a conversation in the open transaction.
func (st *statements) cursorsOf(of todo.Key) ([]todo.Cursor, error) {
	all, _, err := st.readCursors(of)
	return all, err
}

// readCursors returns the cursors of a conversation in the open transaction but for
// the damaged ones, and whether there are such. It keeps them if all are good.
func (st *statements) readCursors(of todo.Key) (found []todo.Cursor, damaged bool, err error) {
	if known, ok := st.memory.Load().cursors.Get(of); ok {
		return known, false, nil
	}
	rows, err := st.cursors.Query(of.Principal, of.Conversation)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanCursor(rows)
		if errors.Is(err, errRecord) {
			damaged = true
			continue
		}
		if err != nil {
			return nil, false, err
		}
		found = append(found, c)
	}
	if err := rows.Err(); err != nil {
		return nil, false, err
	}
	if !damaged {
		st.keepCursors(of, found)
	}
	return found, damaged, nil
}

// storeCursor stores a cursor in the open transaction. It removes damaged ones of its
// conversation, which would be in the way of every read.
func (st *statements) storeCursor(c todo.Cursor) error {
	known, damaged, err := st.readCursors(c.Key)
	if err != nil {
		return err
	}
	all, stored := todo.SetCursor(known, c, time.Now())
	if damaged {
		_, err = st.forgetConversation.Exec(c.Principal, c.Conversation)
	}
	for _, now := range all {
		ended := !now.Current && isCurrentIn(known, now.List)
		if err == nil && (damaged || now.List == stored.List || ended) {
			err = st.insertCursor(now)
		}
	}
	if err != nil {
		return err
	}
	st.keepCursors(c.Key, all)
	return nil
}

// isCurrentIn reports whether the cursor on a list is the current one.
func isCurrentIn(cursors []todo.Cursor, list string) bool {
	return slices.ContainsFunc(cursors, func(c todo.Cursor) bool { return c.Current && c.List == list })
}

// insertCursor stores the row of a cursor, in the place of the one that there is.
func (st *statements) insertCursor(c todo.Cursor) error {
	at, until := record.UnixNano(c.At), int64(0)
	if !c.Until.IsZero() {
		until = record.UnixNano(c.Until)
	}
	_, err := st.setCursor.Exec(c.Principal, c.Conversation, c.List, c.Seen, c.Process, until, c.Moved, isCurrent(c), at, sumOfCursor(c, until, at))
	return err
}

// held returns the list that a conversation holds, or empty.
func (st *statements) held(of todo.Key) (string, error) {
	all, err := st.cursorsOf(of)
	if err != nil || len(all) == 0 || !all[0].Current {
		return "", err
	}
	return all[0].List, nil
}

// parent returns the parent that a list has now.
func (st *statements) parent(l todo.List) (string, error) {
	if l.ParentConversation == "" {
		return l.Parent, nil
	}
	return st.held(todo.Key{Principal: l.Principal, Conversation: l.ParentConversation})
}

// NoteHostCall implements todo.Store.
func (s *Store) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	err := s.submit(ctx, func(t *tx) error {
		return t.writes(func() error {
			_, err := t.insertHostCall.Exec(principal, c.ID, c.Session, c.Agent, c.Folder, record.UnixNano(at))
			if err == nil {
				_, err = t.trimHostCalls.Exec(record.UnixNano(at.Add(-todo.HostCallAge)))
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("save host call: %w", err)
	}
	return nil
}

// HostCall implements todo.Store.
func (s *Store) HostCall(ctx context.Context, principal, id string) (c todo.HostCall, err error) {
	const query = `SELECT id, session, agent, folder FROM host_calls WHERE principal = ? AND id = ? AND at >= ?`
	err = s.forEachRow(ctx, query, []any{principal, id, record.UnixNano(time.Now().Add(-todo.HostCallAge))}, func() { c = todo.HostCall{} }, func(rows *sql.Rows) error {
		return rows.Scan(&c.ID, &c.Session, &c.Agent, &c.Folder)
	})
	if err != nil {
		return todo.HostCall{}, fmt.Errorf("read host call: %w", err)
	}
	return c, nil
}
