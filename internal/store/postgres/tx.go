package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// tx is the transaction of an update. It locks what it reads and may change: the rows
// of lists, and the cursors of a key. These it remembers; what is written waits for
// the next other read or the commit, to be sent with it.
type tx struct {
	reader
	store   *Store
	conn    *pgxpool.Conn
	pending *pgx.Batch
	failed  error // the first error that nothing comes after
	seq     int64 // of the first that it saves
	lists   map[string]*locked
	found   map[string]int64 // revisions of lists that were read without a lock
	cursors map[todo.Key][]todo.Cursor
	writes  bool
	saves   int64
	moves   bool // a conversation came to hold another list
}

// locked is the newest revision of a list whose row is locked.
type locked struct {
	todo.Snapshot
	base, drift int64
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
	t := &tx{store: s, conn: conn, pending: &pgx.Batch{}, lists: make(map[string]*locked), found: make(map[string]int64), cursors: make(map[todo.Key][]todo.Cursor)}
	t.reader = reader{q: t, bases: &s.bases, call: t.do}
	return t, nil
}

// write writes with the next read or the commit.
func (t *tx) write(sql string, args ...any) {
	t.pending.Queue(sql, args...)
	t.writes = true
}

// queueCursors locks the cursors of a key, and then reads them.
func (t *tx) queueCursors(of todo.Key) {
	t.pending.Queue(`SELECT pg_advisory_xact_lock($1)`, lockOf(of))
	sql, args := cursorsOf(of)
	t.pending.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		t.cursors[of], err = pgx.CollectRows(rows, scanCursor)
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
	var found []row
	var at locked
	var which string
	t.pending.Queue(`SELECT id, base, drift FROM todo_mcp.lists WHERE id = `+id+` FOR UPDATE`, args...).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&which, &at.base, &at.drift}, func() error { return nil })
		return err
	})
	t.pending.Queue(selectNewest+` WHERE l.id = `+id, args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scanRow)
		return err
	})
	t.pending.Queue(`SELECT todo_mcp.seq()`).QueryRow(func(from pgx.Row) error { return from.Scan(&t.seq) })
	if err := t.flush(ctx); err != nil {
		return err
	}
	lists, err := t.decodeAll(ctx, found)
	if err == nil && len(lists) > 0 && lists[0].List.ID == original(which) {
		at.Snapshot = lists[0]
		t.lists[at.List.ID] = &at
	}
	return err
}

// newest returns the newest revision of a list, which is locked; nil for none.
func (t *tx) newest(ctx context.Context, list string) (*locked, error) {
	if t.lists[list] == nil {
		if err := t.lock(ctx, `$1`, plain(list)); err != nil {
			return nil, err
		}
	}
	return t.lists[list], nil
}

// Load implements todo.Tx.
func (t *tx) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	if at := t.lists[list]; revision != 0 && (at == nil || at.Revision != revision) {
		return t.reader.Load(ctx, list, revision)
	}
	err = t.call(ctx, "read snapshot", func() error {
		at, err := t.newest(ctx, list)
		if err == nil && at == nil {
			err = todo.ErrNotFound
		}
		if err == nil {
			found = t.asRead(at.Snapshot)
		}
		return err
	})
	return found, err
}

// asRead returns a copy of a remembered snapshot with the parent that it has now.
func (t *tx) asRead(s todo.Snapshot) todo.Snapshot {
	s = s.Clone()
	if all, known := t.cursors[todo.Key{Principal: s.List.Principal, Conversation: s.List.ParentConversation}]; known && s.List.ParentConversation != "" {
		s.List.Parent = ""
		if len(all) > 0 && all[0].Current {
			s.List.Parent = all[0].List
		}
	}
	return s
}

// Find implements todo.Tx. It locks nothing: Save finds out whether a list has changed
// since.
func (t *tx) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	found, err := t.reader.Find(ctx, q)
	if q.Operation == "" {
		for _, s := range found {
			t.found[s.List.ID] = s.Revision
		}
	}
	return found, err
}

// Cursors implements todo.Tx.
func (t *tx) Cursors(ctx context.Context, of todo.Key) (found []todo.Cursor, err error) {
	err = t.call(ctx, "read cursors", func() error {
		if _, known := t.cursors[of]; !known {
			t.queueCursors(of)
			err = t.flush(ctx)
		}
		found = slices.Clone(t.cursors[of])
		return err
	})
	return found, err
}

// CursorsOn implements todo.Tx. Until it ends no other conversation comes to hold the
// list.
func (t *tx) CursorsOn(ctx context.Context, principal, list string) ([]todo.Cursor, error) {
	t.queueLock(list)
	return t.reader.CursorsOn(ctx, principal, list)
}

// queueLock locks a list that may not be locked yet.
func (t *tx) queueLock(list string) {
	if list != "" && t.lists[list] == nil {
		t.pending.Queue(`SELECT 1 FROM todo_mcp.lists WHERE id = $1 FOR UPDATE`, plain(list))
	}
}

