package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// tx is the transaction of an update. It locks what it reads and may change: the rows
// of lists, and what chats have seen. These it remembers; what is written waits for
// the next other read or the commit, to be sent with it.
type tx struct {
	tables.Saver
	store   *Store
	conn    *pgxpool.Conn
	pending *pgx.Batch
	failed  error                    // the first error that nothing comes after
	seq     int64                    // of the first that it saves
	lists   map[string]todo.Snapshot // the newest revisions of those whose rows are locked; zero for none
	seen    map[board.Key][]board.Seen
	chats   map[string]todo.Chat // the zero one where there is none
	peeked  map[string]int64     // the Seq of those that were read and not locked
	locked  map[string]bool      // the chats and names that are locked
	writes  bool
	saves   int64
}

var (
	_ board.Tx  = (*tx)(nil)
	_ tables.DB = (*tx)(nil)
)

// newTx returns a transaction that is to begin, with a connection, which end releases.
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
	t := &tx{store: s, conn: conn, pending: &pgx.Batch{}, lists: make(map[string]todo.Snapshot), seen: make(map[board.Key][]board.Seen),
		chats: make(map[string]todo.Chat), locked: make(map[string]bool), peeked: make(map[string]int64)}
	t.Saver = tables.Saver{Reader: newReader(t, &s.Health, t.do), DB: t, Keep: s.keep, Used: &s.used, Alive: s.Alive, Do: t.do}
	return t, nil
}

// queueChat locks a chat, and then reads it.
func (t *tx) queueChat(id string) {
	t.lockChat(id)
	t.pending.Queue(numbered(queries().ChatOf), plain(id)).Query(func(found pgx.Rows) error {
		all, err := tables.Collect(rows{found}, scanChat)
		if errors.Is(err, board.ErrDamaged) {
			all, err = nil, nil // it counts as none
		}
		t.chats[id] = append(all, todo.Chat{})[0]
		return err
	})
}

// Chat implements board.Tx. Another chat than the transaction's own is not locked, since that
// one's may read this: who saves it finds out whether it is still as it was read.
func (t *tx) Chat(ctx context.Context, id string) (c todo.Chat, err error) {
	if c, known := t.chats[id]; known {
		return c, t.failed
	}
	if t.locked[id] {
		return t.lockedChat(ctx, id)
	}
	if c, err = t.Reader.Chat(ctx, id); err == nil {
		t.peeked[id] = c.Seq
	}
	return c, err
}

// lockedChat locks a chat and reads it.
func (t *tx) lockedChat(ctx context.Context, id string) (todo.Chat, error) {
	err := t.do(ctx, "read chat", func() error {
		if _, known := t.chats[id]; known {
			return nil
		}
		t.queueChat(id)
		return t.flush(ctx)
	})
	return t.chats[id], err
}

// SaveChat implements board.Tx.
func (t *tx) SaveChat(ctx context.Context, c todo.Chat) (todo.Chat, error) {
	was, err := t.lockedChat(ctx, c.ID)
	if err == nil {
		err = t.do(ctx, "save chat", func() (err error) {
			if seq, isPeeked := t.peeked[c.ID]; isPeeked && seq != was.Seq {
				return errRaced
			}
			c, err = t.Saver.SaveChat(ctx, was, c)
			return err
		})
	}
	if err == nil {
		t.chats[c.ID] = c
		delete(t.peeked, c.ID)
	}
	return c, err
}

// queueSeen locks a chat, and then reads what it has seen.
func (t *tx) queueSeen(of board.Key) {
	t.lockChat(of.Chat)
	t.pending.Queue(numbered(queries().SeenBy), plain(of.Principal), plain(of.Chat), of.Mirrors).Query(func(found pgx.Rows) (err error) {
		t.seen[of], err = tables.Collect(rows{found}, scanSeen)
		return err
	})
}

