package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// tx is the todo.Tx of one function that the writer runs in its transaction.
type tx struct {
	*writer
	reader
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
	case !t.writing, ok && t.alone:
		return nil
	case ok:
		return t.run(`RELEASE one`)
	}
	t.forget() // it may have what is taken back
	if t.alone {
		t.gone = true
		return t.run(`ROLLBACK`)
	}
	if err = t.run(`ROLLBACK TO one`); err == nil {
		err = t.run(`RELEASE one`)
	}
	return err
}

// writes runs what stores something. It notes a failure of the store.
func (t *tx) writes(store func() error) error {
	if !t.writing && !t.alone {
		if err := t.run(`SAVEPOINT one`); err != nil {
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

// query implements source. It notes a failure of the store.
func (t *tx) query(ctx context.Context, query string, args []any, read func(*sql.Rows) error) error {
	return firstError(t.note(t.writer.query(ctx, query, args, read)), ctx.Err())
}

// query implements source. It does not end with a context: the transaction of others
// would end with it.
func (w *writer) query(_ context.Context, query string, args []any, read func(*sql.Rows) error) error {
	rows, err := w.statements.query(context.Background(), query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	return read(rows)
}

func (w *writer) decoded() *recent { return w.newest }

// Load implements todo.Tx.
func (t *tx) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	if revision != 0 {
		return t.reader.Load(ctx, list, revision)
	}
	newest, err := t.newestOf(list)
	if err == nil && newest.Revision == 0 {
		return todo.Snapshot{}, errNoSnapshot
	}
	return newest.Snapshot, t.note(err)
}

// Find implements todo.Tx.
func (t *tx) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	if q.Operation != "" { // mostly there is none, which costs less to find out
		var seq int64
		err := t.statements.scan(`SELECT seq FROM history WHERE operation = ? AND operation <> ''`, []any{q.Operation}, &seq)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, t.note(err)
		}
	}
	return t.reader.Find(ctx, q)
}

// newestOf returns the newest revision of a list, of which revision 0 is none. It keeps
// what it reads.
func (w *writer) newestOf(list string) (found stored, err error) {
	found, ok := w.memory.lists.Get(list)
	if !ok {
		rows, err := w.statements.query(context.Background(), whereNewest, []any{list})
		if err != nil {
			return stored{}, err
		}
		defer rows.Close()
		if !rows.Next() {
			return stored{}, rows.Err()
		}
		var r row
		if err := r.scan(rows); err != nil {
			return stored{}, err
		}
		if found.Snapshot, err = r.snapshot(w.newest); err != nil {
			return stored{}, err
		}
		found.sum, found.listSum = r.sum.Int64, r.of.sum
		w.keepList(found)
	}
	found.List.Parent, err = w.parent(found.List)
	return found, err
}

// keepList keeps a revision in memory.
func (w *writer) keepList(s stored) {
	size := record.Footprint(s.Snapshot)
	w.memory.lists.Put(s.List.ID, s, size)
	w.newest.Put(s.List.ID, s, size)
}

// Save implements todo.Tx.
func (t *tx) Save(_ context.Context, next todo.Snapshot) (saved todo.Snapshot, err error) {
	err = t.writes(func() error {
		saved, err = t.save(next.Clone(), time.Now())
		return err
	})
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("save snapshot: %w", err)
	}
	return saved, nil
}

// save stores a revision, and deletes what is not kept any more.
func (w *writer) save(next todo.Snapshot, now time.Time) (todo.Snapshot, error) {
	before, err := w.newestOf(next.List.ID)
	if err != nil {
		return todo.Snapshot{}, err
	}
	if next.Revision != before.Revision+1 {
		return todo.Snapshot{}, fmt.Errorf("revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, todo.ErrNotFound)
	}
	begins := next.Revision == 1
	if begins {
		err = w.keep.MakeRoom(next.List, now, w.room(next.List))
	} else {
		next.List = before.List
		err = w.keep.CheckNext(next, w.storeSize)
	}
	if err != nil {
		return todo.Snapshot{}, err
	}
	done := stored{next, 0, before.listSum}
	if done.Seq, done.sum, err = w.appendHistory(next); err != nil {
		return todo.Snapshot{}, err
	}
	if begins {
		done.listSum, err = w.insertList(done.Snapshot, now)
	} else {
		err = w.updateList(done.Snapshot)
	}
	if err != nil {
		return todo.Snapshot{}, err
	}
	w.keepList(done)
	if !begins {
		return done.Snapshot, w.trim(next)
	}
	if done.List.Parent, err = w.parent(next.List); err != nil {
		return todo.Snapshot{}, err
	}
	return done.Snapshot, w.tidy(now)
}
