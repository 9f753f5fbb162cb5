package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// heldByParent selects, for a list l with a parent_conversation, the list that
// this conversation holds.
const heldByParent = `(SELECT b.list FROM cursors b WHERE l.parent_conversation <> ''
	AND b.principal = l.principal AND b.conversation = l.parent_conversation AND b.current = 1)`

const columns = `SELECT h.seq, h.list, h.revision, h.operation, h.person, h.base, h.sum, h.body,
	l.id, l.principal, l.client, l.workspace, l.parent, l.parent_conversation, l.conversation, l.begun, l.sum, l.meta, l.seq, l.revision, l.drift, ` + heldByParent

// selectRecord selects any revisions of any lists.
const selectRecord = columns + ` FROM history h JOIN lists l ON l.id = h.list`

// selectNewest selects the newest revision of each list; a list without it is
// damaged.
const selectNewest = columns + ` FROM lists l LEFT JOIN history h ON h.seq = l.seq`

// The queries that name one list.
const (
	whereNewest   = selectNewest + ` WHERE l.id = ?`
	whereRevision = selectRecord + ` WHERE h.list = ? AND h.revision = ?`
	whereLastBy   = selectRecord + ` WHERE h.list = ? AND h.person = ? AND h.revision <= ? ORDER BY h.revision DESC LIMIT 1`
	whereAfter    = selectRecord + ` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision LIMIT ?`
)

// row is a row of selectRecord or selectNewest.
type row struct {
	seq, revision, person, base, sum sql.NullInt64
	list, operation, parent          sql.NullString
	body                             []byte
	of                               listRow
	newestSeq, newest, drift         int64
}

// listRow is what never changes in a row of lists.
type listRow struct {
	id, principal, client, workspace, parent, parentConversation, conversation string
	begun, sum                                                                 int64
	meta                                                                       []byte
}

func (l *listRow) expectedSum() int64 {
	var s sum
	for _, text := range []string{l.id, l.principal, l.client, l.workspace, l.parent, l.parentConversation, l.conversation} {
		s.text(text)
	}
	s.number(l.begun)
	s.bytes(l.meta)
	return s.value()
}

// scan reads one row.
func scan(from interface{ Scan(...any) error }) (r row, err error) {
	l := &r.of
	err = from.Scan(&r.seq, &r.list, &r.revision, &r.operation, &r.person, &r.base, &r.sum, &r.body,
		&l.id, &l.principal, &l.client, &l.workspace, &l.parent, &l.parentConversation, &l.conversation, &l.begun, &l.sum, &l.meta, &r.newestSeq, &r.newest, &r.drift, &r.parent)
	return r, damagedType(err)
}

// damagedType returns the error of a row's Scan. Where a column has a value of another
// type than was written, the row is damaged.
func damagedType(err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error on column") { // it has no type
		return fmt.Errorf("%w: %w; `todo-mcp check` looks for more", errRecord, err)
	}
	return err
}

// check returns an error unless the row is as it was written.
func (r *row) check() error {
	if r.of.expectedSum() != r.of.sum {
		return damaged("lists", r.of.id)
	}
	isNewest := r.seq.Int64 == r.newestSeq
	if !r.seq.Valid || r.list.String != r.of.id || isNewest != (r.revision.Int64 == r.newest) {
		return damaged("lists", r.of.id, "newest revision", r.newest)
	}
	if sumOfRevision(r.list.String, r.revision.Int64, r.operation.String, r.person.Int64, r.base.Int64, r.body) != r.sum.Int64 {
		return damaged("history", r.list.String, r.revision.Int64)
	}
	return nil
}

func sumOfRevision(list string, revision int64, operation string, person, base int64, body []byte) int64 {
	var s sum
	s.text(list)
	s.number(revision)
	s.text(operation)
	s.number(person)
	s.number(base)
	s.bytes(body)
	return s.value()
}

// snapshot returns what a row of a file says. The newest revision of a list is
// decoded once, and not if this store has saved it: rows of one Seq say the same, but
// for the parent of the list.
func (s *Store) snapshot(ctx context.Context, f *file, r *row) (todo.Snapshot, error) {
	known, ok := s.memory.saved(r)
	if !ok {
		known, ok = f.newest.Get(r.of.id)
	}
	if ok && known.Seq == r.seq.Int64 {
		if known.List.ParentConversation != "" {
			known.List.Parent = r.parent.String
		}
		return known.Clone(), r.check()
	}
	decoded, err := r.snapshot(func(id int64) (record.Base, error) { return f.base(ctx, id) })
	if err == nil && r.seq.Int64 == r.newestSeq {
		f.newest.Put(r.of.id, decoded.Clone(), record.Footprint(decoded))
	}
	return decoded, err
}

// snapshot decodes the row. read returns its base items.
func (r *row) snapshot(read func(id int64) (record.Base, error)) (todo.Snapshot, error) {
	if err := r.check(); err != nil {
		return todo.Snapshot{}, err
	}
	var b record.Base
	if r.base.Int64 > 0 {
		var err error
		if b, err = read(r.base.Int64); err != nil {
			return todo.Snapshot{}, fmt.Errorf("list %s, revision %d: %w", r.of.id, r.revision.Int64, err)
		}
		if b.List != r.of.id {
			return todo.Snapshot{}, damaged("bases", r.base.Int64, b.List)
		}
	}
	s, err := record.Snapshot(r.body, r.of.meta, b.Items, r.seq.Int64)
	if s.List.ParentConversation != "" {
		s.List.Parent = r.parent.String
	}
	if err != nil {
		return s, fmt.Errorf("%w: %w", errRecord, err)
	}
	return s, nil
}

