package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// errRecord: one row cannot be read; the others can.
var errRecord = fmt.Errorf("read record: %w", todo.ErrCorrupt)

// record is what a history row holds: a snapshot without its list, which is
// the same in every revision.
type record struct {
	Revision  int64          `json:"revision"`
	Items     []todo.Item    `json:"items"`
	LastID    int            `json:"last_id"`
	Updated   time.Time      `json:"updated"`
	Writer    todo.Writer    `json:"writer,omitzero"`
	Operation todo.Operation `json:"operation,omitzero"`
}

func recordOf(s todo.Snapshot) record {
	items := s.Items
	if items == nil {
		items = []todo.Item{}
	}
	return record{s.Revision, items, s.LastID, s.Updated, s.Writer, s.Operation}
}

const selectRecord = `SELECT h.seq, h.body, l.meta FROM history h JOIN lists l ON l.id = h.list`

// selectNewest reads the newest revision of each list.
const selectNewest = `SELECT h.seq, h.body, l.meta FROM lists l JOIN history h ON h.seq = l.seq`

// scan reads one row of either.
func scan(row interface{ Scan(...any) error }) (todo.Snapshot, error) {
	var seq int64
	var body, meta []byte
	if err := row.Scan(&seq, &body, &meta); err != nil {
		return todo.Snapshot{}, err
	}
	var r record
	var list todo.List
	if err := errors.Join(json.Unmarshal(body, &r), json.Unmarshal(meta, &list)); err != nil {
		return todo.Snapshot{}, fmt.Errorf("%w: record %d: %w", errRecord, seq, err)
	}
	return todo.Snapshot{List: list, Revision: r.Revision, Items: r.Items, LastID: r.LastID,
		Updated: r.Updated, Writer: r.Writer, Operation: r.Operation, Seq: seq}, nil
}

// Load implements todo.Store.
func (s *Store) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	query, args := selectNewest+` WHERE l.id = ?`, []any{list}
	if revision != 0 {
		query, args = selectRecord+` WHERE h.list = ? AND h.revision = ?`, []any{list, revision}
	}
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
	return s.query(ctx, selectRecord+` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision LIMIT ?`, []any{list, after, noLimit(limit)})
}

// Find implements todo.Store.
func (s *Store) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	query, seq, updated := selectNewest, "l.seq", "l.updated"
	where, args := conditions(q)
	if q.Operation != "" {
		// One snapshot, of any revision: the others' conditions are about it.
		query, seq, updated = selectRecord, "h.seq", ""
		where, args = append(where, "h.operation = ? AND h.operation <> ''"), append(args, q.Operation)
	}
	if !q.UpdatedSince.IsZero() && updated != "" {
		where, args = append(where, updated+" >= ?"), append(args, stamp(q.UpdatedSince))
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
	found, err := s.query(ctx, query+" LIMIT ?", append(args, noLimit(q.Limit)))
	if q.Operation != "" {
		found = slices.DeleteFunc(found, func(f todo.Snapshot) bool { return f.Updated.Before(q.UpdatedSince) })
	}
	return found, err
}

// conditions are those on what a list is.
func conditions(q todo.Query) (where []string, args []any) {
	add := func(condition string, value any) {
		where, args = append(where, condition), append(args, value)
	}
	if q.Principal != nil {
		add("l.principal = ?", *q.Principal)
	}
	if q.Scope != "" {
		add("l.scope = ?", q.Scope)
	}
	if q.Parent != "" {
		add("l.parent = ? AND l.parent <> ''", q.Parent)
	}
	return where, args
}

// noLimit turns "0 is no limit" into SQLite's own way of saying so.
func noLimit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// query reads snapshots; none when there is no file yet. Somebody in the way is
// waited for as long as ctx allows.
func (s *Store) query(ctx context.Context, query string, args []any) ([]todo.Snapshot, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	defer s.work.Done()
	for {
		found, err := s.try(ctx, query, args)
		switch err = first(ctx.Err(), err); {
		case busy(err):
			time.Sleep(2 * time.Millisecond)
		case err != nil:
			return nil, fmt.Errorf("read snapshots: %w", err)
		default:
			return found, nil
		}
	}
}

func (s *Store) try(ctx context.Context, query string, args []any) ([]todo.Snapshot, error) {
	f, err := s.reader(ctx)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.release() //nolint:errcheck // what was read stands
	rows, err := f.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, describe(s.path, err)
	}
	defer rows.Close()
	var found []todo.Snapshot
	for rows.Next() {
		snapshot, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, snapshot)
	}
	return found, describe(s.path, rows.Err())
}

// first is the first error there is: the caller's own reason comes before the
// interrupted query it led to.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
