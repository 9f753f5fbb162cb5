package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

// tx is the transaction of an update. It locks what it reads and may change: the rows
// of lists, and the cursors of a key. These it remembers; what is written waits for
// the next other read or the commit, to be sent with it.
type tx struct {
	tables.Reader
	store   *Store
	conn    *pgxpool.Conn
	pending *pgx.Batch
	failed  error                    // the first error that nothing comes after
	seq     int64                    // of the first that it saves
	lists   map[string]todo.Snapshot // the newest revisions of those whose rows are locked; zero for none
	cursors map[todo.Key][]todo.Cursor
	writes  bool
	saves   int64
	moves   bool // the current list of a conversation is another one
}

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
	t := &tx{store: s, conn: conn, pending: &pgx.Batch{}, lists: make(map[string]todo.Snapshot), cursors: make(map[todo.Key][]todo.Cursor)}
	t.Reader = newReader(t, t.do)
	return t, nil
}

// write writes with the next read or the commit.
func (t *tx) write(sql string, args ...any) {
	t.pending.Queue(sql, stored(args)...)
	t.writes = true
}

// cursorsOf selects the cursors of a conversation or a name.
var cursorsOf = numbered(queries.CursorsOf)

// queueCursors locks the cursors of a key, and then reads them.
func (t *tx) queueCursors(of todo.Key) {
	t.pending.Queue(`SELECT pg_advisory_xact_lock($1)`, lockOf(of))
	t.pending.Queue(cursorsOf, plain(of.Principal), plain(of.Conversation)).Query(func(found pgx.Rows) (err error) {
		t.cursors[of], err = tables.Collect(rows{found}, scanCursor)
		return err
	})
}

// lockOf returns the key of the advisory lock of a key's cursors.
func lockOf(of todo.Key) int64 {
	sum := sha256.Sum256([]byte(of.Principal + "\x00" + of.Conversation))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any number does
}

// lock locks the list whose id an expression has, and then reads it: its newest
// revision may be another one than before it was locked.
func (t *tx) lock(ctx context.Context, id string, args ...any) error {
	var locked []string
	var found []todo.Snapshot
	args = stored(args)
	t.pending.Queue(`SELECT id FROM todo_mcp.lists WHERE id = `+id+` FOR UPDATE`, args...).Query(func(all pgx.Rows) (err error) {
		locked, err = tables.Collect(rows{all}, func(from tables.Rows) (id string, err error) { return id, from.Scan(&id) })
		return err
	})
	t.pending.Queue(queries.Newest+` WHERE l.id = `+id, args...).Query(func(all pgx.Rows) (err error) {
		found, err = tables.Collect(rows{all}, scanSnapshot)
		return err
	})
	t.pending.Queue(`SELECT todo_mcp.seq()`).QueryRow(func(from pgx.Row) error { return from.Scan(&t.seq) })
	err := t.flush(ctx)
	for _, s := range found {
		if err == nil && slices.Contains(locked, s.List.ID) {
			t.lists[s.List.ID] = s
		}
	}
	return err
}

// newest returns the newest revision of a list, which is locked, or todo.ErrNotFound.
func (t *tx) newest(ctx context.Context, list string) (todo.Snapshot, error) {
	if _, isLocked := t.lists[list]; !isLocked {
		if err := t.lock(ctx, `$1`, list); err != nil {
			return todo.Snapshot{}, err
		}
	}
	at := t.lists[list]
	if at.Revision == 0 {
		t.lists[list] = at // the transaction has read that there is none
		return at, todo.ErrNotFound
	}
	return at, nil
}

// Load implements todo.Tx.
func (t *tx) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	if revision != 0 && t.lists[list].Revision != revision {
		return t.Reader.Load(ctx, list, revision)
	}
	err = t.do(ctx, "read snapshot", func() error {
		at, err := t.newest(ctx, list)
		found = t.asRead(at)
		return err
	})
	return found, err
}

// asRead returns a copy of a remembered snapshot with the parent that it has now.
func (t *tx) asRead(s todo.Snapshot) todo.Snapshot {
	s = s.Clone()
	if all, known := t.cursors[todo.Key{Principal: s.List.Principal, Conversation: s.List.ParentConversation}]; known && s.List.ParentConversation != "" {
		s.List.Parent = todo.Current(all)
	}
	return s
}

