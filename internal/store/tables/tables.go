// Package tables reads and writes the tables of SQLite and PostgreSQL, which have the same columns. A [Dialect] holds
// the differences in their SQL; a [DB] is a transaction of either database.
package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Rows are the rows of a query, as database/sql and pgx have them.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}

// Query runs a query and passes its rows to a function, in each try. Errors begin with the name of the operation.
type Query func(ctx context.Context, what, sql string, args []any, read func(Rows) error) error

// Reader implements [board.Reader]. It leaves damaged rows out of its results and notes them in its [Health].
type Reader struct {
	sql    *SQL
	query  Query
	health *Health
}

// NewReader returns a reader that runs its queries through the given function.
func NewReader(sql *SQL, query Query, health *Health) Reader { return Reader{sql, query, health} }

// Value runs a query and returns the only column of its first row, or the zero value if there is no row.
func Value[T any](ctx context.Context, r Reader, what, sql string, args ...any) (found T, err error) {
	return found, r.query(ctx, what, sql, args, func(rows Rows) error {
		if rows.Next() {
			return rows.Scan(&found)
		}
		return rows.Err()
	})
}

// Good reads all rows. It returns the undamaged ones, and the number of damaged ones, which it notes in health.
func Good[T any](health *Health, rows Rows, scan func(Rows) (T, error)) (found []T, damaged int, err error) {
	for rows.Next() {
		one, err := scan(rows)
		switch {
		case errors.Is(err, board.ErrDamaged):
			health.note(err)
			damaged++
		case err != nil:
			return nil, 0, err
		default:
			found = append(found, one)
		}
	}
	return found, damaged, rows.Err()
}

// good runs a query and calls [Good] with its rows.
func good[T any](ctx context.Context, r Reader, what, sql string, scan func(Rows) (T, error), args ...any) (found []T, damaged int, err error) {
	err = r.query(ctx, what, sql, args, func(rows Rows) (err error) {
		found, damaged, err = Good(r.health, rows, scan)
		return err
	})
	return found, damaged, err
}

// atMostGood is [good] for a query that ends with a limit (0: none). It reads further rows in place of damaged ones.
func atMostGood[T any](ctx context.Context, r Reader, what, sql string, limit int, scan func(Rows) (T, error), args ...any) ([]T, error) {
	for most := limit; ; {
		found, damaged, err := good(ctx, r, what, sql, scan, append(slices.Clone(args), atMost(most))...)
		if err != nil {
			return nil, err
		}
		if damaged == 0 || limit <= 0 || len(found) >= limit || len(found)+damaged < most {
			return found, nil
		}
		most += damaged
	}
}

// Load implements [board.Reader].
func (r Reader) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	sql, args := r.sql.load, []any{list}
	if revision != 0 {
		sql, args = r.sql.revisions+` WHERE h.list = ? AND h.revision = ?`, []any{list, revision}
	}
	err = r.query(ctx, "read snapshots", sql, args, func(rows Rows) (err error) {
		if rows.Next() {
			found, err = ScanSnapshot(rows)
		}
		return cmp.Or(err, rows.Err())
	})
	if err == nil && found.Revision == 0 {
		err = fmt.Errorf("read snapshot: %w", board.ErrNotFound)
	}
	return found, err
}

// History implements [board.Reader].
func (r Reader) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	sql := r.sql.revisions + ` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision` + limited
	return atMostGood(ctx, r, "read snapshots", sql, limit, ScanSnapshot, list, after)
}

// Position implements [board.Store].
func (r Reader) Position(ctx context.Context) (int64, error) {
	return Value[int64](ctx, r, "read position", r.sql.of.Position)
}

// Find implements [board.Reader]. With OldestFirst it leaves out lists with a Seq of [Dialect.Settled] or above: a save
// that is not committed yet may have a smaller Seq, which a caller that continues from the last Seq would miss.
func (r Reader) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	sql, args := r.sql.find(q)
	if q.Text != "" && q.Operation == "" {
		return r.saying(ctx, q, sql, args)
	}
	if q.Excerpt && q.Operation == "" {
		return atMostGood(ctx, r, "read excerpts", sql, q.Limit, ScanSnapshot, args...)
	}
	return atMostGood(ctx, r, "read snapshots", sql, q.Limit, ScanSnapshot, args...)
}

