package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
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

// Update implements board.Store. Updates of one key wait for each other in the process, then in the database.
func (s *Store) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	err := s.life.Enter(ctx)
	if err != nil {
		return named(ctx, "update lists", err)
	}
	defer s.life.Work.Done()
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
	if t.Failed != nil && (err == nil || t.mayRunAgain(t.Failed)) {
		err = t.Failed // the change may not have returned it
	}
	if err != nil || !t.writes {
		return t.mayRunAgain(err), err
	}
	if err := t.commit(ctx); err != nil {
		return raced(err), named(ctx, "commit update", err)
	}
	if t.saves > 0 {
		s.life.Hint()
		board.Signal(s.saved)
	}
	return false, nil
}

// mayRunAgain reports whether a transaction failed, before its commit, because of another one or of a lost connection.
func (t *tx) mayRunAgain(err error) bool { return raced(err) || err != nil && t.conn.Conn().IsClosed() }

// begin begins the transaction, and locks and reads what most changes need: the chat of key, what it has seen, and its
// current list (or the list whose id is the chat's). If alone, it waits until all others end, and lets none begin.
func (t *tx) begin(ctx context.Context, key board.Key, alone bool) error {
	t.pending.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	mode := "ROW SHARE" // waits for a move of the schema (see makeSchema), and for a transaction that runs alone
	if alone {
		mode = "EXCLUSIVE"
	}
	t.pending.Queue(`LOCK TABLE todo_mcp.store IN ` + mode + ` MODE`)
	t.lockChat(key.Chat)
	if todo.IsChatID(key.Chat) {
		t.pending.Queue(numbered(queries().ChatOf), plain(key.Chat)).Query(func(found pgx.Rows) error {
			all, err := tables.Collect(rows{found}, queries().ScanChat)
			if errors.Is(err, board.ErrDamaged) {
				all, err = nil, nil // it counts as none
			}
			t.Memory.Chats[key.Chat] = append(all, todo.Chat{})[0]
			return err
		})
	}
	t.pending.Queue(numbered(queries().SeenBy), plain(key.Principal), plain(key.Chat), key.Mirrors).Query(func(found pgx.Rows) (err error) {
		t.Memory.Seen[key], err = tables.Collect(rows{found}, queries().ScanSeen)
		return err
	})
	return t.Do(ctx, "begin update", func() error {
		err := t.lock(ctx, `coalesce(nullif(todo_mcp.held($1, $2, $3), ''), $2)`, key.Principal, key.Chat, key.Mirrors)
		if errors.Is(err, board.ErrDamaged) {
			return nil // a method that needs that list returns the error
		}
		return err
	})
}

// commit sends what was written since the last read, and commits if each name still leads to the list that was read.
func (t *tx) commit(ctx context.Context) error {
	for of := range t.names {
		t.lockName(of)
	}
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

// tx is the transaction of an update. It locks and remembers what it reads. What it writes is sent with the next read.
type tx struct {
	tables.Saver // its Memory has the lists whose rows are locked
	store        *Store
	conn         *pgxpool.Conn
	pending      *pgx.Batch
	seq          int64                // the first that it may give
	peeked       map[string]int64     // the Seq of the chats that were read and not locked
	names        map[[2]string]string // the lists of the names (with their principals) that were read and not locked
	locked       map[string]bool      // the chats and names that are locked
	writes       bool
	saves        int64 // how many Seqs it has given
}

var _ board.Tx = (*tx)(nil)

// newTx returns a transaction that has a connection, which end releases, and has not begun.
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
	t := &tx{store: s, conn: conn, pending: &pgx.Batch{}, locked: make(map[string]bool), peeked: make(map[string]int64), names: make(map[[2]string]string)}
	t.Saver = tables.Saver{Memory: tables.NewMemory(), DB: t, Keep: s.keep, Used: &s.used, Alive: s.Alive, Wrap: named}
	t.Reader = newReader(t, &s.Health, t.Do)
	return t, nil
}

// Chat implements board.Tx. It takes no new lock, so that no two transactions wait for each other; see LockChat.
func (t *tx) Chat(ctx context.Context, id string) (c todo.Chat, err error) {
	if _, isKnown := t.Memory.Chats[id]; isKnown || t.locked[id] {
		return t.Saver.Chat(ctx, id)
	}
	if c, err = t.Reader.Chat(ctx, id); err == nil {
		t.peeked[id] = c.Seq
	}
	return c, err
}

// LockChat implements [tables.DB]. It returns errRaced if the chat is not as Chat read it without a lock.
func (t *tx) LockChat(ctx context.Context, id string) (c todo.Chat, err error) {
	return c, t.Do(ctx, "read chat", func() error {
		t.lockChat(id)
		if c, err = t.Reader.Chat(ctx, id); err != nil {
			return err
		}
		if seq, isPeeked := t.peeked[id]; isPeeked && seq != c.Seq {
			return errRaced
		}
		delete(t.peeked, id)
		return nil
	})
}

// LockSeen implements [tables.DB].
func (t *tx) LockSeen(ctx context.Context, of board.Key) (all []board.Seen, damaged int, err error) {
	t.lockChat(of.Chat)
	return t.SeenBy(ctx, of)
}

// lockChat locks a chat with what it has seen, or a name, until the transaction ends.
func (t *tx) lockChat(id string) {
	if !t.locked[id] {
		t.locked[id] = true
		t.pending.Queue(`SELECT pg_advisory_xact_lock($1)`, lockOf(id))
	}
}

// lockOf returns the key of the advisory lock of a chat, by its id, or of a name.
func lockOf(what string) int64 {
	sum := sha256.Sum256([]byte(what))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any number does
}