// lockChat locks a chat, what has seen lists, or a name, until the transaction ends.
func (t *tx) lockChat(id string) {
	if !t.locked[id] {
		t.locked[id] = true
		t.pending.Queue(`SELECT pg_advisory_xact_lock($1) FROM todo_mcp.store`, lockOf(id)) // see makeSchema
	}
}

// lockOf returns the key of the advisory lock of a chat, by its id, or of a name.
func lockOf(what string) int64 {
	sum := sha256.Sum256([]byte(what))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any number does
}

// lock locks the list whose id an expression has, and then reads it: its newest
// revision may be another one than before it was locked.
func (t *tx) lock(ctx context.Context, id string, args ...any) error {
	var locked []string
	var isDamaged error
	var found []todo.Snapshot
	args = stored(args)
	t.pending.Queue(`SELECT id FROM todo_mcp.lists WHERE id = `+id+` FOR UPDATE`, args...).Query(func(all pgx.Rows) (err error) {
		locked, err = tables.Collect(rows{all}, func(from tables.Rows) (id string, err error) { return id, from.Scan(&id) })
		return err
	})
	t.pending.Queue(queries().Newest+` WHERE l.id = `+id, args...).Query(func(all pgx.Rows) (err error) {
		if found, err = tables.Collect(rows{all}, tables.ScanSnapshot); errors.Is(err, board.ErrDamaged) {
			isDamaged, err = err, nil // the transaction can do without it
		}
		return err
	})
	t.pending.Queue(`SELECT todo_mcp.seq($1)`, len(steps)).QueryRow(func(from pgx.Row) error { return from.Scan(&t.seq) })
	err := t.flush(ctx)
	for _, s := range found {
		if err == nil && slices.Contains(locked, s.List.ID) {
			t.lists[s.List.ID] = s
		}
	}
	return cmp.Or(err, isDamaged)
}

// newest returns the newest revision of a list, which is locked, or board.ErrNotFound.
func (t *tx) newest(ctx context.Context, list string) (todo.Snapshot, error) {
	if _, isLocked := t.lists[list]; !isLocked {
		if err := t.lock(ctx, `$1`, list); err != nil {
			return todo.Snapshot{}, err
		}
	}
	at := t.lists[list]
	if at.Revision == 0 {
		t.lists[list] = at // the transaction has read that there is none
		return at, board.ErrNotFound
	}
	return at, nil
}

// Load implements board.Tx.
func (t *tx) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	if revision != 0 && t.lists[list].Revision != revision {
		return t.Reader.Load(ctx, list, revision)
	}
	err = t.do(ctx, "read snapshot", func() error {
		at, err := t.newest(ctx, list)
		if err == nil {
			found = t.asRead(at)
		}
		return err
	})
	return found, err
}

// asRead returns a copy of a remembered snapshot with the parent that it has now.
func (t *tx) asRead(s todo.Snapshot) todo.Snapshot {
	if all, known := t.seen[board.Key{Principal: s.List.Principal, Chat: s.List.ParentConversation, Mirrors: s.List.Mirrored}]; known && s.List.ParentConversation != "" {
		s.List.Parent = board.Current(all)
	}
	return s
}

// Seen implements board.Tx.
func (t *tx) Seen(ctx context.Context, of board.Key) (found []board.Seen, err error) {
	err = t.do(ctx, "read what chats have seen", func() error {
		if _, known := t.seen[of]; !known {
			t.queueSeen(of)
			err = t.flush(ctx)
		}
		found = slices.Clone(t.seen[of])
		return err
	})
	return found, err
}

// SeenOn implements board.Tx. Until it ends the list becomes current for no other
// conversation.
func (t *tx) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	t.queueLock(list)
	return t.Reader.SeenOn(ctx, principal, list)
}