// saying returns each list's newest revision that has the query's text. The SQL selects all revisions that may have it.
func (r Reader) saying(ctx context.Context, q board.Query, sql string, args []any) (found []todo.Snapshot, err error) {
	err = r.query(ctx, "search snapshots", sql, args, func(rows Rows) error {
		found = nil
		for int64(len(found)) < atMost(q.Limit) && rows.Next() {
			s, err := ScanSnapshot(rows)
			n := len(found)
			switch {
			case errors.Is(err, board.ErrDamaged):
				r.health.note(err)
			case err != nil:
				return err
			case (n == 0 || found[n-1].List.ID != s.List.ID) && s.Saying(q.Text) != "":
				found = append(found, s)
			}
		}
		return rows.Err()
	})
	return found, err
}

// Seen implements [board.Reader].
func (r Reader) Seen(ctx context.Context, of board.Key) ([]board.Seen, error) {
	found, _, err := good(ctx, r, "read what chats have seen", r.sql.SeenBy, ScanSeen, of.Principal, of.Chat, of.Mirrors)
	return found, err
}

// SeenOn implements [board.Reader].
func (r Reader) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	// principal || '' keeps the database from using the index by principal: a principal has more rows than a list.
	where, args := `principal || '' = ? AND list = ?`, []any{principal, list}
	if list == "" {
		where, args = `principal = ? AND current`, args[:1]
	}
	sql := r.sql.AllSeen + ` WHERE ` + where + ` ORDER BY chat, mirrors`
	found, _, err := good(ctx, r, "read what chats have seen", sql, ScanSeen, args...)
	return found, err
}

// ScanSnapshot reads a row with the columns list, revision, Seq, body, list's meta, the parent chat's current list, and
// whether the rows of lists and of history are as written. If not, the error wraps [board.ErrDamaged].
func ScanSnapshot(rows Rows) (todo.Snapshot, error) {
	var seq, revision int64
	var body, meta []byte
	var list, current string
	var isList bool
	isWhole, err := scan(rows, &list, &revision, &seq, &body, &meta, &current, &isList)
	switch {
	case err != nil:
		return todo.Snapshot{}, err
	case !isList:
		return todo.Snapshot{}, Damaged("lists", list)
	case !isWhole:
		return todo.Snapshot{}, Damaged("history", list, revision)
	}
	s, err := record.Snapshot(body, meta, seq)
	switch {
	case err != nil:
		return s, fmt.Errorf("list %s, revision %d: %w", list, revision, err)
	case s.Revision != revision || s.List.ID != list:
		return todo.Snapshot{}, fmt.Errorf("list %s, revision %d: %w: it has the content of list %s, revision %d", list, revision, board.ErrDamaged, s.List.ID, s.Revision)
	case s.List.ParentConversation != "":
		s.List.Parent = current
	}
	return s, nil
}

// ScanSeen reads a row of [SQL.AllSeen]. An error wraps [board.ErrDamaged] if the row is not as it was written.
func ScanSeen(rows Rows) (c board.Seen, err error) {
	var at int64
	isWhole, err := scan(rows, &c.Principal, &c.Chat, &c.Mirrors, &c.List, &c.Revision, &c.Process, &c.Held, &c.Current, &at)
	c.At = time.Unix(0, at).UTC()
	if err == nil && !isWhole {
		err = Damaged("seen", c.Chat, c.List)
	}
	return c, err
}

// scan reads a row, whose last column says whether the row is as it was written. A value of the wrong type is damage.
func scan(rows Rows, into ...any) (isWhole bool, err error) {
	err = rows.Scan(append(into, &isWhole)...)
	if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error on column") {
		return false, nil
	}
	return isWhole, err
}

// Damaged returns the error for a row that is not as it was written. Other rows can be used.
func Damaged(table string, key ...any) error {
	return fmt.Errorf("read record: %w: a row of %s (%s) is not as it was written; `todo-mcp check` looks for more", board.ErrDamaged, table,
		strings.TrimSuffix(fmt.Sprintln(key...), "\n"))
}
