package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// statements are the statements of a database, or of one connection, prepared when they
// are needed first: to prepare one takes longer than to run it.
type statements struct {
	db interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	mu sync.Mutex
	of map[string]*sql.Stmt // by SQL text
}

// maxStatements is how many statements are kept: those that are run for every call,
// and room for the many forms of a search.
const maxStatements = 96

// query runs a query, prepared if there is room for it.
func (s *statements) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	s.mu.Lock()
	stmt, full := s.of[query], len(s.of) >= maxStatements
	s.mu.Unlock()
	if stmt == nil && full {
		return s.db.QueryContext(ctx, query, args...)
	}
	if stmt == nil {
		var err error
		if stmt, err = s.prepare(ctx, query); err != nil {
			return nil, err
		}
	}
	return stmt.QueryContext(ctx, args...)
}

// exec runs a statement, for which there is always room.
func (s *statements) exec(query string, args ...any) (sql.Result, error) {
	s.mu.Lock()
	stmt := s.of[query]
	s.mu.Unlock()
	if stmt == nil {
		var err error
		if stmt, err = s.prepare(context.Background(), query); err != nil {
			return nil, err
		}
	}
	return stmt.Exec(args...)
}

// scan reads the only row of a query, or returns [sql.ErrNoRows].
func (s *statements) scan(query string, args []any, into ...any) error {
	rows, err := s.query(context.Background(), query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return firstError(rows.Err(), sql.ErrNoRows)
	}
	return rows.Scan(into...)
}

func (s *statements) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	stmt, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.of[query]; known != nil { // prepared twice at the same time
		stmt.Close()
		return known, nil
	}
	if s.of == nil {
		s.of = make(map[string]*sql.Stmt)
	}
	s.of[query] = stmt
	return stmt, nil
}

func (s *statements) close() {
	for _, stmt := range s.of {
		_ = stmt.Close()
	}
}
