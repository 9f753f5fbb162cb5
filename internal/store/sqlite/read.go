package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// heldByParent selects, for a list l with a parent_conversation, the list that
// this conversation holds.
const heldByParent = `(SELECT b.list FROM cursors b WHERE l.parent_conversation <> ''
	AND b.principal = l.principal AND b.conversation = l.parent_conversation AND b.current = 1)`

const columns = `SELECT h.seq, h.list, h.revision, h.operation, h.person, h.updated, h.sum, h.body,
	l.id, l.principal, l.client, l.workspace, l.parent, l.parent_conversation, l.conversation, l.begun, l.sum, l.meta, l.seq, l.revision, ` + heldByParent

// selectRecord selects any revisions of any lists.
const selectRecord = columns + ` FROM history h JOIN lists l ON l.id = h.list`

// selectNewest selects the newest revision of each list; a list without it is
// damaged.
const selectNewest = columns + ` FROM lists l LEFT JOIN history h ON h.seq = l.seq`

// The queries that name one list.
const (
	whereNewest   = selectNewest + ` WHERE l.id = ?`
	whereRevision = selectRecord + ` WHERE h.list = ? AND h.revision = ?`
	whereLastBy   = selectRecord + ` WHERE h.list = ? AND h.person = ? AND h.revision <= ? ORDER BY h.revision DESC LIMIT 1`
	whereAfter    = selectRecord + ` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision LIMIT ?`
)

// row is a row of selectRecord or selectNewest.
type row struct {
	seq, revision, person, updated, sum sql.NullInt64
	list, operation, parent             sql.NullString
	body                                sql.RawBytes
	of                                  listRow
	newestSeq, newest                   int64
}

// listRow is what never changes in a row of lists.
type listRow struct {
	id, principal, client, workspace, parent, parentConversation, conversation string
	begun, sum                                                                 int64
	meta                                                                       sql.RawBytes
}

func (l *listRow) expectedSum() int64 {
	var s sum
	for _, text := range []string{l.id, l.principal, l.client, l.workspace, l.parent, l.parentConversation, l.conversation} {
		s.text(text)
	}
	s.number(l.begun)
	s.bytes(l.meta)
	return s.value()
}

// scan reads one row, whose body is good until the next one is read.
func (r *row) scan(from *sql.Rows) error {
	l := &r.of
	return damagedType(from.Scan(&r.seq, &r.list, &r.revision, &r.operation, &r.person, &r.updated, &r.sum, &r.body,
		&l.id, &l.principal, &l.client, &l.workspace, &l.parent, &l.parentConversation, &l.conversation, &l.begun, &l.sum, &l.meta, &r.newestSeq, &r.newest, &r.parent))
}

// damagedType returns the error of a row's Scan. Where a column has a value of another
// type than was written, the row is damaged.
func damagedType(err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error on column") { // it has no type
		return fmt.Errorf("%w: %w; `todo-mcp check` looks for more", errRecord, err)
	}
	return err
}

// check returns an error unless the row is as it was written.
func (r *row) check() error {
	if r.of.expectedSum() != r.of.sum {
		return damaged("lists", r.of.id)
	}
	isNewest := r.seq.Int64 == r.newestSeq
	if !r.seq.Valid || r.list.String != r.of.id || isNewest != (r.revision.Int64 == r.newest) {
		return damaged("lists", r.of.id, "newest revision", r.newest)
	}
	if sumOfRevision(r.list.String, r.revision.Int64, r.operation.String, r.person.Int64, r.updated.Int64, r.body) != r.sum.Int64 {
		return damaged("history", r.list.String, r.revision.Int64)
	}
	return nil
}

func sumOfRevision(list string, revision int64, operation string, person, updated int64, body []byte) int64 {
	var s sum
	s.text(list)
	s.number(revision)
	s.text(operation)
	s.number(person)
	s.number(updated)
	s.bytes(body)
	return s.value()
}

// stored is the newest revision of a list, and the checksums of its rows in history and
// in lists.
type stored struct {
	todo.Snapshot
	sum, listSum int64
}

// recent are newest revisions of lists as they were stored or decoded last.
type recent = record.Cache[string, stored]

