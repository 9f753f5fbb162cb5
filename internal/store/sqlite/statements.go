package sqlite

import (
	"context"
	"database/sql"
	"sync"

	"todo-mcp/internal/store/tables"
)

// statements are the statements of a database, or of one connection, prepared when they
// are needed first: to prepare one takes longer than to run it.
type statements struct {
	db interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	mu  sync.Mutex
	of  map[string]*sql.Stmt // by SQL text
	ran int                  // how many that change something exec has run
}

// maxStatements is how many statements are kept: those that are run for every call,
// and room for the many forms of a search.
const maxStatements = 96

// prepared returns a statement; nil if it was not prepared before and there are too
// many.
func (s *statements) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	known, full := s.of[query], len(s.of) >= maxStatements
	s.mu.Unlock()
	if known != nil || full {
		return known, nil
	}
	stmt, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.of[query]; known != nil { // prepared twice at the same time
		return known, stmt.Close()
	}
	if s.of == nil {
		s.of = make(map[string]*sql.Stmt)
	}
	s.of[query] = stmt
	return stmt, nil
}

// query runs a query and calls read with its rows.
func (s *statements) query(ctx context.Context, query string, args []any, read func(tables.Rows) error) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return err
	}
	var rows *sql.Rows
	if stmt == nil {
		rows, err = s.db.QueryContext(ctx, query, args...)
	} else {
		rows, err = stmt.QueryContext(ctx, args...)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	return read(rows)
}

// exec runs a statement that changes something. One goroutine at a time may call it.
func (s *statements) exec(query string, args ...any) (sql.Result, error) {
	s.ran++
	stmt, err := s.prepared(context.Background(), query)
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return s.db.ExecContext(context.Background(), query, args...)
	}
	return stmt.Exec(args...)
}

// scan reads the only row of a query, or returns [sql.ErrNoRows].
func (s *statements) scan(query string, args []any, into ...any) error {
	return s.query(context.Background(), query, args, func(rows tables.Rows) error {
		if !rows.Next() {
			return firstError(rows.Err(), sql.ErrNoRows)
		}
		return rows.Scan(into...)
	})
}

func (s *statements) close() {
	for _, stmt := range s.of {
		_ = stmt.Close()
	}
}
