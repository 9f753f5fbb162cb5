package postgres

import (
	"context"

	"todo-mcp/internal/store/tables"
)

// Size implements [tables.DB]: it is the size of all lists and cursors. What was trimmed
// and purged does not count, although its space is free only when PostgreSQL has vacuumed
// it.
func (t *tx) Size(ctx context.Context) (int64, error) {
	if t.store.keep.Bytes <= 0 {
		return 0, nil // nobody asks
	}
	return t.store.used.Read("", t.store.keep, func() (size int64, err error) {
		return size, one(ctx, t, []any{&size}, `SELECT coalesce(sum(bytes), 0)::bigint + (SELECT count(*) FROM todo_mcp.cursors) * $1 FROM todo_mcp.lists`,
			tables.CursorSize)
	})
}
