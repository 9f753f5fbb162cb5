package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// Check is [tables.Reader.Check], and has SQLite check its own structures.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	// What one query cannot read need not keep the others from being made.
	query := func(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
		err := s.query(ctx, what, query, args, read)
		if failedWith(err, codeCorrupt) {
			found(err.Error())
			return nil
		}
		return err
	}
	return tables.NewReader(queries(), query, &s.Health).Check(ctx, found)
}

// compactStep is how many pages are moved in one transaction, while nobody else writes.
const compactStep = 256

// Compact gives the space that removed lists took back to the file system. Between its
// steps, which take some milliseconds, others write.
func (s *Store) Compact(ctx context.Context) error {
	db, err := openDatabase(s.path, 1, "mode=rw", "busy_timeout(10000)", "synchronous(FULL)")
	if err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	statements := &statements{db: db}
	for before, now := math.MaxInt, 0; err == nil; before = now {
		err = db.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&now)
		if err != nil || now == 0 || now >= before { // nothing went: others take space, too
			break
		}
		began := time.Now()
		// It goes on as its rows are read.
		err = statements.query(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, compactStep), nil, func(rows tables.Rows) error {
			for rows.Next() {
				continue
			}
			return rows.Err()
		})
		if err == nil {
			board.Sleep(ctx, time.Since(began)) // who waits to write is next
		}
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	if err = errors.Join(describe(s.path, err), db.Close()); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	return nil
}
