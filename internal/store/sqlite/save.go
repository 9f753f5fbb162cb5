package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"todo-mcp/internal/todo"
)

// maxBatch is the most saves one transaction carries.
const maxBatch = 256

// lastWait is how long a caller whose context ended waits for the outcome of a
// commit that is under way.
const lastWait = 2 * time.Second

// save is one call of Save on its way through the writer.
type save struct {
	ctx   context.Context
	next  todo.Snapshot
	state atomic.Int32 // waiting, taken or abandoned
	done  chan struct{}
	saved todo.Snapshot
	err   error
}

const (
	waiting = iota
	taken
	abandoned
)

// Save implements todo.Store.
func (s *Store) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return todo.Snapshot{}, err
	}
	if err := s.startWriter(); err != nil {
		return todo.Snapshot{}, err
	}
	call := &save{ctx: ctx, next: next, done: make(chan struct{})}
	select {
	case s.saves <- call:
	case <-ctx.Done():
		return todo.Snapshot{}, ctx.Err()
	case <-s.quit:
		return todo.Snapshot{}, todo.ErrClosed
	}
	select {
	case <-call.done:
		return call.saved, call.err
	case <-ctx.Done():
	}
	if call.state.CompareAndSwap(waiting, abandoned) {
		return todo.Snapshot{}, ctx.Err()
	}
	select {
	case <-call.done:
		return call.saved, call.err
	case <-time.After(lastWait):
		return todo.Snapshot{}, fmt.Errorf("save list: %w (%w)", todo.ErrUnknownOutcome, ctx.Err())
	}
}

// startWriter starts the writer's goroutine with the first save.
func (s *Store) startWriter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return todo.ErrClosed
	}
	if !s.writing {
		s.writing = true
		s.work.Go(s.writeLoop)
	}
	return nil
}

// writeLoop is the one writer of this process: it commits what waits, together.
func (s *Store) writeLoop() {
	var w writer
	defer w.close()
	for {
		select {
		case first := <-s.saves:
			s.commit(&w, s.collect(first))
		case <-s.quit:
			for { // what was accepted before Close is still saved
				select {
				case first := <-s.saves:
					s.commit(&w, s.collect(first))
				default:
					return
				}
			}
		}
	}
}

