package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// queries returns the statements of this package.
var queries = sync.OnceValue(tables.Dialect{
	Columns:  `h.seq, l.id, h.revision, h.body, l.meta`,
	Snapshot: tables.ScanSnapshot,
	Newest:   `JOIN main.history h ON h.list = l.id AND h.revision = l.revision`,
	Settled:  `(SELECT todo_mcp.settled())`,
	Like:     `ILIKE`,
	Forget:   []string{`SELECT todo_mcp.forget(id) FROM (%s FOR UPDATE SKIP LOCKED) AS l`},
	Lock:     ` FOR UPDATE`, SkipLocked: ` FOR UPDATE SKIP LOCKED`,
}.Queries)

// querier runs queries: on the database, or in a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// one reads the only row of a query, or returns [sql.ErrNoRows].
func one(ctx context.Context, q querier, into []any, query string, args ...any) error {
	found, err := q.Query(ctx, query, stored(args)...)
	if err != nil {
		return err
	}
	defer found.Close()
	if !found.Next() {
		return cmp.Or(found.Err(), sql.ErrNoRows)
	}
	err = rows{found}.Scan(into...)
	found.Close() // a statement that returns rows may fail after the last one
	return cmp.Or(err, found.Err())
}

// newReader returns a reader that queries q. call runs a method's function, and adds what it did to its error.
func newReader(q querier, health *tables.Health, call func(ctx context.Context, what string, run func() error) error) tables.Reader {
	return tables.NewReader(queries(), func(ctx context.Context, what, sql string, args []any, read func(tables.Rows) error) error {
		return call(ctx, what, func() error {
			found, err := q.Query(ctx, "WITH now AS (TABLE todo_mcp."+marker(len(steps))+") "+numbered(sql), stored(args)...)
			if err != nil {
				return err
			}
			defer found.Close()
			return read(rows{found})
		})
	}, health)
}

// Position implements board.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	return seq, s.call(ctx, "read position", func() error {
		return one(ctx, s.pool, []any{&seq}, `SELECT todo_mcp.settled() - 1`)
	})
}

// exec runs a statement that changes something.
func (s *Store) exec(ctx context.Context, what, sql string, args ...any) error {
	return s.call(ctx, what, func() error {
		_, err := s.pool.Exec(ctx, sql, stored(args)...)
		return outcome(err)
	})
}

// plain returns a text as it is stored in a column. PostgreSQL stores no NUL and no invalid UTF-8, which a client may
// send: such a text is stored in hexadecimal.
func plain(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") && !strings.HasPrefix(text, escape) {
		return text
	}
	return escape + hex.EncodeToString([]byte(text))
}

// escape begins a text in hexadecimal.
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

// stored applies plain to the texts among the arguments of a statement, in place.
func stored(args []any) []any {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = plain(text)
		}
	}
	return args
}

// rows applies original to the texts that it reads.
type rows struct{ pgx.Rows }

// Scan implements [tables.Rows].
func (r rows) Scan(into ...any) error {
	err := r.Rows.Scan(into...)
	for _, to := range into {
		if text, ok := to.(*string); ok {
			*text = original(*text)
		}
	}
	return err
}

// numbered returns a statement of package tables for PostgreSQL: with $1, $2 and so on for question marks, and the schema
// todo_mcp for main.
func numbered(query string) string {
	before, rest, more := strings.Cut(strings.ReplaceAll(query, "main.", "todo_mcp."), "?")
	var out strings.Builder
	for n := 1; more; n++ {
		fmt.Fprint(&out, before, "$", n)
		before, rest, more = strings.Cut(rest, "?")
	}
	return out.String() + before
}