// Load implements todo.Store.
func (s *Store) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	query, args := whereNewest, []any{list}
	if revision != 0 {
		query, args = whereRevision, []any{list, revision}
	}
	return one(s.query(ctx, query, args))
}

// LastBy implements todo.Store.
func (s *Store) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	return one(s.query(ctx, whereLastBy, []any{list, person, upTo}))
}

// one returns the first of some snapshots, or todo.ErrNotFound.
func one(found []todo.Snapshot, err error) (todo.Snapshot, error) {
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
	return s.query(ctx, whereAfter, []any{list, after, sqlLimit(limit)})
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	err = s.forEachRow(ctx, `SELECT coalesce(max(seq), 0) FROM lists`, nil, func() { seq = 0 }, func(rows *sql.Rows) error { return rows.Scan(&seq) })
	if err != nil {
		return 0, fmt.Errorf("read position: %w", err)
	}
	return seq, nil
}

// Find implements todo.Store.
func (s *Store) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	query, args := findQuery(q)
	found, err := s.query(ctx, query, args)
	return matching(q, found), err
}

// findQuery returns the SQL of a query and its arguments. What they select is still to
// be given to matching.
func findQuery(q todo.Query) (query string, args []any) {
	query, seq := selectNewest, "l.seq"
	where, args := conditions(q)
	if q.Operation != "" {
		// An operation selects one revision; the other conditions apply to it.
		query, seq = selectRecord, "h.seq"
		where, args = append(where, "h.operation = ? AND h.operation <> ''"), append(args, q.Operation)
	} else {
		if !q.UpdatedSince.IsZero() {
			where, args = append(where, "l.updated >= ?"), append(args, record.UnixNano(q.UpdatedSince))
		}
		if !q.Deleted {
			where = append(where, "l.deleted = 0")
		}
	}
	if q.AfterSeq > 0 {
		where, args = append(where, seq+" > ?"), append(args, q.AfterSeq)
	}
	if q.BeforeSeq > 0 {
		where, args = append(where, seq+" < ?"), append(args, q.BeforeSeq)
	}
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += " ORDER BY " + seq
	if !q.OldestFirst {
		query += " DESC"
	}
	return query + " LIMIT ?", append(args, sqlLimit(q.Limit))
}

// matching removes what an operation made before the time that a query asks for.
func matching(q todo.Query, found []todo.Snapshot) []todo.Snapshot {
	if q.Operation == "" {
		return found
	}
	return slices.DeleteFunc(found, func(f todo.Snapshot) bool { return f.Updated.Before(q.UpdatedSince) })
}

// conditions returns the SQL conditions of q on what never changes in a list
// (principal, client, workspace) and on the parent, and their arguments.
func conditions(q todo.Query) (where []string, args []any) {
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	switch {
	case q.Principal != nil && q.Parent != "":
		// With the plus sign SQLite goes by the parent, which few lists have, and not
		// through all lists of the principal.
		add("+l.principal = ?", *q.Principal)
	case q.Principal != nil:
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
			(SELECT conversation FROM cursors WHERE list = ?) AND `+heldByParent+` = ?)`, q.Parent, q.Parent, q.Parent)
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

// maxBaseTries is how often a query is tried because base items are missing.
const maxBaseTries = 5

// query returns the snapshots that a query on selectRecord or selectNewest
// selects.
func (s *Store) query(ctx context.Context, query string, args []any) (found []todo.Snapshot, err error) {
	tries := 0
	err = s.withFile(ctx, func(f *file) error {
		var selected []row
		err := f.forEachRow(ctx, query, args, func(rows *sql.Rows) error {
			r, err := scan(rows)
			selected = append(selected, r)
			return err
		})
		if err != nil {
			return err
		}
		// Not before the rows are closed: every connection may be busy with a query.
		found = make([]todo.Snapshot, len(selected))
		for i := range selected {
			found[i], err = s.snapshot(ctx, f, &selected[i])
			if err != nil {
				break
			}
		}
		if tries++; errors.Is(err, errBaseGone) && tries == maxBaseTries {
			err = fmt.Errorf("%w: %s", errRecord, err.Error())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	return found, nil
}

// forEachRow runs a query and calls visit for every row; for none when there is
// no file yet. Before each try it calls restart, which discards earlier rows.
func (s *Store) forEachRow(ctx context.Context, query string, args []any, restart func(), visit func(*sql.Rows) error) error {
	return s.withFile(ctx, func(f *file) error {
		restart()
		return f.forEachRow(ctx, query, args, visit)
	})
}

// withFile calls read with the file, and not at all when there is none yet. While
// another process has it locked it tries again until ctx ends.
func (s *Store) withFile(ctx context.Context, read func(*file) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.work.Done()
	locked := false
	for {
		err := s.tryWithFile(ctx, read)
		if ended := ctx.Err(); ended != nil && (locked || busy(err)) {
			return fmt.Errorf("%w: another program has %s locked; end it, or name another store with --store", ended, s.path)
		}
		// ctx.Err() comes first, because it explains an interrupted query.
		if err = firstError(ctx.Err(), err); !busy(err) && !errors.Is(err, errBaseGone) {
			return err
		}
		locked = busy(err)
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *Store) tryWithFile(ctx context.Context, read func(*file) error) error {
	f, err := s.reader(ctx)
	if f == nil || err != nil {
		return err
	}
	defer f.release() //nolint:errcheck // everything is read already
	return describe(s.path, read(f))
}

// forEachRow runs a query and calls visit for every row.
func (f *file) forEachRow(ctx context.Context, query string, args []any, visit func(*sql.Rows) error) error {
	rows, err := f.statements.query(ctx, f.db, query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
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