// SetCursor implements todo.Tx.
func (t *tx) SetCursor(ctx context.Context, c todo.Cursor) error {
	all, err := t.Cursors(ctx, c.Key)
	if err != nil {
		return err
	}
	after, stored := todo.SetCursor(all, c, time.Now())
	if c.Current && !(len(all) > 0 && all[0].Current && all[0].List == c.List) {
		t.queueLock(c.List)
		t.write(letGo, plain(c.Principal), plain(c.Conversation))
		t.moves = true
	}
	t.cursors[c.Key] = after
	t.write(storeCursor, cursorValues(stored)...)
	return nil
}

// Save implements todo.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (after todo.Snapshot, err error) {
	next = next.Clone()
	next.Items = append([]todo.Item{}, next.Items...)
	err = t.call(ctx, "save snapshot", func() error {
		if next.Revision == 1 && t.lists[next.List.ID] == nil {
			err = t.saveFirst(ctx, &next)
		} else {
			err = t.saveNext(ctx, &next)
		}
		return err
	})
	if err != nil {
		return todo.Snapshot{}, err
	}
	return t.asRead(next), nil
}

// saveFirst begins a list.
func (t *tx) saveFirst(ctx context.Context, next *todo.Snapshot) error {
	l := &next.List
	if l.ParentConversation != "" {
		l.Parent = "" // it is looked up
	}
	meta, err := record.List(*l)
	if err != nil {
		return err
	}
	parent, err := t.makeRoom(ctx, *l)
	if err != nil {
		return err
	}
	stored, err := t.encode(ctx, next, 0, 0)
	if err != nil {
		return err
	}
	now := time.Now()
	t.write(`INSERT INTO todo_mcp.lists VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		plain(l.ID), plain(l.Principal), plain(l.Client), plain(l.Workspace), plain(l.Parent), plain(l.ParentConversation), plain(l.Conversation), record.UnixNano(now), string(meta),
		next.Revision, next.Seq, record.UnixNano(next.Updated), stored.Base, stored.Drift, next.Deleted, len(stored.Body)+len(stored.NewBase))
	if l.ParentConversation != "" {
		l.Parent = original(parent)
	}
	t.add(*next, stored)
	t.write(`SELECT todo_mcp.tidy($1, $2)`, record.UnixNano(now.Add(-todo.TrashAge)), record.UnixNano(now.Add(-todo.CursorAge)))
	return nil
}

// saveNext saves the next revision of a list.
func (t *tx) saveNext(ctx context.Context, next *todo.Snapshot) error {
	id := next.List.ID
	at, err := t.newest(ctx, id)
	switch {
	case err != nil:
		return err
	case at == nil:
		return fmt.Errorf("revision %d of list %s: %w", next.Revision, id, todo.ErrNotFound)
	case at.Revision != next.Revision-1 && t.found[id] == next.Revision-1 && t.found[id] > 0:
		return errRaced
	case at.Revision != next.Revision-1:
		return fmt.Errorf("revision %d of list %s, which is at %d: %w", next.Revision, id, at.Revision, todo.ErrNotFound)
	}
	if err := t.checkSize(ctx, false); err != nil && (!next.Deleted || !errors.Is(err, todo.ErrStoreFull)) {
		return err
	}
	next.List = at.List
	stored, err := t.encode(ctx, next, at.base, at.drift)
	if err != nil {
		return err
	}
	t.write(`UPDATE todo_mcp.lists SET revision = $2, seq = $3, updated = $4, base = $5, drift = $6, deleted = $7, bytes = bytes + $8 WHERE id = $1`,
		plain(id), next.Revision, next.Seq, record.UnixNano(next.Updated), stored.Base, stored.Drift, next.Deleted, len(stored.Body)+len(stored.NewBase))
	t.add(*next, stored)
	return nil
}

// encode returns a revision as it is to be stored, after one with this base and drift,
// and gives it its seq.
func (t *tx) encode(ctx context.Context, next *todo.Snapshot, base, drift int64) (record.Stored, error) {
	next.Seq = t.seq + t.saves
	t.saves++
	stored, err := record.Next(*next, base, drift, func(id int64) (record.Base, error) { return t.base(ctx, id) })
	if stored.NewBase != "" {
		stored.Base = next.Seq
	}
	return stored, err
}

// add adds a revision to the history of its list, and deletes what is not kept.
func (t *tx) add(next todo.Snapshot, stored record.Stored) {
	id, keep, updated := plain(next.List.ID), t.store.keep, record.UnixNano(next.Updated)
	if stored.NewBase != "" {
		t.write(`INSERT INTO todo_mcp.bases VALUES ($1, $2, $3)`, stored.Base, id, stored.NewBase)
	}
	t.write(`INSERT INTO todo_mcp.history VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, next.Revision, next.Seq, updated, plain(next.Operation.ID), next.Writer.Person, stored.Base, stored.Body)
	if first := keep.First(next.Revision); first > 1 {
		t.write(`SELECT todo_mcp.trim($1, $2)`, id, first-1)
	}
	if witness := keep.Witness(next.Revision); keep.Age > 0 && witness > 0 {
		t.write(`SELECT todo_mcp.expire($1, $2, $3, $4, $5)`, id, next.Revision, updated, witness, int64(keep.Age))
	}
	t.store.size.bytes.Add(int64(len(stored.Body) + len(stored.NewBase)))
	t.lists[next.List.ID] = &locked{next, stored.Base, stored.Drift}
}
