package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// heldByParent selects, for a list l with a parent_conversation, the list that
// this conversation holds.
const heldByParent = `(CASE WHEN l.parent_conversation <> '' THEN todo_mcp.held(l.principal, l.parent_conversation) END)`

const columns = `SELECT h.seq, h.body, l.meta, ` + heldByParent

// selectRecord selects any revisions of any lists.
const selectRecord = columns + ` FROM todo_mcp.history h JOIN todo_mcp.lists l ON l.id = h.list`

// selectNewest selects the newest revision of each list.
const selectNewest = columns + ` FROM todo_mcp.lists l JOIN todo_mcp.history h ON h.list = l.id AND h.revision = l.revision`

// querier is where reads are made: the database, or the transaction of an update.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// reader implements todo.Reader, for the store and for the transaction of an update.
type reader struct {
	q querier
	// call runs what a method does, and names it in its error.
	call func(ctx context.Context, what string, run func() error) error
}

// scanSnapshot reads a row of selectRecord or selectNewest as a caller reads it: with
// the parent that the list has now.
func scanSnapshot(from pgx.CollectableRow) (todo.Snapshot, error) {
	var seq int64
	var body, meta []byte
	var parent *string
	if err := from.Scan(&seq, &body, &meta, &parent); err != nil {
		return todo.Snapshot{}, err
	}
	s, err := record.Snapshot(body, meta, seq)
	if err == nil && s.List.ParentConversation != "" && parent != nil {
		s.List.Parent = *parent
	}
	return s, err
}

// Load implements todo.Reader.
func (r *reader) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	if revision == 0 {
		return r.one(ctx, selectNewest+` WHERE l.id = $1`, plain(list))
	}
	return r.one(ctx, selectRecord+` WHERE h.list = $1 AND h.revision = $2`, plain(list), revision)
}

// LastBy implements todo.Reader.
func (r *reader) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	return r.one(ctx, selectRecord+` WHERE h.list = $1 AND h.person = $2 AND h.revision <= $3 ORDER BY h.revision DESC LIMIT 1`, plain(list), person, upTo)
}

// one returns the first snapshot that a query selects, or todo.ErrNotFound.
func (r *reader) one(ctx context.Context, sql string, args ...any) (found todo.Snapshot, err error) {
	err = r.call(ctx, "read snapshot", func() error {
		all, err := collect(ctx, r.q, scanSnapshot, sql, args...)
		if err == nil && len(all) == 0 {
			err = todo.ErrNotFound
		}
		if err == nil {
			found = all[0]
		}
		return err
	})
	return found, err
}

// History implements todo.Reader.
func (r *reader) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return r.all(ctx, selectRecord+` WHERE h.list = $1 AND h.revision > $2 ORDER BY h.revision LIMIT $3`, plain(list), after, sqlLimit(limit))
}

// Find implements todo.Reader. With Query.AfterSeq and OldestFirst it finds no list
// with a Seq that another save may still be given a smaller one than: so who goes
// on from the last Seq misses none.
func (r *reader) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	sql, args := findQuery(q)
	return r.all(ctx, sql, args...)
}

// all returns the snapshots that a query selects.
func (r *reader) all(ctx context.Context, sql string, args ...any) (found []todo.Snapshot, err error) {
	err = r.call(ctx, "read snapshots", func() error {
		found, err = collect(ctx, r.q, scanSnapshot, sql, args...)
		return err
	})
	return found, err
}

// findQuery returns the SQL of a query and its arguments.
func findQuery(q todo.Query) (sql string, args []any) {
	from, seq, updated := selectNewest, "l.seq", "l.updated"
	var where []string
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, strings.ReplaceAll(condition, "?", fmt.Sprint("$", len(args))))
	}
	if q.Operation != "" {
		// An operation selects one revision; the other conditions apply to it.
		from, seq, updated = selectRecord, "h.seq", "h.updated"
		add("h.operation = ?", plain(q.Operation))
	} else if !q.Deleted {
		where = append(where, "NOT l.deleted")
	}
	if q.Principal != nil {
		add("l.principal = ?", plain(*q.Principal))
	}
	if q.Client != "" {
		add("l.client = ?", plain(q.Client))
	}
	if q.Workspace != nil {
		add("l.workspace = ?", plain(*q.Workspace))
	}
	if q.Parent != "" {
		add(`(l.parent = ? OR l.parent_conversation <> '' AND l.parent_conversation IN
			(SELECT conversation FROM todo_mcp.cursors WHERE list = ?) AND `+heldByParent+` = ?)`, plain(q.Parent))
	}
	if !q.UpdatedSince.IsZero() {
		add(updated+" >= ?", record.UnixNano(q.UpdatedSince))
	}
	if q.AfterSeq > 0 {
		add(seq+" > ?", q.AfterSeq)
	}
	if q.BeforeSeq > 0 {
		add(seq+" < ?", q.BeforeSeq)
	}
	if q.OldestFirst {
		where = append(where, seq+" < todo_mcp.settled()")
	}
	sql = from
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	sql += " ORDER BY " + seq
	if !q.OldestFirst {
		sql += " DESC"
	}
	args = append(args, sqlLimit(q.Limit))
	return sql + fmt.Sprint(" LIMIT $", len(args)), args
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	err = s.call(ctx, "read position", func() error {
		return s.pool.QueryRow(ctx, `SELECT todo_mcp.settled() - 1`).Scan(&seq)
	})
	return seq, err
}

// sqlLimit converts a limit for SQL's LIMIT; nil means none.
func sqlLimit(limit int) *int {
	if limit <= 0 {
		return nil
	}
	return &limit
}

// plain returns a text as it is stored in a column of its own: PostgreSQL stores no
// NUL and no invalid UTF-8, which a client may send.
func plain(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") && !strings.HasPrefix(text, escape) {
		return text
	}
	return escape + hex.EncodeToString([]byte(text))
}

// escape begins a text that is stored in hexadecimal.
const escape = `\x`

// original is the inverse of plain.
func original(stored string) string {
	if encoded, ok := strings.CutPrefix(stored, escape); ok {
		if text, err := hex.DecodeString(encoded); err == nil {
			return string(text)
		}
	}
	return stored
}