// queueLock locks a list that may not be locked yet.
func (t *tx) queueLock(list string) {
	if _, isLocked := t.lists[list]; list != "" && !isLocked {
		t.pending.Queue(`SELECT 1 FROM todo_mcp.lists WHERE id = $1 FOR UPDATE`, plain(list))
	}
}

// See implements board.Tx.
func (t *tx) See(ctx context.Context, s board.Seen) error {
	all, err := t.Seen(ctx, s.Key)
	if err != nil {
		return err
	}
	if s.Current && board.Current(all) != s.List {
		t.queueLock(s.List)
	}
	t.seen[s.Key], err = t.Saver.See(ctx, all, s, false)
	return err
}

// Named implements board.Tx. Until the transaction ends no other one reads or sets the name.
func (t *tx) Named(ctx context.Context, principal, name string) (string, error) {
	t.lockChat(principal + "\x00" + name)
	return t.Reader.Named(ctx, principal, name)
}

// Save implements board.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (saved todo.Snapshot, err error) {
	id := next.List.ID
	err = t.do(ctx, "save snapshot", func() error {
		_, isLocked := t.lists[id]
		before, err := t.newest(ctx, id)
		if err != nil && !errors.Is(err, board.ErrNotFound) && !errors.Is(err, board.ErrDamaged) {
			return err
		}
		if !isLocked && next.Revision > 1 && !next.Follows(before) {
			return errRaced // it was only found, so that another server may have changed it since
		}
		if saved, err = t.Saver.Save(ctx, next); err == nil && saved.Revision == 1 && saved.List.ParentConversation != "" {
			err = one(ctx, t, []any{&saved.List.Parent}, `SELECT todo_mcp.held($1, $2, $3)`, saved.List.Principal, saved.List.ParentConversation, saved.List.Mirrored)
			t.lists[id] = saved
		}
		return err
	})
	if err != nil {
		return todo.Snapshot{}, err
	}
	return t.asRead(saved), nil
}

// Purge implements board.Tx.
func (t *tx) Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error {
	clear(t.seen)
	clear(t.chats)
	clear(t.peeked)
	return t.Saver.Purge(ctx, list, by, now)
}

// Exec implements [tables.DB].
func (t *tx) Exec(query string, args ...any) error {
	t.pending.Queue(numbered(query), stored(args)...)
	t.writes = true
	return nil
}

// Remove implements [tables.DB].
func (t *tx) Remove(query string, args ...any) error { return t.Exec(query, args...) }

// Scan implements [tables.DB].
func (t *tx) Scan(ctx context.Context, query string, args []any, into ...any) error {
	return one(ctx, t, into, numbered(query), args...)
}

// Remember implements [tables.DB].
func (t *tx) Remember(newest todo.Snapshot, _ int) { t.lists[newest.List.ID] = newest }

// NextSeq implements [tables.DB].
func (t *tx) NextSeq() (int64, error) {
	t.saves++
	return t.seq + t.saves - 1, nil
}

// Size implements [tables.DB]: it is the size of all lists and chats, and of what is known of them. What was trimmed
// and purged does not count, although its space is free only when PostgreSQL has vacuumed
// it.
func (t *tx) Size(ctx context.Context) (int64, error) {
	if t.store.keep.Bytes <= 0 {
		return 0, nil // nobody asks
	}
	size, err := t.store.used.Read("", t.store.keep, func() (size int64, err error) {
		return size, one(ctx, t, []any{&size}, `SELECT coalesce(sum(bytes), 0)::bigint + ((SELECT count(*) FROM todo_mcp.seen) + (SELECT count(*) FROM todo_mcp.names)) * $1
			+ (SELECT coalesce(sum($1 + octet_length(body)), 0) FROM todo_mcp.chats)::bigint
			+ ((SELECT count(*) FROM todo_mcp.keys) + (SELECT count(*) FROM todo_mcp.notices)) * $1 FROM todo_mcp.lists`,
			tables.RowSize)
	})
	t.store.SetSize(size)
	return size, err
}