// collect takes what waits behind the first save.
func (s *Store) collect(first *save) []*save {
	batch := []*save{first}
	for len(batch) < maxBatch {
		select {
		case next := <-s.saves:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// commit saves a batch, again while another process holds the file and somebody
// still waits, and answers everyone.
func (s *Store) commit(w *writer, batch []*save) {
	for {
		batch = take(batch)
		if len(batch) == 0 {
			return
		}
		err := w.write(s.path, batch)
		if failedWith(err, codeBusy) {
			continue
		}
		if err != nil {
			w.close() // the next batch begins afresh
		} else {
			s.batches++
			s.hints.all()
		}
		for _, call := range batch {
			if err != nil {
				call.saved, call.err = todo.Snapshot{}, err
			}
			close(call.done)
		}
		return
	}
}

// take claims the saves whose callers still wait; those who gave up while
// nothing was done get their answer.
func take(batch []*save) []*save {
	var live []*save
	for _, call := range batch {
		switch {
		case call.state.CompareAndSwap(waiting, taken):
			live = append(live, call)
		case call.state.Load() == taken && call.ctx.Err() == nil: // a further try
			live = append(live, call)
		case call.state.Load() == taken:
			call.err = call.ctx.Err()
			close(call.done)
		}
	}
	return live
}

// writer is the writing connection; its zero value is not open.
type writer struct {
	file *file
	stmt statements
}

type statements struct {
	operation, list, scope, record, history, begin, advance *sql.Stmt
}

func (w *writer) close() {
	if w.file != nil {
		_ = w.file.db.Close() // closes its statements too
	}
	*w = writer{}
}

// open opens the file, or opens it anew when it is another than before.
func (w *writer) open(path string) error {
	if w.file != nil {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, w.file.info) {
			return nil
		}
		w.close()
	}
	f, err := openWriter(context.Background(), path)
	if err != nil {
		return err
	}
	w.file = f
	for to, query := range map[**sql.Stmt]string{
		&w.stmt.operation: `SELECT list, revision FROM history WHERE operation = ? AND operation <> ''`,
		&w.stmt.list:      `SELECT revision, meta FROM lists WHERE id = ?`,
		&w.stmt.scope:     `SELECT id, revision FROM lists WHERE exclusive = ?`,
		&w.stmt.record:    selectRecord + ` WHERE h.list = ? AND h.revision = ?`,
		&w.stmt.history:   `INSERT INTO history (list, revision, operation, body) VALUES (?, ?, ?, ?)`,
		&w.stmt.begin:     `INSERT INTO lists (id, scope, exclusive, principal, parent, meta, revision, seq, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.stmt.advance:   `UPDATE lists SET revision = ?, seq = ?, updated = ? WHERE id = ?`,
	} {
		if *to, err = f.db.Prepare(query); err != nil {
			w.close()
			return describe(path, err)
		}
	}
	return nil
}

// write saves a batch in one transaction. Each save is decided by itself: its
// own conflict is its answer. An error is the whole batch's, and none of it was
// applied unless it wraps todo.ErrUnknownOutcome.
func (w *writer) write(path string, batch []*save) error {
	if err := w.open(path); err != nil {
		return err
	}
	tx, err := w.file.db.Begin()
	if err != nil {
		return fmt.Errorf("save list: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	for _, call := range batch {
		call.saved, call.err = w.stmt.save(tx, call.next)
		if err := refused(call.err); err != nil {
			return fmt.Errorf("save list: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		if failedWith(err, codeIOErr) {
			// What reached the log may yet be found there.
			err = fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, err)
		}
		return fmt.Errorf("commit list: %w", err)
	}
	if info, err := os.Stat(path); err != nil || !os.SameFile(info, w.file.info) {
		return fmt.Errorf("commit list: the store file %s is gone: %w", path, todo.ErrUnknownOutcome)
	}
	return nil
}

// refused passes on an error that is not one save's own answer.
func refused(err error) error {
	var conflict *todo.ConflictError
	if errors.As(err, &conflict) || errors.Is(err, todo.ErrNotFound) || errors.Is(err, todo.ErrOperationReused) {
		return nil
	}
	return err
}

// save decides one save.
func (st *statements) save(tx *sql.Tx, next todo.Snapshot) (todo.Snapshot, error) {
	if done, ok, err := st.repeated(tx, next.Operation); ok || err != nil {
		return done, err
	}
	var revision int64
	var meta []byte
	err := tx.Stmt(st.list).QueryRow(next.List.ID).Scan(&revision, &meta)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return st.beginList(tx, next)
	case err != nil:
		return todo.Snapshot{}, err
	case revision != next.Revision-1:
		return todo.Snapshot{}, st.conflict(tx, next.List.ID, revision)
	}
	if err := json.Unmarshal(meta, &next.List); err != nil {
		return todo.Snapshot{}, err
	}
	if err := st.append(tx, &next); err != nil {
		return todo.Snapshot{}, err
	}
	_, err = tx.Stmt(st.advance).Exec(next.Revision, next.Seq, next.Updated.UnixMilli(), next.List.ID)
	return next, err
}

// repeated answers an operation that was applied before.
func (st *statements) repeated(tx *sql.Tx, op todo.Operation) (todo.Snapshot, bool, error) {
	if op.ID == "" {
		return todo.Snapshot{}, false, nil
	}
	var list string
	var revision int64
	err := tx.Stmt(st.operation).QueryRow(op.ID).Scan(&list, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return todo.Snapshot{}, false, nil
	}
	if err != nil {
		return todo.Snapshot{}, false, err
	}
	done, err := scan(tx.Stmt(st.record).QueryRow(list, revision))
	if err == nil && done.Operation != op {
		return todo.Snapshot{}, false, todo.ErrOperationReused
	}
	return done, true, err
}

// beginList saves the first revision of a list, unless its scope is taken.
func (st *statements) beginList(tx *sql.Tx, next todo.Snapshot) (todo.Snapshot, error) {
	if next.Revision != 1 {
		return todo.Snapshot{}, fmt.Errorf("revision %d: %w", next.Revision, todo.ErrNotFound)
	}
	key := next.List.Scope.Key()
	exclusive := sql.NullString{String: key, Valid: next.List.Scope.Exclusive}
	if exclusive.Valid {
		var other string
		var revision int64
		if err := tx.Stmt(st.scope).QueryRow(key).Scan(&other, &revision); err == nil {
			return todo.Snapshot{}, st.conflict(tx, other, revision)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return todo.Snapshot{}, err
		}
	}
	meta, err := json.Marshal(next.List)
	if err != nil {
		return todo.Snapshot{}, err
	}
	if err := st.append(tx, &next); err != nil {
		return todo.Snapshot{}, err
	}
	_, err = tx.Stmt(st.begin).Exec(next.List.ID, key, exclusive, next.List.Scope.Principal, next.List.Parent,
		string(meta), next.Revision, next.Seq, next.Updated.UnixMilli())
	return next, err
}

// append writes the history row and sets the snapshot's place in it.
func (st *statements) append(tx *sql.Tx, next *todo.Snapshot) error {
	body, err := json.Marshal(recordOf(*next))
	if err != nil {
		return err
	}
	res, err := tx.Stmt(st.history).Exec(next.List.ID, next.Revision, next.Operation.ID, string(body))
	if err != nil {
		return err
	}
	next.Items = append([]todo.Item{}, next.Items...)
	next.Seq, err = res.LastInsertId()
	return err
}

// conflict is the error that carries a list's newest snapshot.
func (st *statements) conflict(tx *sql.Tx, list string, revision int64) error {
	current, err := scan(tx.Stmt(st.record).QueryRow(list, revision))
	if err != nil {
		return err
	}
	return &todo.ConflictError{Current: current}
}
