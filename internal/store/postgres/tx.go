package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

// tx is the transaction of an update. It locks what it reads and may change: the rows
// of lists, and the cursors of a key. These it remembers; what is written waits for
// the next other read or the commit, to be sent with it.
type tx struct {
	tables.Reader
	saver   tables.Saver
	store   *Store
	conn    *pgxpool.Conn
	pending *pgx.Batch
	failed  error                    // the first error that nothing comes after
	seq     int64                    // of the first that it saves
	lists   map[string]todo.Snapshot // the newest revisions of those whose rows are locked; zero for none
	cursors map[board.Key][]board.Cursor
	chats   map[string]todo.Chat // the zero one where there is none
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
	t := &tx{store: s, conn: conn, pending: &pgx.Batch{}, lists: make(map[string]todo.Snapshot), cursors: make(map[board.Key][]board.Cursor),
		chats: make(map[string]todo.Chat)}
	t.Reader = newReader(t, &s.Health, t.do)
	t.saver = tables.Saver{Reader: t.Reader, SQL: queries(), DB: t, Keep: s.keep, Used: &s.used, Alive: s.Alive}
	return t, nil
}

// cursorsOf returns what selects the cursors of a conversation or a name.
var cursorsOf = sync.OnceValue(func() string { return numbered(queries().CursorsOf) })

// queueChat locks a chat, and then reads it.
func (t *tx) queueChat(id string) {
	t.pending.Queue(`SELECT pg_advisory_xact_lock($1)`, lockOf(board.Key{Conversation: "chat " + id}))
	t.pending.Queue(chatOf(), plain(id)).Query(func(found pgx.Rows) error {
		all, err := tables.Collect(rows{found}, scanChat)
		if errors.Is(err, board.ErrDamaged) {
			all, err = nil, nil // it counts as none
		}
		t.chats[id] = append(all, todo.Chat{})[0]
		return err
	})
}

// chatOf returns what selects a chat.
var chatOf = sync.OnceValue(func() string { return numbered(queries().ChatOf) })

// Chat implements board.Tx.
func (t *tx) Chat(ctx context.Context, id string) (todo.Chat, error) {
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
	was, err := t.Chat(ctx, c.ID)
	if err == nil {
		err = t.do(ctx, "save chat", func() (err error) {
			c, err = t.saver.SaveChat(ctx, was, c)
			return err
		})
	}
	if err == nil {
		t.chats[c.ID] = c
	}
	return c, err
}

// SetKey implements board.Tx.
func (t *tx) SetKey(ctx context.Context, k board.ChatKey, chat string, until time.Time) error {
	return t.do(ctx, "save key", func() error { return t.saver.SetKey(ctx, k, chat, until) })
}

// Claim implements board.Tx.
func (t *tx) Claim(ctx context.Context, n board.Notice, at time.Time, within time.Duration) (earlier time.Time, err error) {
	err = t.do(ctx, "save notice", func() error {
		earlier, err = t.saver.Claim(ctx, n, at, within)
		return err
	})
	return earlier, err
}

// queueCursors locks the cursors of a key, and then reads them.
func (t *tx) queueCursors(of board.Key) {
	t.pending.Queue(`SELECT pg_advisory_xact_lock($1)`, lockOf(of))
	t.pending.Queue(cursorsOf(), plain(of.Principal), plain(of.Conversation)).Query(func(found pgx.Rows) (err error) {
		t.cursors[of], err = tables.Collect(rows{found}, scanCursor)
		return err
	})
}

// lockOf returns the key of the advisory lock of a key's cursors.
func lockOf(of board.Key) int64 {
	sum := sha256.Sum256([]byte(of.Principal + "\x00" + of.Conversation))
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
	t.pending.Queue(`SELECT todo_mcp.seq($1)`, version).QueryRow(func(from pgx.Row) error { return from.Scan(&t.seq) })
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
	s = s.Clone()
	if all, known := t.cursors[board.Key{Principal: s.List.Principal, Conversation: s.List.ParentConversation}]; known && s.List.ParentConversation != "" {
		s.List.Parent = board.Current(all)
	}
	return s
}

// Cursors implements board.Tx.
func (t *tx) Cursors(ctx context.Context, of board.Key) (found []board.Cursor, err error) {
	err = t.do(ctx, "read cursors", func() error {
		if _, known := t.cursors[of]; !known {
			t.queueCursors(of)
			err = t.flush(ctx)
		}
		found = slices.Clone(t.cursors[of])
		return err
	})
	return found, err
}

// CursorsOn implements board.Tx. Until it ends the list becomes current for no other
// conversation.
func (t *tx) CursorsOn(ctx context.Context, principal, list string) ([]board.Cursor, error) {
	t.queueLock(list)
	return t.Reader.CursorsOn(ctx, principal, list)
}

// queueLock locks a list that may not be locked yet.
func (t *tx) queueLock(list string) {
	if _, isLocked := t.lists[list]; list != "" && !isLocked {
		t.pending.Queue(`SELECT 1 FROM todo_mcp.lists WHERE id = $1 FOR UPDATE`, plain(list))
	}
}

// SetCursor implements board.Tx.
func (t *tx) SetCursor(ctx context.Context, c board.Cursor) error {
	all, err := t.Cursors(ctx, c.Key)
	if err != nil {
		return err
	}
	if c.Current && board.Current(all) != c.List {
		t.queueLock(c.List)
	}
	t.cursors[c.Key], err = t.saver.SetCursor(ctx, all, c, false)
	return err
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
		if saved, err = t.saver.Save(ctx, next); err == nil && saved.Revision == 1 && saved.List.ParentConversation != "" {
			err = one(ctx, t, []any{&saved.List.Parent}, `SELECT todo_mcp.held($1, $2)`, saved.List.Principal, saved.List.ParentConversation)
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
	return t.do(ctx, "purge list", func() error {
		clear(t.cursors)
		clear(t.chats)
		return t.saver.Purge(ctx, list, by, now)
	})
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

// Size implements [tables.DB]: it is the size of all lists, cursors, chats, keys and notices. What was trimmed
// and purged does not count, although its space is free only when PostgreSQL has vacuumed
// it.
func (t *tx) Size(ctx context.Context) (int64, error) {
	if t.store.keep.Bytes <= 0 {
		return 0, nil // nobody asks
	}
	size, err := t.store.used.Read("", t.store.keep, func() (size int64, err error) {
		return size, one(ctx, t, []any{&size}, `SELECT coalesce(sum(bytes), 0)::bigint + (SELECT count(*) FROM todo_mcp.cursors) * $1
			+ (SELECT coalesce(sum($1 + octet_length(body)), 0) FROM todo_mcp.chats)::bigint
			+ ((SELECT count(*) FROM todo_mcp.keys) + (SELECT count(*) FROM todo_mcp.notices)) * $1 FROM todo_mcp.lists`,
			tables.CursorSize)
	})
	t.store.SetSize(size)
	return size, err
}
