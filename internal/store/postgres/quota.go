package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// size is the size of all lists, as read at a time, and with what was added since.
type size struct{ bytes, at atomic.Int64 }

// sizeAge is for how long a size is taken as it was, but for what this server added.
const sizeAge = 5 * time.Second

// Size implements [tables.DB]. What was trimmed and purged does not count,
// although its space is free only when PostgreSQL has vacuumed it. It reads it anew
// where a list that begins, or another save, would be refused by what it was.
func (t *tx) Size(ctx context.Context, begins bool) (int64, error) {
	if t.store.keep.Bytes <= 0 {
		return 0, nil // nobody asks
	}
	size, now := &t.store.size, time.Now().UnixNano()
	if known := size.bytes.Load(); now-size.at.Load() < int64(sizeAge) && t.store.keep.CheckBytes(known, begins) == nil {
		return known, nil
	}
	var read int64
	if err := one(ctx, t, []any{&read}, `SELECT coalesce(sum(bytes), 0)::bigint FROM todo_mcp.lists`); err != nil {
		return 0, err
	}
	size.bytes.Store(read)
	size.at.Store(now)
	return read, nil
}