// Cursors implements todo.Tx.
func (t *tx) Cursors(ctx context.Context, of todo.Key) (found []todo.Cursor, err error) {
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

// CursorsOn implements todo.Tx. Until it ends the list becomes current for no other
// conversation.
func (t *tx) CursorsOn(ctx context.Context, principal, list string) ([]todo.Cursor, error) {
	t.queueLock(list)
	return t.Reader.CursorsOn(ctx, principal, list)
}

// queueLock locks a list that may not be locked yet.
func (t *tx) queueLock(list string) {
	if _, isLocked := t.lists[list]; list != "" && !isLocked {
		t.pending.Queue(`SELECT 1 FROM todo_mcp.lists WHERE id = $1 FOR UPDATE`, plain(list))
	}
}

// SetCursor implements todo.Tx.
func (t *tx) SetCursor(ctx context.Context, c todo.Cursor) error {
	all, err := t.Cursors(ctx, c.Key)
	if err != nil {
		return err
	}
	after, set := todo.SetCursor(all, c, time.Now())
	if c.Current && todo.Current(all) != c.List {
		t.queueLock(c.List)
		t.write(`UPDATE todo_mcp.cursors SET current = false WHERE principal = $1 AND conversation = $2 AND current`, c.Principal, c.Conversation)
		t.moves = true
	}
	t.cursors[c.Key] = after
	t.write(`INSERT INTO todo_mcp.cursors (principal, conversation, list, seen, process, until, moved, current, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (principal, conversation, list) DO UPDATE SET seen = excluded.seen,
		process = excluded.process, until = excluded.until, moved = excluded.moved, current = excluded.current, at = excluded.at`,
		tables.CursorValues(set)...)
	return nil
}

// Save implements todo.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	next = next.Clone()
	err := t.do(ctx, "save snapshot", func() error {
		id := next.List.ID
		before, isLocked := t.lists[id]
		if !isLocked && next.Revision > 1 {
			// It was only found, so that another server may have changed it since.
			if err := t.lock(ctx, `$1`, id); err != nil {
				return err
			}
			if before = t.lists[id]; before.Revision != next.Revision-1 {
				return errRaced
			}
		}
		if before.Revision > 0 {
			return t.saveNext(ctx, before, &next)
		}
		return t.saveFirst(ctx, &next)
	})
	if err != nil {
		return todo.Snapshot{}, err
	}
	return t.asRead(next), nil
}

// saveFirst begins a list.
func (t *tx) saveFirst(ctx context.Context, next *todo.Snapshot) error {
	if next.Revision < 1 {
		return fmt.Errorf("revision %d of list %s: %w", next.Revision, next.List.ID, todo.ErrNotFound)
	}
	now := time.Now()
	values, err := tables.ListValues(*next, now)
	if err != nil {
		return err
	}
	parent, err := t.makeRoom(ctx, next.List, now)
	if err != nil {
		return err
	}
	body, err := t.encode(next)
	if err != nil {
		return err
	}
	t.write(`INSERT INTO todo_mcp.lists VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		append(values, next.Revision, next.Seq, record.UnixNano(next.Updated), next.Deleted, len(body))...)
	if next.List.ParentConversation != "" {
		next.List.Parent = parent
	}
	t.add(*next, body)
	t.write(`SELECT todo_mcp.tidy($1, $2)`, record.UnixNano(now.Add(-todo.TrashAge)), record.UnixNano(now.Add(-todo.CursorAge)))
	return nil
}

// saveNext saves the next revision of a list.
func (t *tx) saveNext(ctx context.Context, before todo.Snapshot, next *todo.Snapshot) error {
	id := next.List.ID
	if before.Revision != next.Revision-1 {
		return fmt.Errorf("revision %d of list %s, which is at %d: %w", next.Revision, id, before.Revision, todo.ErrNotFound)
	}
	if !next.Deleted {
		size, err := t.size(ctx, false)
		if err == nil {
			err = t.store.keep.CheckBytes(size, false)
		}
		if err != nil {
			return err
		}
	}
	next.List = before.List
	body, err := t.encode(next)
	if err != nil {
		return err
	}
	t.write(`UPDATE todo_mcp.lists SET revision = $2, seq = $3, updated = $4, deleted = $5, bytes = bytes + $6 WHERE id = $1`,
		id, next.Revision, next.Seq, record.UnixNano(next.Updated), next.Deleted, len(body))
	t.add(*next, body)
	return nil
}

// encode gives a revision its seq and returns its body.
func (t *tx) encode(next *todo.Snapshot) ([]byte, error) {
	next.Seq = t.seq + t.saves
	t.saves++
	return record.Body(*next)
}

// add adds a revision to the history of its list, and deletes what is not kept.
func (t *tx) add(next todo.Snapshot, body []byte) {
	id := next.List.ID
	t.write(`INSERT INTO todo_mcp.history VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, next.Revision, next.Seq, record.UnixNano(next.Updated), next.Operation.ID, next.Writer.Person, string(body))
	if first := t.store.keep.First(next.Revision); first > 1 {
		t.write(`SELECT todo_mcp.trim($1, $2)`, id, first-1)
	}
	t.store.size.bytes.Add(int64(len(body)))
	t.lists[id] = next
}