// snapshot returns what the row says. The newest revision of a list is decoded once,
// and not if this store has saved it: rows of one Seq with the same checksums say the
// same, but for the parent of the list.
func (r *row) snapshot(newest *recent) (todo.Snapshot, error) {
	if err := r.check(); err != nil {
		return todo.Snapshot{}, err
	}
	known, ok := newest.Get(r.of.id)
	s := known.Snapshot
	if ok && known.Seq == r.seq.Int64 && known.sum == r.sum.Int64 && known.listSum == r.of.sum {
		s = s.Clone()
	} else {
		var err error
		if s, err = record.Snapshot(r.body, r.of.meta, r.seq.Int64); err != nil {
			return todo.Snapshot{}, fmt.Errorf("%w: %w", errRecord, err)
		}
		if s.Seq == r.newestSeq {
			newest.Put(r.of.id, stored{s.Clone(), r.sum.Int64, r.of.sum}, record.Footprint(s))
		}
	}
	if s.List.ParentConversation != "" {
		s.List.Parent = r.parent.String
	}
	return s, nil
}

// source is where a [reader] reads: the store, or the transaction of an update.
type source interface {
	// query runs a query and calls read with its rows, again if it has to try again.
	query(ctx context.Context, query string, args []any, read func(*sql.Rows) error) error
	// decoded is where newest revisions are found and kept.
	decoded() *recent
}

// reader implements todo.Reader.
type reader struct{ source }

// collect reads all rows of a query.
func collect[T any](ctx context.Context, from source, query string, args []any, scan func(*sql.Rows) (T, error)) (found []T, err error) {
	err = from.query(ctx, query, args, func(rows *sql.Rows) error {
		found = nil
		for rows.Next() {
			one, err := scan(rows)
			if err != nil {
				return err
			}
			found = append(found, one)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// snapshots returns the snapshots that a query on selectRecord or selectNewest selects.
func (r reader) snapshots(ctx context.Context, query string, args ...any) ([]todo.Snapshot, error) {
	found, err := collect(ctx, r.source, query, args, func(rows *sql.Rows) (todo.Snapshot, error) {
		var from row
		if err := from.scan(rows); err != nil {
			return todo.Snapshot{}, err
		}
		return from.snapshot(r.decoded())
	})
	if err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	return found, nil
}

// one returns the first snapshot that a query selects, or todo.ErrNotFound.
func (r reader) one(ctx context.Context, query string, args ...any) (todo.Snapshot, error) {
	found, err := r.snapshots(ctx, query, args...)
	if err == nil && len(found) == 0 {
		err = errNoSnapshot
	}
	if err != nil {
		return todo.Snapshot{}, err
	}
	return found[0], nil
}

var errNoSnapshot = fmt.Errorf("read snapshot: %w", todo.ErrNotFound)

// Load implements todo.Reader.
func (r reader) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	if revision == 0 {
		return r.one(ctx, whereNewest, list)
	}
	return r.one(ctx, whereRevision, list, revision)
}

// LastBy implements todo.Reader.
func (r reader) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	return r.one(ctx, whereLastBy, list, person, upTo)
}

// History implements todo.Reader.
func (r reader) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return r.snapshots(ctx, whereAfter, list, after, record.Limit(limit))
}

// Find implements todo.Reader.
func (r reader) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	query, args := dialect.Find(q)
	return r.snapshots(ctx, query, args...)
}

var dialect = record.Dialect{Newest: selectNewest, Revisions: selectRecord, HeldByParent: heldByParent, Cursors: "cursors"}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	found, err := collect(ctx, s, `SELECT coalesce(max(seq), 0) FROM lists`, nil, func(rows *sql.Rows) (seq int64, err error) {
		return seq, rows.Scan(&seq)
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}

func (s *Store) decoded() *recent { return &s.newest }

// query implements source. It finds no rows when there is no file yet.
func (s *Store) query(ctx context.Context, query string, args []any, read func(*sql.Rows) error) error {
	return s.withFile(ctx, func(f *file) error { return f.query(ctx, query, args, read) })
}

// query runs a query and calls read with its rows.
func (f *file) query(ctx context.Context, query string, args []any, read func(*sql.Rows) error) error {
	rows, err := f.statements.query(ctx, query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	return read(rows)
}

// withFile calls read with the file, and not at all when there is none yet. While
// another process has it locked it tries again until ctx ends.
func (s *Store) withFile(ctx context.Context, read func(*file) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.work.Done()
	locked := false
	for {
		err := s.tryWithFile(ctx, read)
		if ended := ctx.Err(); ended != nil && (locked || busy(err)) {
			return fmt.Errorf("%w: another program has %s locked; end it, or name another store with --store", ended, s.path)
		}
		// ctx.Err() comes first, because it explains an interrupted query.
		if err = firstError(ctx.Err(), err); !busy(err) {
			return err
		}
		locked = true
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *Store) tryWithFile(ctx context.Context, read func(*file) error) error {
	f, err := s.use(ctx)
	if f == nil || err != nil {
		return err
	}
	defer f.release() //nolint:errcheck // everything is read already
	return describe(s.path, read(f))
}

// firstError returns the first error that is not nil, or nil if all are.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
