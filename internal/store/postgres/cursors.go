package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

const selectCursors = `SELECT principal, conversation, list, seen, process, until, moved, at, current FROM todo_mcp.cursors WHERE principal = $1 AND `

// cursorsOf selects the cursors of a conversation or a name.
func cursorsOf(of todo.Key) (sql string, args []any) {
	return selectCursors + `conversation = $2 ORDER BY moved DESC, at`, []any{plain(of.Principal), plain(of.Conversation)}
}

func scanCursor(from pgx.CollectableRow) (c todo.Cursor, err error) {
	var until, at int64
	err = from.Scan(&c.Principal, &c.Conversation, &c.List, &c.Seen, &c.Process, &until, &c.Moved, &at, &c.Current)
	for _, text := range []*string{&c.Principal, &c.Conversation, &c.List, &c.Process} {
		*text = original(*text)
	}
	c.At = time.Unix(0, at).UTC()
	if until != 0 {
		c.Until = time.Unix(0, until).UTC()
	}
	return c, err
}

// Cursors implements todo.Reader.
func (r *reader) Cursors(ctx context.Context, of todo.Key) ([]todo.Cursor, error) {
	sql, args := cursorsOf(of)
	return read(ctx, r, "read cursors", scanCursor, sql, args...)
}

// CursorsOn implements todo.Reader.
func (r *reader) CursorsOn(ctx context.Context, principal, list string) ([]todo.Cursor, error) {
	if list == "" {
		return read(ctx, r, "read cursors", scanCursor, selectCursors+`current ORDER BY conversation`, plain(principal))
	}
	return read(ctx, r, "read cursors", scanCursor, selectCursors+`list = $2 ORDER BY conversation`, plain(principal), plain(list))
}

// letGo has a conversation hold no list.
const letGo = `UPDATE todo_mcp.cursors SET current = false WHERE principal = $1 AND conversation = $2 AND current`

// storeCursor stores a cursor as it is.
const storeCursor = `INSERT INTO todo_mcp.cursors VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (principal, conversation, list) DO UPDATE
	SET seen = excluded.seen, process = excluded.process, until = excluded.until, moved = excluded.moved, at = excluded.at, current = excluded.current`

func cursorValues(c todo.Cursor) []any {
	until := int64(0)
	if !c.Until.IsZero() {
		until = record.UnixNano(c.Until)
	}
	return []any{plain(c.Principal), plain(c.Conversation), plain(c.List), c.Seen, plain(c.Process), until, c.Moved, record.UnixNano(c.At), c.Current}
}
