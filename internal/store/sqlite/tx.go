package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// tx is the todo.Tx of one function that the writer runs in its transaction.
type tx struct {
	*statements
	alone   bool  // no other function stores anything in this transaction
	writing bool  // it has stored something, behind a savepoint unless it is alone
	gone    bool  // its transaction was rolled back
	failed  error // the first failure of the store
}

var _ todo.Tx = (*tx)(nil)

// call runs a request, which a panic ends.
func (r *request) call(t *tx) {
	defer func() {
		if v := recover(); v != nil {
			r.panicked, r.err = fmt.Sprintf("%v\n%s", v, debug.Stack()), errPanicked
		}
	}()
	r.err = r.run(t)
	if t.failed != nil && !errors.Is(r.err, t.failed) {
		r.err = errors.Join(r.err, t.failed) // it must not go on as if nothing had happened
	}
}

var errPanicked = errors.New("the function panicked")

// end keeps or takes back what the function stored.
func (t *tx) end(ok bool) (err error) {
	switch {
	case !t.writing:
		return nil
	case ok && t.alone:
		return nil
	case ok:
		_, err = t.release.Exec()
		return err
	}
	t.memory.forget() // it may have what is taken back, as the base items, whose ids are used again
	t.bases = new(record.Bases)
	t.size = 0
	if t.alone {
		t.gone = true
		_, err = t.rollback.Exec()
		return err
	}
	if _, err = t.undo.Exec(); err == nil {
		_, err = t.release.Exec()
	}
	return err
}

// writes runs what stores something. It notes a failure of the store.
func (t *tx) writes(store func() error) error {
	if !t.writing && !t.alone {
		if _, err := t.savepoint.Exec(); err != nil {
			return t.note(err)
		}
	}
	t.writing = true
	return t.note(store())
}

// note notes a failure of the store, and returns it.
func (t *tx) note(err error) error {
	if err != nil && !todo.IsRefusal(err) && t.failed == nil {
		t.failed = err
	}
	return err
}

// Save implements todo.Tx.
func (t *tx) Save(_ context.Context, next todo.Snapshot) (saved todo.Snapshot, err error) {
	err = t.writes(func() error {
		saved, err = t.save(next)
		return err
	})
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("save snapshot: %w", err)
	}
	return saved, nil
}

// SetCursor implements todo.Tx.
func (t *tx) SetCursor(_ context.Context, c todo.Cursor) error {
	if err := t.writes(func() error { return t.storeCursor(c) }); err != nil {
		return fmt.Errorf("save cursor: %w", err)
	}
	return nil
}

// Load implements todo.Tx.
func (t *tx) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	if revision != 0 {
		return one(t.find(ctx, whereRevision, []any{list, revision}))
	}
	newest, err := t.newestOf(list)
	if errors.Is(err, sql.ErrNoRows) {
		return one(nil, nil)
	}
	return newest.Snapshot, t.note(err)
}

// History implements todo.Tx.
func (t *tx) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return t.find(ctx, whereAfter, []any{list, after, sqlLimit(limit)})
}

// LastBy implements todo.Tx.
func (t *tx) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	return one(t.find(ctx, whereLastBy, []any{list, person, upTo}))
}

// Find implements todo.Tx.
func (t *tx) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	if q.Operation != "" {
		switch known, err := t.hasOperation(q.Operation); {
		case err != nil:
			return nil, t.note(err)
		case !known:
			return nil, nil
		}
	}
	query, args := findQuery(q)
	found, err := t.find(ctx, query, args)
	return matching(q, found), err
}

// hasOperation reports whether an operation is known, without what [tx.find] costs.
func (st *statements) hasOperation(id string) (bool, error) {
	var seq int64
	err := st.operation.QueryRow(id).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// find returns the snapshots that a query selects in the open transaction.
func (t *tx) find(ctx context.Context, query string, args []any) (found []todo.Snapshot, err error) {
	selected, err := t.rows(query, args)
	if err != nil {
		return nil, t.note(fmt.Errorf("read snapshots: %w", err))
	}
	for i := range selected {
		s, err := t.decode(&selected[i])
		if err != nil {
			return nil, t.note(fmt.Errorf("read snapshots: %w", err))
		}
		found = append(found, s)
	}
	return found, ctx.Err()
}

// query runs a query in the open transaction, prepared if there is room for it: a
// search takes longer to prepare than to run.
func (st *statements) query(query string, args []any) (*sql.Rows, error) {
	stmt := st.prepared[query]
	if stmt == nil && len(st.prepared) >= maxStatements {
		return st.conn.QueryContext(context.Background(), query, args...)
	}
	if stmt == nil {
		var err error
		if stmt, err = st.conn.PrepareContext(context.Background(), query); err != nil {
			return nil, err
		}
		st.prepared[query] = stmt
	}
	return stmt.Query(args...)
}

// rows reads the rows that a query selects in the open transaction.
func (st *statements) rows(query string, args []any) (selected []row, err error) {
	rows, err := st.query(query, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		selected = append(selected, r)
	}
	return selected, rows.Err()
}

// Cursors implements todo.Tx.
func (t *tx) Cursors(_ context.Context, of todo.Key) ([]todo.Cursor, error) {
	all, err := t.cursorsOf(of)
	return slices.Clone(all), t.note(err)
}

// CursorsOn implements todo.Tx.
func (t *tx) CursorsOn(_ context.Context, principal, list string) (found []todo.Cursor, err error) {
	query, args := onList(principal, list)
	rows, err := t.query(query, args)
	if err != nil {
		return nil, t.note(err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanCursor(rows)
		if err != nil {
			return nil, t.note(err)
		}
		found = append(found, c)
	}
	return found, t.note(rows.Err())
}

// newestOf returns the newest revision of a list in the open transaction, and how it
// is stored, or sql.ErrNoRows. It keeps what it reads.
func (st *statements) newestOf(list string) (recentList, error) {
	known, ok := st.memory.Load().lists.Get(list)
	if !ok {
		r, err := scan(st.newest.QueryRow(list))
		if err != nil {
			return known, err
		}
		if known.Snapshot, err = st.decode(&r); err != nil {
			return known, err
		}
		known.stored.Base, known.stored.Drift = r.base.Int64, r.drift
		st.keepList(known.Snapshot, known.stored, r.sum.Int64)
	}
	var err error
	known.List.Parent, err = st.parent(known.List)
	return known, err
}

// save stores a revision in the open transaction.
func (st *statements) save(next todo.Snapshot) (todo.Snapshot, error) {
	next = next.Clone()
	before, err := st.newestOf(next.List.ID)
	begins := errors.Is(err, sql.ErrNoRows)
	if err != nil && !begins {
		return todo.Snapshot{}, err
	}
	if next.Revision != before.Revision+1 {
		return todo.Snapshot{}, fmt.Errorf("revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, todo.ErrNotFound)
	}
	if begins {
		return st.beginList(next)
	}
	next.List = before.List
	if !next.Deleted {
		if err := st.checkSize(false); err != nil {
			return todo.Snapshot{}, err
		}
	}
	seq, sum, now, err := st.appendHistory(next, before.stored)
	if err != nil {
		return todo.Snapshot{}, err
	}
	next.Seq = seq
	if _, err = st.updateList.Exec(next.Revision, next.Seq, record.UnixNano(next.Updated), now.Drift, next.Deleted, next.List.ID); err != nil {
		return todo.Snapshot{}, err
	}
	st.keepList(next, now, sum)
	return next, st.trim(next)
}
