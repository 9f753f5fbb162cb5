package postgres

import (
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Update implements board.Store. Updates of one principal wait for each other in the process, then in the database.
func (s *Store) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	err := s.life.Enter(ctx)
	if err != nil {
		return named(ctx, "update lists", err)
	}
	defer s.life.Work.Done()
	turn := s.turns[maphash.String(seed, key.Principal)%uint64(len(s.turns))]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return named(ctx, "wait for other updates", ctx.Err())
	}
	for try := 1; ; try++ {
		again, err := s.try(ctx, key, change)
		if !again || try == maxTries || ctx.Err() != nil {
			return err
		}
		time.Sleep(rand.N(time.Duration(try) * time.Millisecond))
	}
}

var seed = maphash.MakeSeed()

// maxTries is how often a change may run. It runs again after a lost connection or a conflict with other transactions.
const maxTries = 10

// raced reports whether a transaction failed only because of a concurrent transaction of another program, or of another
// principal that used the same id for a new row. Updates of one principal wait for each other, so they never race.
func raced(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	codes := []string{"40P01", "40001", "23505"} // deadlock, serialization failure, unique violation
	return ok && slices.Contains(codes, refused.Code)
}

// try runs a change in a transaction, and commits the transaction, or rolls it back after an error or a panic. again is
// true if nothing was stored and the change may be run again.
func (s *Store) try(ctx context.Context, key board.Key, change func(board.Tx) error) (again bool, err error) {
	t, err := s.newTx(ctx)
	if err != nil {
		return false, named(ctx, "connect to the database", err)
	}
	defer t.end()
	if err = t.begin(ctx, key); err == nil {
		err = change(t)
	}
	if t.Failed != nil && (err == nil || t.mayRunAgain(t.Failed)) {
		err = t.Failed // even if the change ignored the error
	}
	if err != nil || !t.writes {
		return t.mayRunAgain(err), err
	}
	if err := t.commit(ctx); err != nil {
		return t.mayRunAgain(err) && !errors.Is(err, board.ErrUnknownOutcome), named(ctx, "commit update", err)
	}
	if t.saves > 0 {
		s.life.Hint()
		board.Signal(s.saved)
	}
	return false, nil
}

// mayRunAgain reports whether a transaction failed because of another transaction or of a lost connection.
func (t *tx) mayRunAgain(err error) bool { return raced(err) || err != nil && t.conn.Conn().IsClosed() }

// begin begins the transaction, waits for other updates of the principal, and reads the rows that most changes need:
// the chat of key, its rows of seen, and its current list (or, if it has none, the list whose id is the chat's).
func (t *tx) begin(ctx context.Context, key board.Key) error {
	t.pending.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	if key.Principal == board.AllPrincipals { // no other update runs meanwhile
		t.pending.Queue(`LOCK TABLE todo_mcp.store IN EXCLUSIVE MODE`)
	} else {
		t.pending.Queue(`LOCK TABLE todo_mcp.store IN ROW SHARE MODE`) // waits for a schema upgrade (see makeSchema)
		t.pending.Queue(`SELECT pg_advisory_xact_lock(1, todo_mcp.lock_of($1))`, plain(key.Principal))
	}
	// The following statements see all transactions that were committed before the lock was granted.
	if todo.IsChatID(key.Chat) {
		t.pending.Queue(numbered(queries().ChatOf), plain(key.Chat)).Query(func(found pgx.Rows) error {
			all, _, err := tables.Good(&t.store.Health, found, tables.ScanChat)
			t.Memory.Chats[key.Chat] = append(all, todo.Chat{})[0]
			return err
		})
	}
	of := []any{plain(key.Principal), plain(key.Chat), key.Mirrors}
	t.pending.Queue(numbered(queries().SeenBy), of...).Query(func(found pgx.Rows) (err error) {
		t.Memory.Seen[key], _, err = tables.Good(&t.store.Health, found, tables.ScanSeen)
		return err
	})
	t.pending.Queue(numbered(queries().Newest)+` WHERE l.id = coalesce(nullif(todo_mcp.held($1, $2, $3), ''), $2)`, of...).Query(func(found pgx.Rows) error {
		all, _, err := tables.Good(&t.store.Health, found, tables.ScanSnapshot)
		for _, s := range all { // damaged rows are left out: a method that needs such a row reads it again and fails
			t.Memory.Lists[s.List.ID] = s
		}
		return err
	})
	t.pending.Queue(`SELECT todo_mcp.seq($1)`, len(steps)).QueryRow(func(from pgx.Row) error { return from.Scan(&t.seq) })
	return t.Do(ctx, "begin update", func() error { return t.flush(ctx) })
}

// commit sends all writes since the last read, and commits.
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
func (t *tx) flush(ctx context.Context) error { return t.SendBatch(ctx, &pgx.Batch{}).Close() }

// SendBatch implements sender. It sends the pending statements, then those of batch, in one round trip.
func (t *tx) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	batch.QueuedQueries = append(t.pending.QueuedQueries, batch.QueuedQueries...)
	t.pending = &pgx.Batch{}
	return t.conn.SendBatch(ctx, batch)
}

// tx is the transaction of an update. It remembers the rows that it reads: nobody else changes them before it ends. Its
// writes are sent with the next read or the commit.
type tx struct {
	tables.Saver
	store   *Store
	conn    *pgxpool.Conn
	pending *pgx.Batch
	seq     int64 // the first Seq that NextSeq gives
	writes  bool
	saves   int64 // how many Seqs NextSeq has given
}

var _ board.Tx = (*tx)(nil)

// newTx returns a transaction that has not begun. It has a connection, which [tx.end] releases.
func (s *Store) newTx(ctx context.Context) (*tx, error) {
	select {
	case s.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		<-s.room
		return nil, err
	}
	t := &tx{store: s, conn: conn, pending: &pgx.Batch{}}
	t.Saver = tables.Saver{Memory: tables.NewMemory(), DB: t, Keep: s.keep, Used: &s.Used, Alive: s.Alive, Wrap: named}
	t.Reader = newReader(t, &s.Health, t.Do)
	return t, nil
}

func (t *tx) Exec(query string, args ...any) error {
	t.pending.Queue(numbered(query), stored(args)...)
	t.writes = true
	return nil
}

func (t *tx) Remove(query string, args ...any) error { return t.Exec(query, args...) }

func (t *tx) Scan(ctx context.Context, query string, args []any, into ...any) error {
	t.pending.Queue(numbered(query), stored(args)...).QueryRow(func(found pgx.Row) error { return found.Scan(into...) })
	return t.flush(ctx)
}

func (t *tx) NextSeq() (int64, error) {
	t.saves++
	return t.seq + t.saves - 1, nil
}
