package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// selectBinding selects bindings.
const selectBinding = `SELECT b.principal, b.conversation, b.list, b.seen, b.process, b.moved, b.at, b.server, b.until, b.sum FROM bindings b`

// selectBindings selects those of a conversation, the one that moved last first.
const selectBindings = selectBinding + ` WHERE b.principal = ? AND b.conversation = ? ORDER BY b.moved DESC`

// Bind implements todo.Store.
func (s *Store) Bind(ctx context.Context, bindings ...todo.Binding) error {
	_, err := s.submit(ctx, func(st *statements) (todo.Snapshot, error) { return todo.Snapshot{}, st.bindTo("", bindings) })
	if err != nil {
		return fmt.Errorf("save bindings: %w", err)
	}
	return nil
}

// bindTo stores bindings; those without a list get the one with this id.
func (st *statements) bindTo(list string, bindings []todo.Binding) error {
	for _, b := range bindings {
		of := conversation{b.Principal, b.Conversation}
		bound, err := st.bindingsOf(of)
		if err != nil {
			return err
		}
		b.List = cmp.Or(b.List, list)
		bound, b = todo.Bind(bound, b, time.Now())
		if err := st.insertBinding(b); err != nil {
			return err
		}
		st.keepBindings(of, bound)
	}
	return nil
}

func (st *statements) insertBinding(b todo.Binding) error {
	at, until := record.UnixNano(b.At), int64(0)
	if !b.Until.IsZero() {
		until = record.UnixNano(b.Until)
	}
	_, err := st.bind.Exec(b.Principal, b.Conversation, b.List, b.Seen, b.Process, b.Moved, at, b.Server, until, sumOfBinding(b, at, until))
	return err
}

// held returns the list that a conversation holds, or empty.
func (st *statements) held(principal, conversation string) (list string, err error) {
	err = st.holds.QueryRow(principal, conversation).Scan(&list)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return list, err
}

// parent returns the parent that a list has now.
func (st *statements) parent(l todo.List) (string, error) {
	if l.ParentConversation == "" {
		return l.Parent, nil
	}
	return st.held(l.Principal, l.ParentConversation)
}

// Bindings implements todo.Store.
func (s *Store) Bindings(ctx context.Context, principal, key string) ([]todo.Binding, error) {
	if bound, ok := s.memory.bound(ctx, conversation{principal, key}); ok {
		return bound, nil
	}
	return s.queryBindings(ctx, selectBindings, principal, key)
}

// Holders implements todo.Store.
func (s *Store) Holders(ctx context.Context, principal, list string) ([]todo.Binding, error) {
	// With the plus sign SQLite goes by the list, which few hold, and not through all
	// bindings of the principal.
	where, args := `+b.principal = ? AND b.list = ?`, []any{principal, list}
	if list == "" {
		where, args = `b.principal = ? AND b.list <> ''`, args[:1]
	}
	return s.queryBindings(ctx, selectBinding+` WHERE `+where+` AND b.moved > 0 AND b.moved = (
		SELECT max(moved) FROM bindings WHERE principal = b.principal AND conversation = b.conversation) ORDER BY b.conversation`, args...)
}

func (s *Store) queryBindings(ctx context.Context, query string, args ...any) (found []todo.Binding, err error) {
	err = s.forEachRow(ctx, query, args, func() { found = nil }, func(rows *sql.Rows) error {
		b, err := scanBinding(rows)
		found = append(found, b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read bindings: %w", err)
	}
	return found, nil
}

// scanBinding reads one row of selectBinding.
func scanBinding(rows *sql.Rows) (b todo.Binding, err error) {
	var at, until, stored int64
	if err := rows.Scan(&b.Principal, &b.Conversation, &b.List, &b.Seen, &b.Process, &b.Moved, &at, &b.Server, &until, &stored); err != nil {
		return b, err
	}
	if sumOfBinding(b, at, until) != stored {
		return b, damaged("bindings", b.Conversation, b.List)
	}
	b.At = time.Unix(0, at).UTC()
	if until != 0 {
		b.Until = time.Unix(0, until).UTC()
	}
	return b, nil
}

func sumOfBinding(b todo.Binding, at, until int64) int64 {
	var s sum
	s.text(b.Principal)
	s.text(b.Conversation)
	s.text(b.List)
	s.number(b.Seen)
	s.text(b.Process)
	s.number(b.Moved)
	s.number(at)
	s.text(b.Server)
	s.number(until)
	return s.value()
}

// NoteHostCall implements todo.Store.
func (s *Store) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	_, err := s.submit(ctx, func(st *statements) (todo.Snapshot, error) {
		if _, err := st.insertHostCall.Exec(principal, c.ID, c.Session, c.Agent, c.Folder, record.UnixNano(at)); err != nil {
			return todo.Snapshot{}, err
		}
		_, err := st.trimHostCalls.Exec(record.UnixNano(at.Add(-todo.HostCallAge)))
		return todo.Snapshot{}, err
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
