package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// readStatements are the statements by which a file is read, prepared when they are
// needed first: to prepare one takes longer than to run it. The zero value is ready
// to use.
type readStatements struct {
	mu sync.Mutex
	of map[string]*sql.Stmt // by SQL text
}

// maxStatements is how many statements are kept: those that are run for every call,
// and room for the many forms of a search.
const maxStatements = 64

// query runs a query, prepared if there is room for it.
func (s *readStatements) query(ctx context.Context, db *sql.DB, query string, args []any) (*sql.Rows, error) {
	stmt, err := s.prepare(ctx, db, query)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return db.QueryContext(ctx, query, args...)
	}
	return stmt.QueryContext(ctx, args...)
}

// prepare returns a prepared statement, or nil when there is no room for it.
func (s *readStatements) prepare(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt, full := s.of[query], len(s.of) >= maxStatements
	s.mu.Unlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, query)
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
