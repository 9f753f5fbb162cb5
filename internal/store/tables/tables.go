// Package tables reads and writes the tables in which SQLite and PostgreSQL keep lists and
// chats. Both have the same tables with the same columns; what differs is a [Dialect],
// and a transaction of each is a [DB].
package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// Query runs a query, and calls read with its rows: again if it has to try again. An
// error begins with what is being done.
type Query func(ctx context.Context, what, sql string, args []any, read func(Rows) error) error

// Reader implements [board.Reader]. Of several rows it leaves out those that are damaged, and
// notes them.
type Reader struct {
	sql    *SQL
	query  Query
	scans  Scans
	health *Health
}

// Scans read a row of the dialect's columns; an error that wraps [board.ErrDamaged] is about
// that row alone.
type Scans struct {
	Snapshot func(Rows) (todo.Snapshot, error)
	Seen     func(Rows) (board.Seen, error)
	Chat     func(Rows) (todo.Chat, error)
}

// NewReader returns a reader by way of query.
func NewReader(sql *SQL, query Query, scans Scans, health *Health) Reader {
	return Reader{sql, query, scans, health}
}

// value runs a query and reads the one column of its first row; the zero value where there is none.
func value[T any](ctx context.Context, r Reader, what, sql string, args ...any) (found T, err error) {
	return found, r.query(ctx, what, sql, args, func(rows Rows) error {
		if rows.Next() {
			return rows.Scan(&found)
		}
		return rows.Err()
	})
}

// Collect reads all rows.
func Collect[T any](rows Rows, scan func(Rows) (T, error)) (found []T, err error) {
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, rows.Err()
}

// good runs a query and reads its rows but for the damaged ones, and returns how many those
// are.
func good[T any](ctx context.Context, r Reader, what, sql string, scan func(Rows) (T, error), args ...any) (found []T, left int, err error) {
	err = r.query(ctx, what, sql, args, func(rows Rows) error {
		found, left = nil, 0
		for rows.Next() {
			one, err := scan(rows)
			switch {
			case errors.Is(err, board.ErrDamaged):
				r.health.note(err)
				left++
			case err != nil:
				return err
			default:
				found = append(found, one)
			}
		}
		return rows.Err()
	})
	return found, left, err
}

// atMostGood is good for a query that ends with a limit, 0 for none: it returns as many rows
// where there are so many.
func atMostGood[T any](ctx context.Context, r Reader, what, sql string, limit int, scan func(Rows) (T, error), args ...any) ([]T, error) {
	for most := limit; ; {
		found, left, err := good(ctx, r, what, sql, scan, append(slices.Clone(args), atMost(most))...)
		if err != nil {
			return nil, err
		}
		if left == 0 || limit <= 0 || len(found) >= limit || len(found)+left < most {
			return found, nil
		}
		most += left
	}
}

// Load implements [board.Reader].
func (r Reader) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	sql, args := r.sql.Load, []any{list}
	if revision != 0 {
		sql, args = r.sql.loadRevision, []any{list, revision}
	}
	isThere := false
	err = r.query(ctx, "read snapshots", sql, args, func(rows Rows) (err error) {
		if isThere = rows.Next(); isThere {
			found, err = r.scans.Snapshot(rows)
		}
		return cmp.Or(err, rows.Err())
	})
	if err == nil && !isThere {
		err = fmt.Errorf("read snapshot: %w", board.ErrNotFound)
	}
	return found, err
}

// History implements [board.Reader].
func (r Reader) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return atMostGood(ctx, r, "read snapshots", r.sql.history, limit, r.scans.Snapshot, list, after)
}

// Find implements [board.Reader]. Where saves may be stored in another order than their
// Seq, with Query.AfterSeq and OldestFirst it finds no list with a Seq that another save
// may still be given a smaller one than: so who goes on from the last Seq misses none.
func (r Reader) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	sql, args := r.sql.Find(q)
	if q.Text != "" && q.Operation == "" {
		return r.saying(ctx, q, sql, args)
	}
	if q.Excerpt && q.Operation == "" {
		return atMostGood(ctx, r, "read excerpts", sql, q.Limit, ScanSnapshot, args...)
	}
	return atMostGood(ctx, r, "read snapshots", sql, q.Limit, r.scans.Snapshot, args...)
}

