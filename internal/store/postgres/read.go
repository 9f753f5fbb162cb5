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

// read reads all rows of a query, and names what it does in its error.
func read[T any](ctx context.Context, r *reader, what string, scan pgx.RowToFunc[T], sql string, args ...any) (found []T, err error) {
	err = r.call(ctx, what, func() error {
		found, err = collect(ctx, r.q, scan, sql, args...)
		return err
	})
	return found, err
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
	all, err := read(ctx, r, "read snapshot", scanSnapshot, sql, args...)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("read snapshot: %w", todo.ErrNotFound)
	}
	if err != nil {
		return todo.Snapshot{}, err
	}
	return all[0], nil
}

// History implements todo.Reader.
func (r *reader) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return read(ctx, r, "read snapshots", scanSnapshot, selectRecord+` WHERE h.list = $1 AND h.revision > $2 ORDER BY h.revision LIMIT $3`, plain(list), after, record.Limit(limit))
}

// Find implements todo.Reader. With Query.AfterSeq and OldestFirst it finds no list
// with a Seq that another save may still be given a smaller one than: so who goes
// on from the last Seq misses none.
func (r *reader) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	sql, args := findQuery(q)
	return read(ctx, r, "read snapshots", scanSnapshot, sql, args...)
}

var dialect = record.Dialect{Newest: selectNewest, Revisions: selectRecord, HeldByParent: heldByParent, Cursors: "todo_mcp.cursors", Settled: "todo_mcp.settled()"}

// findQuery returns the SQL of a query and its arguments.
func findQuery(q todo.Query) (sql string, args []any) {
	sql, args = dialect.Find(q)
	for i, arg := range args {
		sql = strings.Replace(sql, "?", fmt.Sprint("$", i+1), 1)
		if text, is := arg.(string); is {
			args[i] = plain(text)
		}
	}
	return sql, args
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	err = s.call(ctx, "read position", func() error {
		return s.pool.QueryRow(ctx, `SELECT todo_mcp.settled() - 1`).Scan(&seq)
	})
	return seq, err
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
