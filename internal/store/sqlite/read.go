package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

// queries are what is read of the tables; a list without its newest revision is damaged.
var queries = tables.Dialect{
	Columns: `h.seq, h.list, h.revision, h.operation, h.person, h.updated, h.body, h.sum,
		l.id, l.principal, l.client, l.workspace, l.parent, l.parent_conversation, l.conversation, l.begun, l.meta, l.sum, l.seq, l.revision`,
	Newest:        `LEFT JOIN history h ON h.seq = l.seq`,
	CursorColumns: `, c.sum`,
	True:          `1`,
}.Queries()

// row is a row of a query for snapshots.
type row struct {
	// Of history; null for a list without its newest revision.
	seq, revision, person, updated, sum sql.NullInt64
	list, operation                     sql.NullString
	body                                sql.RawBytes
	// Of lists.
	id, principal, client, workspace, parent, parentConversation, conversation string
	begun, listSum, newestSeq, newest                                          int64
	meta                                                                       sql.RawBytes
	current                                                                    string // the list of the parent's conversation
}

// scan reads one row, whose body is good until the next one is read.
func (r *row) scan(rows tables.Rows) error {
	return damagedType(rows.Scan(&r.seq, &r.list, &r.revision, &r.operation, &r.person, &r.updated, &r.body, &r.sum,
		&r.id, &r.principal, &r.client, &r.workspace, &r.parent, &r.parentConversation, &r.conversation, &r.begun, &r.meta, &r.listSum,
		&r.newestSeq, &r.newest, &r.current))
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
	if sumOf(r.id, r.principal, r.client, r.workspace, r.parent, r.parentConversation, r.conversation, r.begun, r.meta) != r.listSum {
		return damaged("lists", r.id)
	}
	isNewest := r.seq.Int64 == r.newestSeq
	if !r.seq.Valid || r.list.String != r.id || isNewest != (r.revision.Int64 == r.newest) {
		return damaged("lists", r.id, "newest revision", r.newest)
	}
	if sumOf(r.list.String, r.revision.Int64, r.operation.String, r.person.Int64, r.updated.Int64, r.body) != r.sum.Int64 {
		return damaged("history", r.list.String, r.revision.Int64)
	}
	return nil
}

// snapshot returns what the row says.
func (r *row) snapshot() (todo.Snapshot, error) {
	if err := r.check(); err != nil {
		return todo.Snapshot{}, err
	}
	s, err := record.Snapshot(r.body, r.meta, r.seq.Int64)
	if err != nil {
		return s, fmt.Errorf("%w: %w", errRecord, err)
	}
	if s.List.ParentConversation != "" {
		s.List.Parent = r.current
	}
	return s, nil
}

// scanSnapshot reads a row of a query for snapshots.
func scanSnapshot(rows tables.Rows) (todo.Snapshot, error) {
	var r row
	if err := r.scan(rows); err != nil {
		return todo.Snapshot{}, err
	}
	return r.snapshot()
}

// scanCursor reads a row of a query for cursors.
func scanCursor(rows tables.Rows) (c todo.Cursor, err error) {
	var sum int64
	if c, err = tables.ScanCursor(rows, &sum); err != nil {
		return c, damagedType(err)
	}
	if sumOf(tables.CursorValues(c)...) != sum {
		return c, damaged("cursors", c.Conversation, c.List)
	}
	return c, nil
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	return seq, s.query(ctx, "read position", `SELECT coalesce(max(seq), 0) FROM lists`, nil, func(rows tables.Rows) error {
		rows.Next()
		return rows.Scan(&seq)
	})
}

// query is the [tables.Query] of the store. It finds no rows when there is no file yet.
func (s *Store) query(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
	err := s.withFile(ctx, func(f *file) error { return f.statements.query(ctx, query, args, read) })
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
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
		if err = cmp.Or(ctx.Err(), err); !busy(err) {
			return err
		}
		locked = true
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *Store) tryWithFile(ctx context.Context, read func(*file) error) error {
	f, err := s.use(ctx)
	if f == nil || err != nil {
		return err
	}
	defer f.release() //nolint:errcheck // everything is read already
	return describe(s.path, read(f))
}
