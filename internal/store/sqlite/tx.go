package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

var _ board.Tx = (*writer)(nil)

// read is the [tables.Query] of the transaction. Statements run on when ctx ends: other requests share the transaction.
func (w *writer) read(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
	err := w.Do(ctx, what, func() error { return w.query(context.Background(), query, args, read) })
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", what, ctx.Err())
	}
	return err
}

func (w *writer) Remove(query string, args ...any) error {
	err := w.Exec(query, args...)
	if err == nil && w.changed > 0 {
		w.forget()
	}
	return err
}

// NextSeq implements [tables.DB]. No Seq is given twice, not even if its row was removed.
func (w *writer) NextSeq() (seq int64, err error) {
	if seq = w.seq; seq == 0 {
		err = w.Scan(context.Background(), lastSeq, nil, &seq)
	}
	w.seq = seq + 1
	return seq + 1, err
}

// lastSeq selects the Seq that was given last, even if its row was removed.
const lastSeq = `SELECT max((SELECT coalesce(max(seq), 0) FROM history), (SELECT coalesce(max(seq), 0) FROM chats),
	(SELECT coalesce(max(seq), 0) FROM removed))`

// statements are the prepared statements of a database or connection. Each is prepared at its first use.
type statements struct {
	db interface {
		PrepareContext(context.Context, string) (*sql.Stmt, error)
	}
	of      sync.Map // *sql.Stmt by SQL text
	ran     int      // how many times Exec was called
	changed int64    // how many rows the last Exec changed
}

func (s *statements) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if known, ok := s.of.Load(query); ok {
		return known.(*sql.Stmt), nil
	}
	stmt, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if known, ok := s.of.LoadOrStore(query, stmt); ok { // another goroutine was first
		return known.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}

func (s *statements) query(ctx context.Context, query string, args []any, read func(tables.Rows) error) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return read(rows)
}

// Exec implements [tables.DB]. One goroutine at a time may call it.
func (s *statements) Exec(query string, args ...any) error {
	s.ran++
	stmt, err := s.prepared(context.Background(), query)
	if err != nil {
		return err
	}
	done, err := stmt.Exec(args...)
	if err == nil {
		s.changed, err = done.RowsAffected()
	}
	return err
}

// Scan implements [tables.DB]. The query runs on when the context ends, see [writer.read].
func (s *statements) Scan(_ context.Context, query string, args []any, into ...any) error {
	return s.query(context.Background(), query, args, func(rows tables.Rows) error {
		if !rows.Next() {
			return cmp.Or(rows.Err(), sql.ErrNoRows)
		}
		return rows.Scan(into...)
	})
}