// saying reads of each list the last revision that says a text, of as many lists as the
// query wants: the first that does of the rows, which may say it.
func (r Reader) saying(ctx context.Context, q board.Query, sql string, args []any) (found []todo.Snapshot, err error) {
	err = r.query(ctx, "search snapshots", sql, args, func(rows Rows) error {
		found = nil
		for int64(len(found)) < atMost(q.Limit) && rows.Next() {
			s, err := r.scans.Snapshot(rows)
			if errors.Is(err, board.ErrDamaged) {
				r.health.note(err)
				continue
			}
			if err != nil {
				return err
			}
			if n := len(found); (n == 0 || found[n-1].List.ID != s.List.ID) && s.Saying(q.Text) != "" {
				found = append(found, s)
			}
		}
		return rows.Err()
	})
	return found, err
}

// Seen implements [board.Reader].
func (r Reader) Seen(ctx context.Context, of board.Key) ([]board.Seen, error) {
	found, _, err := r.SeenBy(ctx, of)
	return found, err
}

// SeenBy is Seen, and returns how many rows are damaged, too.
func (r Reader) SeenBy(ctx context.Context, of board.Key) (found []board.Seen, damaged int, err error) {
	return good(ctx, r, "read what chats have seen", r.sql.SeenBy, r.scans.Seen, of.Principal, of.Chat, of.Mirrors)
}

// SeenOn implements [board.Reader].
func (r Reader) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	sql, args := r.sql.seenOn, []any{principal, list}
	if list == "" {
		sql, args = r.sql.currentSeen, args[:1]
	}
	found, _, err := good(ctx, r, "read what chats have seen", sql, r.scans.Seen, args...)
	return found, err
}

// ScanSnapshot reads a row of a Seq, the list's id, the number of a revision, its body, what is
// the same in all revisions of the list, and the list that is now the current one of the
// parent's conversation.
func ScanSnapshot(rows Rows) (todo.Snapshot, error) {
	var seq, revision int64
	var body, meta []byte
	var list, current string
	if err := rows.Scan(&seq, &list, &revision, &body, &meta, &current); err != nil {
		return todo.Snapshot{}, err
	}
	return Decode(seq, list, revision, body, meta, current)
}

// Decode returns the snapshot of such a row, or an error that wraps [board.ErrDamaged].
func Decode(seq int64, list string, revision int64, body, meta []byte, current string) (todo.Snapshot, error) {
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

// ScanSeen reads a row of what chats have seen, and into more what the dialect has behind it.
func ScanSeen(rows Rows, more ...any) (s board.Seen, err error) {
	var at int64
	err = rows.Scan(append([]any{&s.Principal, &s.Chat, &s.Mirrors, &s.List, &s.Revision, &s.Process, &s.Held, &s.Current, &at}, more...)...)
	s.At = time.Unix(0, at).UTC()
	return s, err
}

// SeenValues returns the columns of such a row.
func SeenValues(s board.Seen) []any {
	return []any{s.Principal, s.Chat, s.Mirrors, s.List, s.Revision, s.Process, s.Held, s.Current, record.UnixNano(s.At)}
}

// listValues returns the columns of the list that begins with a revision at a time, but
// for those that say which revision is the newest.
func listValues(first todo.Snapshot, begun time.Time) ([]any, error) {
	l := first.List
	if l.ParentConversation != "" {
		l.Parent = "" // it is looked up
	}
	meta, err := record.Encode(l)
	return []any{l.ID, l.Principal, l.Client, l.Workspace, l.Parent, l.ParentConversation, l.Mirrored, l.Conversation, record.UnixNano(begun), string(meta)}, err
}
