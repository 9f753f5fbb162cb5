package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

// size is the size of all lists, as read at a time, and with what was added since.
type size struct{ bytes, at atomic.Int64 }

// sizeAge is for how long a size is taken as it was, but for what this server added.
const sizeAge = 5 * time.Second

// Size implements [tables.DB].
func (t *tx) Size(ctx context.Context) (int64, error) { return t.store.sizeOfAll(ctx, t) }

// sizeOfAll returns the size of all lists and cursors. What was trimmed and purged does
// not count, although its space is free only when PostgreSQL has vacuumed it. It reads it
// anew where there would be no room by what it was.
func (s *Store) sizeOfAll(ctx context.Context, from querier) (int64, error) {
	if s.keep.Bytes <= 0 {
		return 0, nil // nobody asks
	}
	size, now := &s.size, time.Now().UnixNano()
	if known := size.bytes.Load(); now-size.at.Load() < int64(sizeAge) && s.keep.CheckBytes(todo.Usage{Bytes: known}, true) == nil {
		return known, nil
	}
	var read int64
	if err := one(ctx, from, []any{&read}, `SELECT coalesce(sum(bytes), 0)::bigint + (SELECT count(*) FROM todo_mcp.cursors) * $1 FROM todo_mcp.lists`,
		tables.CursorSize); err != nil {
		return 0, err
	}
	size.bytes.Store(read)
	size.at.Store(now)
	return read, nil
}
