package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Update implements board.Store. Updates of one key wait for each other in the process, then in the database.
func (s *Store) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	err := s.enter(ctx)
	if err != nil {
		return named(ctx, "update lists", err)
	}
	defer s.work.Done()
	turn := s.turns[uint64(lockOf(key.Chat))%uint64(len(s.turns))] //nolint:gosec // any number does
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return named(ctx, "wait for other updates", ctx.Err())
	}
	for try := 1; ; try++ {
		again, err := s.try(ctx, key, change, try > triesBesideOthers)
		if !again || try == maxTries || ctx.Err() != nil {
			return err
		}
		time.Sleep(rand.N(time.Duration(try) * time.Millisecond))
	}
}

// maxTries is how often a change is run that lost a race or its connection; after triesBesideOthers it runs alone.
const maxTries, triesBesideOthers = 10, 3

// errRaced means that a list or a chat is no longer as the transaction read it.
var errRaced = errors.New("another server changed the list or its chat")

// raced reports whether a transaction failed only because of another one.
func raced(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	codes := []string{"40P01", "40001", "23505"} // deadlock, serialization failure, unique violation
	return ok && slices.Contains(codes, refused.Code) || errors.Is(err, errRaced)
}

// try runs a change in a transaction, alone or beside others, and commits it. After an error or a panic it is rolled
// back. again is true if nothing was stored and the change may be run again.
func (s *Store) try(ctx context.Context, key board.Key, change func(board.Tx) error, alone bool) (again bool, err error) {
	t, err := s.newTx(ctx)
	if err != nil {
		return false, named(ctx, "connect to the database", err)
	}
	defer t.end()
	if err = t.begin(ctx, key, alone); err == nil {
		err = change(t)
	}
	if t.failed != nil && (err == nil || t.mayRunAgain(t.failed)) {
		err = t.failed // the change may not have returned it
	}
	if err != nil || !t.writes {
		return t.mayRunAgain(err), err
	}
	if err := t.commit(ctx); err != nil {
		return raced(err), named(ctx, "commit update", err)
	}
	if t.saves > 0 {
		s.notices.send()
	}
	return false, nil
}

// mayRunAgain reports whether a transaction failed, before its commit, because of another one or of a lost connection.
func (t *tx) mayRunAgain(err error) bool {
	return raced(err) || err != nil && t.conn.Conn().IsClosed()
}

// begin begins the transaction, and locks and reads what most changes need: the chat of key, what it has seen, and its
// current list. A key may also be a name or the id of a list. A transaction that is alone waits for all that have locked
// a list, and lets none begin; others can read.
func (t *tx) begin(ctx context.Context, key board.Key, alone bool) error {
	t.pending.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	for name, value := range t.store.limits {
		t.pending.Queue(`SELECT set_config($1, $2, true)`, name, value)
	}
	if alone {
		t.pending.Queue(`SELECT FROM todo_mcp.store`)
		t.pending.Queue(`LOCK TABLE todo_mcp.lists IN EXCLUSIVE MODE`)
	}
	if todo.IsChatID(key.Chat) {
		t.queueChat(key.Chat)
	}
	t.queueSeen(key)
	return t.do(ctx, "begin update", func() error {
		err := t.lock(ctx, `coalesce(nullif(todo_mcp.held($1, $2, $3), ''), $2)`, key.Principal, key.Chat, key.Mirrors)
		if errors.Is(err, board.ErrDamaged) {
			return nil // a method that needs that list returns the error
		}
		return err
	})
}

// commit sends what was written since the last read, and commits.
func (t *tx) commit(ctx context.Context) error {
	t.pending.Queue(`COMMIT`).Exec(func(done pgconn.CommandTag) error {
		if done.String() != "COMMIT" {
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	return outcome(t.flush(ctx))
}

// end rolls back a transaction that was not committed, and releases its connection.
func (t *tx) end() {
	defer func() { t.conn.Release(); <-t.store.room }()
	if t.conn.Conn().PgConn().TxStatus() == 'I' || t.conn.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = t.conn.Exec(ctx, `ROLLBACK`) // if it fails, Release closes the connection, which rolls back
}

// flush sends the pending statements, and handles their results.
func (t *tx) flush(ctx context.Context) error {
	if t.pending.Len() == 0 {
		return nil
	}
	batch := t.pending
	t.pending = &pgx.Batch{}
	return t.conn.SendBatch(ctx, batch).Close()
}

// Query implements querier. It sends the pending statements first.
func (t *tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.conn.Query(ctx, sql, args...)
}

// do runs a method's function, and adds what it did to its error. After an error of the database it runs nothing.
func (t *tx) do(ctx context.Context, what string, run func() error) error {
	if t.failed != nil {
		return t.failed
	}
	err := named(ctx, what, run())
	if !errors.Is(err, board.ErrNotFound) && !errors.Is(err, board.ErrDamaged) {
		t.failed = err
	}
	return err
}
