package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

// queries are what is read of the tables.
var queries = tables.Dialect{
	Schema:  `todo_mcp.`,
	Columns: `h.seq, h.body, l.meta`,
	Newest:  `JOIN todo_mcp.history h ON h.list = l.id AND h.revision = l.revision`,
	True:    `true`,
	Settled: `todo_mcp.settled()`,
}.Queries()

// scanSnapshot reads a row of a query for snapshots as a caller reads it: with the
// parent that the list has now.
func scanSnapshot(from tables.Rows) (todo.Snapshot, error) {
	var seq int64
	var body, meta []byte
	var current string
	if err := from.Scan(&seq, &body, &meta, &current); err != nil {
		return todo.Snapshot{}, err
	}
	s, err := record.Snapshot(body, meta, seq)
	if err == nil && s.List.ParentConversation != "" {
		s.List.Parent = current
	}
	return s, err
}

func scanCursor(from tables.Rows) (todo.Cursor, error) { return tables.ScanCursor(from) }

// querier is where reads are made: the database, or the transaction of an update.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, scan func(tables.Rows) (T, error), sql string, args ...any) ([]T, error) {
	found, err := q.Query(ctx, sql, stored(args)...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	return tables.Collect(rows{found}, scan)
}

// one reads the only row of a query.
func one(ctx context.Context, q querier, into []any, sql string, args ...any) error {
	found, err := collect(ctx, q, func(from tables.Rows) (struct{}, error) { return struct{}{}, from.Scan(into...) }, sql, args...)
	if err == nil && len(found) == 0 {
		err = pgx.ErrNoRows
	}
	return err
}

// newReader returns a reader of a store or a transaction, whose call runs what a method
// does and names it in its error.
func newReader(q querier, call func(ctx context.Context, what string, run func() error) error) tables.Reader {
	return tables.NewReader(queries, func(ctx context.Context, what, sql string, args []any, read func(tables.Rows) error) error {
		return call(ctx, what, func() error {
			found, err := q.Query(ctx, numbered(sql), stored(args)...)
			if err != nil {
				return err
			}
			defer found.Close()
			return read(rows{found})
		})
	}, scanSnapshot, scanCursor)
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	return seq, s.call(ctx, "read position", func() error {
		return one(ctx, s.pool, []any{&seq}, `SELECT todo_mcp.settled() - 1`)
	})
}

// NoteHostCall implements todo.Store.
func (s *Store) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	return s.exec(ctx, "save host call", `WITH old AS (DELETE FROM todo_mcp.host_calls WHERE at < $7)
		INSERT INTO todo_mcp.host_calls VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (principal, id) DO UPDATE SET session = excluded.session, agent = excluded.agent, folder = excluded.folder, at = excluded.at`,
		principal, c.ID, c.Session, c.Agent, c.Folder, record.UnixNano(at), record.UnixNano(at.Add(-todo.HostCallAge)))
}

// exec runs a statement that changes something.
func (s *Store) exec(ctx context.Context, what, sql string, args ...any) error {
	return s.call(ctx, what, func() error {
		_, err := s.pool.Exec(ctx, sql, stored(args)...)
		return outcome(err)
	})
}