// lock locks the list whose id is the value of an expression, and then reads its newest revision.
func (t *tx) lock(ctx context.Context, id string, args ...any) error {
	var locked []string
	var isDamaged error
	var found []todo.Snapshot
	args = stored(args)
	t.pending.Queue(`SELECT id FROM todo_mcp.lists WHERE id = `+id+` FOR UPDATE`, args...).Query(func(all pgx.Rows) (err error) {
		locked, err = tables.Collect(rows{all}, func(from tables.Rows) (id string, err error) { return id, from.Scan(&id) })
		return err
	})
	t.pending.Queue(numbered(queries().Newest)+` WHERE l.id = `+id, args...).Query(func(all pgx.Rows) (err error) {
		if found, err = tables.Collect(rows{all}, tables.ScanSnapshot); errors.Is(err, board.ErrDamaged) {
			isDamaged, err = err, nil // the transaction can do without it
		}
		return err
	})
	t.pending.Queue(`SELECT todo_mcp.seq($1)`, len(steps)).QueryRow(func(from pgx.Row) error { return from.Scan(&t.seq) })
	err := t.flush(ctx)
	for _, s := range found {
		if err == nil && slices.Contains(locked, s.List.ID) {
			t.Memory.Lists[s.List.ID] = s
		}
	}
	return cmp.Or(err, isDamaged)
}

// LockList implements [tables.DB].
func (t *tx) LockList(ctx context.Context, id string) (todo.Snapshot, error) {
	err := t.Do(ctx, "read snapshot", func() error { return t.lock(ctx, `$1`, id) })
	return t.Memory.Lists[id], err
}

// SeenOn implements board.Tx. It locks the list, so that no other transaction makes it a chat's current list meanwhile.
func (t *tx) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	t.queueLock(list)
	return t.Reader.SeenOn(ctx, principal, list)
}

// queueLock locks a list, unless it is locked or list is empty.
func (t *tx) queueLock(list string) {
	if _, isLocked := t.Memory.Lists[list]; list != "" && !isLocked {
		t.pending.Queue(`SELECT 1 FROM todo_mcp.lists WHERE id = $1 FOR UPDATE`, plain(list))
	}
}

// See implements board.Tx. It locks a list that becomes current.
func (t *tx) See(ctx context.Context, c board.Seen) error {
	if all, err := t.Seen(ctx, c.Key); err == nil && c.Current && board.Current(all) != c.List {
		t.queueLock(c.List)
	}
	return t.Saver.See(ctx, c)
}

// Named implements board.Tx. It does not lock the name: some callers have locked the list before and some have not, so
// two could wait for each other. [tx.lockName] locks and checks it later.
func (t *tx) Named(ctx context.Context, principal, name string) (list string, err error) {
	list, err = t.Reader.Named(ctx, principal, name)
	if of := [2]string{principal, name}; err == nil && !t.locked[lockedName(of)] {
		t.names[of] = list
	}
	return list, err
}

// SetName implements board.Tx.
func (t *tx) SetName(ctx context.Context, principal, name, list string) error {
	t.lockName([2]string{principal, name})
	return t.Saver.SetName(ctx, principal, name, list)
}

// lockName locks a principal's name. If [tx.Named] read another list for it, the transaction fails and runs again.
func (t *tx) lockName(of [2]string) {
	t.lockChat(lockedName(of))
	if list, isRead := t.names[of]; isRead {
		t.pending.Queue(`SELECT todo_mcp.check_name($1, $2, $3)`, plain(of[0]), plain(of[1]), plain(list))
		delete(t.names, of)
	}
}

func lockedName(of [2]string) string { return of[0] + "\x00" + of[1] }

// Save implements board.Tx. It returns errRaced if another server changed the list since Find read it, without a lock.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	if _, isLocked := t.Memory.Lists[next.List.ID]; !isLocked && next.Revision > 1 {
		before, err := t.Load(ctx, next.List.ID, 0)
		if (err == nil || errors.Is(err, board.ErrNotFound)) && !next.Follows(before) {
			return next, t.Do(ctx, "save snapshot", func() error { return errRaced })
		}
	}
	return t.Saver.Save(ctx, next)
}

func (t *tx) Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error {
	clear(t.Memory.Seen)
	clear(t.Memory.Chats)
	clear(t.peeked)
	return t.Saver.Purge(ctx, list, by, now)
}

func (t *tx) Exec(query string, args ...any) error {
	t.pending.Queue(numbered(query), stored(args)...)
	t.writes = true
	return nil
}

func (t *tx) Remove(query string, args ...any) error { return t.Exec(query, args...) }

func (t *tx) Scan(ctx context.Context, query string, args []any, into ...any) error {
	return one(ctx, t, into, numbered(query), args...)
}

func (t *tx) NextSeq() (int64, error) {
	t.saves++
	return t.seq + t.saves - 1, nil
}

// Size implements [tables.DB]: it is the size of all rows, without the space that removed ones take until a vacuum.
func (t *tx) Size(ctx context.Context) (int64, error) {
	if t.store.keep.Bytes <= 0 {
		return 0, nil
	}
	size, err := t.store.used.Read("", t.store.keep, func() (size int64, err error) {
		return size, one(ctx, t, []any{&size}, `SELECT coalesce(sum(bytes), 0)::bigint + ((SELECT count(*) FROM todo_mcp.seen) + (SELECT count(*) FROM todo_mcp.names)) * $1
			+ (SELECT coalesce(sum($1 + octet_length(body)), 0) FROM todo_mcp.chats)::bigint
			+ ((SELECT count(*) FROM todo_mcp.keys) + (SELECT count(*) FROM todo_mcp.notices)) * $1 FROM todo_mcp.lists`, tables.RowSize)
	})
	t.store.SetSize(size)
	return size, err
}
