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

// Cursors implements todo.Reader.
func (r reader) Cursors(ctx context.Context, of todo.Key) ([]todo.Cursor, error) {
	return r.cursors(ctx, whereConversation, of.Principal, of.Conversation)
}

// CursorsOn implements todo.Reader.
func (r reader) CursorsOn(ctx context.Context, principal, list string) ([]todo.Cursor, error) {
	if list == "" {
		return r.cursors(ctx, whereCurrent, principal)
	}
	return r.cursors(ctx, whereList, principal, list)
}

func (r reader) cursors(ctx context.Context, query string, args ...any) ([]todo.Cursor, error) {
	found, err := collect(ctx, r.source, query, args, scanCursor)
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
	s.number(number(c.Current))
	s.number(at)
	return s.value()
}

// number returns a truth as it is stored.
func number(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// Cursors implements todo.Tx.
func (t *tx) Cursors(_ context.Context, of todo.Key) ([]todo.Cursor, error) {
	all, _, err := t.readCursors(of)
	return slices.Clone(all), t.note(err)
}

// readCursors returns the cursors of a conversation but for the damaged ones, and
// whether there are such. It keeps them if all are good.
func (w *writer) readCursors(of todo.Key) (found []todo.Cursor, isDamaged bool, err error) {
	if known, ok := w.memory.cursors.Get(of); ok {
		return known, false, nil
	}
	rows, err := w.statements.query(context.Background(), whereConversation, []any{of.Principal, of.Conversation})
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanCursor(rows)
		if errors.Is(err, errRecord) {
			isDamaged = true
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
	if !isDamaged {
		w.keepCursors(of, found)
	}
	return found, isDamaged, nil
}

// keepCursors keeps the cursors of a conversation in memory.
func (w *writer) keepCursors(of todo.Key, all []todo.Cursor) {
	size := 128
	for _, c := range all {
		size += 256 + len(c.Principal) + len(c.Conversation)
	}
	w.memory.cursors.Put(of, all, size)
}

// SetCursor implements todo.Tx.
func (t *tx) SetCursor(_ context.Context, c todo.Cursor) error {
	if err := t.writes(func() error { return t.storeCursor(c) }); err != nil {
		return fmt.Errorf("save cursor: %w", err)
	}
	return nil
}

// storeCursor stores a cursor. It removes damaged ones of its conversation, which would
// be in the way of every read.
func (w *writer) storeCursor(c todo.Cursor) error {
	known, isDamaged, err := w.readCursors(c.Key)
	if err != nil {
		return err
	}
	all, stored := todo.SetCursor(known, c, time.Now())
	if isDamaged {
		_, err = w.statements.exec(`DELETE FROM cursors WHERE principal = ? AND conversation = ?`, c.Principal, c.Conversation)
	}
	for _, now := range all {
		ended := !now.Current && slices.ContainsFunc(known, func(c todo.Cursor) bool { return c.Current && c.List == now.List })
		if err == nil && (isDamaged || now.List == stored.List || ended) {
			err = w.insertCursor(now)
		}
	}
	if err != nil {
		return err
	}
	w.keepCursors(c.Key, all)
	return nil
}

// insertCursor stores the row of a cursor, in the place of the one that there is.
func (w *writer) insertCursor(c todo.Cursor) error {
	at, until := record.UnixNano(c.At), int64(0)
	if !c.Until.IsZero() {
		until = record.UnixNano(c.Until)
	}
	_, err := w.statements.exec(`INSERT OR REPLACE INTO cursors (principal, conversation, list, seen, process, until, moved, current, at, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.Principal, c.Conversation, c.List, c.Seen, c.Process, until, c.Moved, number(c.Current), at, sumOfCursor(c, until, at))
	return err
}

// parent returns the parent that a list has now.
func (w *writer) parent(l todo.List) (string, error) {
	if l.ParentConversation == "" {
		return l.Parent, nil
	}
	all, _, err := w.readCursors(todo.Key{Principal: l.Principal, Conversation: l.ParentConversation})
	return todo.Current(all), err
}

// NoteHostCall implements todo.Store.
func (s *Store) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	err := s.submit(ctx, func(t *tx) error {
		return t.writes(func() error {
			_, err := t.statements.exec(`INSERT OR REPLACE INTO host_calls (principal, id, session, agent, folder, at) VALUES (?, ?, ?, ?, ?, ?)`,
				principal, c.ID, c.Session, c.Agent, c.Folder, record.UnixNano(at))
			if err == nil {
				_, err = t.statements.exec(`DELETE FROM host_calls WHERE at < ?`, record.UnixNano(at.Add(-todo.HostCallAge)))
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
func (s *Store) HostCall(ctx context.Context, principal, id string) (todo.HostCall, error) {
	const query = `SELECT id, session, agent, folder FROM host_calls WHERE principal = ? AND id = ? AND at >= ?`
	found, err := collect(ctx, s, query, []any{principal, id, record.UnixNano(time.Now().Add(-todo.HostCallAge))}, func(rows *sql.Rows) (c todo.HostCall, err error) {
		return c, rows.Scan(&c.ID, &c.Session, &c.Agent, &c.Folder)
	})
	if err != nil || len(found) == 0 {
		return todo.HostCall{}, err
	}
	return found[0], nil
}
