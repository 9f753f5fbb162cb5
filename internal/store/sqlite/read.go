package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// errRecord means that one record cannot be decoded; others are not affected.
var errRecord = fmt.Errorf("read record: %w", todo.ErrCorrupt)

// heldByParent selects, for a list l with a parent_conversation, the list that
// this conversation holds.
const heldByParent = `(SELECT b.list FROM bindings b WHERE l.parent_conversation <> ''
	AND b.principal = l.principal AND b.conversation = l.parent_conversation AND b.moved > 0 ORDER BY b.moved DESC LIMIT 1)`

// selectRecord selects any revisions of any lists.
const selectRecord = `SELECT h.seq, h.body, l.meta, ` + heldByParent + ` FROM history h JOIN lists l ON l.id = h.list`

// selectNewest selects the newest revision of each list.
const selectNewest = `SELECT h.seq, h.body, l.meta, ` + heldByParent + ` FROM lists l JOIN history h ON h.seq = l.seq`

// scan decodes one row of selectRecord or selectNewest.
func scan(row interface{ Scan(...any) error }) (todo.Snapshot, error) {
	var seq int64
	var body, meta []byte
	var parent sql.NullString
	if err := row.Scan(&seq, &body, &meta, &parent); err != nil {
		return todo.Snapshot{}, err
	}
	s, err := record.Snapshot(body, meta, seq)
	if s.List.ParentConversation != "" {
		s.List.Parent = parent.String
	}
	if err != nil {
		return s, fmt.Errorf("%w: %w", errRecord, err)
	}
	return s, nil
}

// Load implements todo.Store.
func (s *Store) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	query, args := selectNewest+` WHERE l.id = ?`, []any{list}
	if revision != 0 {
		query, args = selectRecord+` WHERE h.list = ? AND h.revision = ?`, []any{list, revision}
	}
	return s.one(ctx, query, args)
}

// LastBy implements todo.Store.
func (s *Store) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	return s.one(ctx, selectRecord+` WHERE h.list = ? AND h.person = ? AND h.revision <= ? ORDER BY h.revision DESC LIMIT 1`, []any{list, person, upTo})
}

// one returns the first snapshot that a query selects, or todo.ErrNotFound.
func (s *Store) one(ctx context.Context, query string, args []any) (todo.Snapshot, error) {
	found, err := s.query(ctx, query, args)
	if err == nil && len(found) == 0 {
		return todo.Snapshot{}, fmt.Errorf("read snapshot: %w", todo.ErrNotFound)
	}
	if err != nil {
		return todo.Snapshot{}, err
	}
	return found[0], nil
}

// History implements todo.Store.
func (s *Store) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return s.query(ctx, selectRecord+` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision LIMIT ?`, []any{list, after, sqlLimit(limit)})
}

// Find implements todo.Store.
func (s *Store) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	query, seq, updated := selectNewest, "l.seq", "l.updated"
	where, args := conditions(q)
	if q.Operation != "" {
		// An operation selects one revision; the other conditions apply to it.
		query, seq, updated = selectRecord, "h.seq", ""
		where, args = append(where, "h.operation = ? AND h.operation <> ''"), append(args, q.Operation)
	}
	if !q.UpdatedSince.IsZero() && updated != "" {
		where, args = append(where, updated+" >= ?"), append(args, unixNano(q.UpdatedSince))
	}
	if q.AfterSeq > 0 {
		where, args = append(where, seq+" > ?"), append(args, q.AfterSeq)
	}
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += " ORDER BY " + seq
	if !q.OldestFirst {
		query += " DESC"
	}
	found, err := s.query(ctx, query+" LIMIT ?", append(args, sqlLimit(q.Limit)))
	if q.Operation != "" {
		found = slices.DeleteFunc(found, func(f todo.Snapshot) bool { return f.Updated.Before(q.UpdatedSince) })
	}
	return found, err
}

// conditions returns the SQL conditions of q on what never changes in a list
// (principal, client, workspace) and on the parent, and their arguments.
func conditions(q todo.Query) (where []string, args []any) {
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Principal != nil {
		add("l.principal = ?", *q.Principal)
	}
	if q.Client != "" {
		add("l.client = ?", q.Client)
	}
	if q.Workspace != nil {
		add("l.workspace = ?", *q.Workspace)
	}
	if q.Parent != "" {
		add(`(l.parent = ? AND l.parent <> '' OR l.parent_conversation <> '' AND l.parent_conversation IN
			(SELECT conversation FROM bindings WHERE list = ?) AND `+heldByParent+` = ?)`, q.Parent, q.Parent, q.Parent)
	}
	return where, args
}

// sqlLimit converts a limit for SQL's LIMIT. 0 or less means no limit, which is
// -1 in SQLite.
func sqlLimit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// query returns the snapshots that a query on selectRecord or selectNewest
// selects.
func (s *Store) query(ctx context.Context, query string, args []any) (found []todo.Snapshot, err error) {
	err = s.forEachRow(ctx, query, args, func() { found = nil }, func(rows *sql.Rows) error {
		snapshot, err := scan(rows)
		found = append(found, snapshot)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	return found, nil
}

// forEachRow runs a query and calls visit for every row; for none when there is
// no file yet. While another process has the file locked it tries again until
// ctx ends. Before each try it calls restart, which discards earlier rows.
func (s *Store) forEachRow(ctx context.Context, query string, args []any, restart func(), visit func(*sql.Rows) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.work.Done()
	for {
		restart()
		err := s.tryForEachRow(ctx, query, args, visit)
		// ctx.Err() comes first, because it explains an interrupted query.
		if err = firstError(ctx.Err(), err); !busy(err) {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *Store) tryForEachRow(ctx context.Context, query string, args []any, visit func(*sql.Rows) error) error {
	f, err := s.reader(ctx)
	if f == nil || err != nil {
		return err
	}
	defer f.release() //nolint:errcheck // the rows are read already
	rows, err := f.db.QueryContext(ctx, query, args...)
	if err != nil {
		return describe(s.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return describe(s.path, rows.Err())
}

// firstError returns the first error that is not nil, or nil if all are.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
