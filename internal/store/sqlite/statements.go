package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// statements are the prepared statements of a database, or of one connection. Each is prepared at its first use, since
// that takes longer than to run it.
type statements struct {
	db interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
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

// query runs a query and calls read with its rows.
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

// scan reads the only row of a query, or returns [sql.ErrNoRows].
func (s *statements) scan(query string, args []any, into ...any) error {
	return s.query(context.Background(), query, args, func(rows tables.Rows) error {
		if !rows.Next() {
			return cmp.Or(rows.Err(), sql.ErrNoRows)
		}
		return rows.Scan(into...)
	})
}
