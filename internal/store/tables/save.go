package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// DB is a transaction of a database, as a [Saver] uses it. SQL has a question mark for
// each argument.
type DB interface {
	// Exec runs a statement that changes something, at the latest before anything is
	// read or committed.
	Exec(sql string, args ...any) error

	// Remove is Exec for what removes lists or cursors, which the transaction may
	// remember.
	Remove(sql string, args ...any) error

	// Scan reads the only row of a query. It returns [sql.ErrNoRows] when there is none.
	Scan(ctx context.Context, sql string, args []any, into ...any) error

	// Load is of [todo.Reader]. Until the transaction ends nobody else changes a list
	// whose newest revision it has read.
	Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error)

	// Remember is told which revision of a list is the newest now, and the size of its
	// stored form in bytes.
	Remember(newest todo.Snapshot, bytes int)

	// NextSeq returns the Seq of the next revision that is stored.
	NextSeq() (int64, error)

	// Size returns the size of the store in bytes, so exactly that it can be told whether
	// a list may begin, or another revision be stored. It is 0 where that is not limited.
	Size(ctx context.Context, begins bool) (int64, error)
}

// Saver stores lists and cursors in a transaction.
type Saver struct {
	SQL  *SQL
	DB   DB
	Keep todo.Keep
}

// ErrEncode means that a revision cannot be stored, as one with a time after the year
// 9999.
var ErrEncode = errors.New("it has no stored form")

// Save stores a revision as [todo.Tx] says, and deletes the revisions that are not kept
// any more. It returns what it stored, with the list as it began.
func (s *Saver) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	before, err := s.DB.Load(ctx, next.List.ID, 0)
	if err != nil && !errors.Is(err, todo.ErrNotFound) {
		return next, err
	}
	if next.Revision != before.Revision+1 && (before.Revision > 0 || next.Revision < 1) {
		return next, fmt.Errorf("revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, todo.ErrNotFound)
	}
	next = next.Clone()
	if before.Revision == 0 {
		return next, s.begin(ctx, &next, time.Now())
	}
	next.List = before.List
	if !next.Deleted {
		size, err := s.DB.Size(ctx, false)
		if err == nil {
			err = s.Keep.CheckBytes(size, false)
		}
		if err != nil {
			return next, err
		}
	}
	return next, s.goOn(&next)
}

// goOn stores the next revision of a list that is there.
func (s *Saver) goOn(next *todo.Snapshot) error {
	bytes, err := s.addRevision(next)
	if err != nil {
		return err
	}
	id := next.List.ID
	err = s.DB.Exec(s.SQL.updateList, next.Revision, next.Seq, record.UnixNano(next.Updated), next.Deleted, bytes, id)
	if first := s.Keep.First(next.Revision); first > 1 && err == nil {
		if err = s.DB.Exec(s.SQL.countTrimmed, id, first, id); err == nil {
			err = s.DB.Exec(s.SQL.trim, id, first)
		}
	}
	s.DB.Remember(*next, bytes)
	return err
}

// begin stores the first revision of a list, if there is room, and tidies up.
func (s *Saver) begin(ctx context.Context, first *todo.Snapshot, now time.Time) error {
	err := s.makeRoom(ctx, first.List, now)
	if err == nil {
		err = s.addList(first, now)
	}
	if err == nil {
		err = s.tidy(now)
	}
	return err
}

// addList stores the row of a list that began at a time, and of its one revision.
func (s *Saver) addList(first *todo.Snapshot, begun time.Time) error {
	values, err := listValues(*first, begun)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEncode, err)
	}
	bytes, err := s.addRevision(first)
	if err != nil {
		return err
	}
	s.DB.Remember(*first, bytes)
	return s.DB.Exec(s.SQL.addList,
		append(s.SQL.summed(values), first.Revision, first.Seq, record.UnixNano(first.Updated), first.Deleted, bytes)...)
}

// addRevision stores the row of a revision and sets its Seq. It returns the size of its
// body in bytes.
func (s *Saver) addRevision(next *todo.Snapshot) (bytes int, err error) {
	body, err := record.Body(*next)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrEncode, err)
	}
	if next.Seq, err = s.DB.NextSeq(); err != nil {
		return 0, err
	}
	values := s.SQL.summed([]any{next.List.ID, next.Revision, next.Operation.ID, record.UnixNano(next.Updated), body})
	values[4] = string(body) // it is stored as text
	return len(body), s.DB.Exec(s.SQL.addRevision, append(values, next.Seq)...)
}

// makeRoom returns an error when a list may not begin, see [todo.Keep.MakeRoom].
func (s *Saver) makeRoom(ctx context.Context, l todo.List, now time.Time) error {
	usage := func(since time.Time) (u todo.Usage, err error) {
		args := []any{l.Principal, l.Principal, l.Conversation, record.UnixNano(since), s.Keep.Begun}
		if err = s.DB.Scan(ctx, s.SQL.usage, args, &u.Lists, &u.Begun); err == nil {
			u.Bytes, err = s.DB.Size(ctx, true)
		}
		return u, err
	}
	return s.Keep.MakeRoom(l, now, usage, func(before time.Time) error {
		return s.forget(s.SQL.abandoned, l.Principal, record.UnixNano(before), todo.MaxAbandoned)
	})
}

// forget removes the lists that a query selects, with all that belongs to them.
func (s *Saver) forget(lists string, args ...any) error {
	for _, statement := range s.SQL.forget {
		if err := s.DB.Remove(fmt.Sprintf(statement, lists), args...); err != nil {
			return err
		}
	}
	return nil
}

// How many lists that were deleted long ago, and cursors that nobody has used for too
// long, go when a list begins.
const maxTrash, maxOldCursors = 4, 100

// tidy removes lists that were deleted too long ago to bring them back, and some of the
// cursors that nobody has used for too long.
func (s *Saver) tidy(now time.Time) error {
	err := s.forget(s.SQL.trash, record.UnixNano(now.Add(-todo.TrashAge)), maxTrash)
	if err != nil {
		return err
	}
	return s.DB.Remove(s.SQL.oldCursors, record.UnixNano(now.Add(-todo.CursorAge)), maxOldCursors)
}

// Purge implements [todo.Tx]. One revision without content takes the place of all.
func (s *Saver) Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error {
	var principal string
	var newest, begun int64
	if err := s.DB.Scan(ctx, s.SQL.lockList, []any{list}, &principal, &newest, &begun); err != nil {
		return err
	}
	if err := s.forget(s.SQL.list, list); err != nil {
		return err
	}
	last := record.Purged(list, principal, newest, time.Unix(0, begun), by, now)
	return s.addList(&last, time.Unix(0, begun))
}

// SetCursor stores a cursor of a conversation that has others, as [todo.SetCursor] says,
// or every one of them if all is true. It returns all that it has then.
func (s *Saver) SetCursor(others []todo.Cursor, c todo.Cursor, all bool) ([]todo.Cursor, error) {
	after, set := todo.SetCursor(others, c, time.Now())
	for _, now := range slices.Backward(after) { // the current one is the first, and there is one at a time
		ended := !now.Current && now.List == todo.Current(others)
		if all || ended || now.List == set.List {
			if err := s.DB.Exec(s.SQL.setCursor, s.SQL.summed(CursorValues(now))...); err != nil {
				return after, err
			}
		}
	}
	return after, nil
}
