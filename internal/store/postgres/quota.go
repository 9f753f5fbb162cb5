package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// makeRoom returns an error when a list may not begin, see [todo.Keep.MakeRoom], and the
// list's parent. It reads what that asks for in one round trip.
func (t *tx) makeRoom(ctx context.Context, l todo.List, now time.Time) (parent string, err error) {
	keep := t.store.keep
	var lists, begun int
	var exists bool
	err = one(ctx, t, []any{&t.seq, &exists, &lists, &begun, &parent}, `SELECT todo_mcp.seq(), EXISTS (SELECT 1 FROM todo_mcp.lists WHERE id = $1),
		(SELECT coalesce(sum(n), 0) FROM todo_mcp.list_counts WHERE principal = $2)::bigint,
		(SELECT count(*) FROM (SELECT 1 FROM todo_mcp.lists WHERE principal = $2 AND conversation = $3 AND begun >= $4 LIMIT $5) AS lately),
		todo_mcp.held($2, $6)`,
		l.ID, l.Principal, l.Conversation, record.UnixNano(now.Add(-24*time.Hour)), max(keep.Begun, 1), l.ParentConversation)
	if err != nil {
		return "", err
	}
	if exists {
		return "", fmt.Errorf("the first revision of list %s, which exists: %w", l.ID, todo.ErrNotFound)
	}
	usage := func(time.Time) (todo.Usage, error) {
		bytes, err := t.size(ctx, true)
		return todo.Usage{Begun: begun, Lists: lists, Bytes: bytes}, err
	}
	return parent, keep.MakeRoom(l, now, usage, func(before time.Time) error {
		var gone int
		err := one(ctx, t, []any{&gone}, `SELECT todo_mcp.evict($1, $2, $3)`, l.Principal, record.UnixNano(before), todo.MaxAbandoned)
		lists -= gone
		return err
	})
}

// size is the size of all lists, as read at a time, and with what was added since.
type size struct{ bytes, at atomic.Int64 }

// sizeAge is for how long a size is taken as it was, but for what this server added.
const sizeAge = 5 * time.Second

// size returns the size of all lists. What was trimmed and purged does not count,
// although its space is free only when PostgreSQL has vacuumed it. It reads it anew
// where a list that begins, or another save, would be refused by what it was.
func (t *tx) size(ctx context.Context, begins bool) (int64, error) {
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

// Purge implements todo.Tx. One revision without content takes the place of all.
func (t *tx) Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error {
	return t.do(ctx, "purge list", func() error {
		var principal string
		var newest, begun int64
		err := one(ctx, t, []any{&principal, &newest, &begun},
			`SELECT principal, revision, begun FROM todo_mcp.lists WHERE id = $1 FOR UPDATE`, list)
		if errors.Is(err, pgx.ErrNoRows) {
			return todo.ErrNotFound
		}
		if err != nil {
			return err
		}
		last := record.Purged(list, principal, newest, time.Unix(0, begun), by, now)
		meta, err := record.List(last.List)
		if err != nil {
			return err
		}
		body, err := t.encode(&last)
		if err != nil {
			return err
		}
		t.write(`SELECT todo_mcp.purge($1, $2, $3, $4, $5, $6)`, list, last.Revision, last.Seq, string(meta), string(body), record.UnixNano(now))
		t.lists[list] = last
		clear(t.cursors)
		return nil
	})
}
