package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var _ board.Tx = (*writer)(nil)

// read is the [tables.Query] of the transaction. No statement ends with ctx: other requests share the transaction.
func (w *writer) read(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
	err := w.do(ctx, what, func() error { return w.query(context.Background(), query, args, read) })
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", what, ctx.Err())
	}
	return err
}

// do calls run. Before an error it puts what, which says what run does. It notes a failure of the store, not of a row.
func (w *writer) do(_ context.Context, what string, run func() error) error {
	err := run()
	if err == nil {
		return nil
	}
	if !board.IsRefusal(err) && !errors.Is(err, board.ErrDamaged) && w.failed == nil {
		w.failed = err
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (w *writer) Seen(ctx context.Context, of board.Key) ([]board.Seen, error) {
	all, _, err := w.LockSeen(ctx, board.Seen{Key: of})
	return slices.Clone(all), err
}

// Load implements board.Tx. It remembers the newest revisions that it reads.
func (w *writer) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	found, isKnown := w.Memory.Lists[list]
	if revision != 0 && found.Revision != revision {
		return w.Reader.Load(ctx, list, revision)
	}
	if !isKnown {
		if found, err = w.Reader.Load(ctx, list, 0); err != nil {
			return found, err
		}
		w.Memory.SetList(found, todo.Size(found.Items)+todo.Size(found.Report.Dropped))
	}
	if l := &found.List; l.ParentConversation != "" {
		all, _, err := w.LockSeen(ctx, board.Seen{Key: board.Key{Principal: l.Principal, Chat: l.ParentConversation, Mirrors: l.Mirrored}})
		l.Parent = board.Current(all)
		return found, err
	}
	return found, nil
}

func (w *writer) Save(ctx context.Context, next todo.Snapshot) (saved todo.Snapshot, err error) {
	err = w.do(ctx, "save snapshot", func() error {
		if saved, err = w.Saver.Save(ctx, next); err == nil {
			saved, err = w.Load(ctx, saved.List.ID, 0)
		}
		return err
	})
	return saved, err
}

// Chat implements board.Tx. It remembers what it reads, also that there is no such chat.
func (w *writer) Chat(ctx context.Context, id string) (c todo.Chat, err error) {
	c, isKnown := w.Memory.Chats[id]
	if !isKnown {
		if c, err = w.Reader.Chat(ctx, id); err == nil {
			w.Memory.Put += tables.RowSize + len(id)
			w.Memory.Chats[id] = c
		}
	}
	return c, err
}

func (w *writer) LockChat(ctx context.Context, id string) (todo.Chat, error) { return w.Chat(ctx, id) }

// LockSeen implements [tables.DB]. It remembers what it reads, unless a row is damaged.
func (w *writer) LockSeen(_ context.Context, c board.Seen) (found []board.Seen, damaged int, err error) {
	if known, ok := w.Memory.Seen[c.Key]; ok {
		return known, 0, nil
	}
	if found, damaged, err = w.SeenBy(context.Background(), c.Key); err == nil && damaged == 0 {
		w.Memory.SetSeen(c.Key, found)
	}
	return found, damaged, err
}

func (w *writer) Remove(query string, args ...any) error {
	err := w.Exec(query, args...)
	if err == nil && w.changed > 0 {
		w.forget()
	}
	return err
}

func (w *writer) Scan(_ context.Context, query string, args []any, into ...any) error {
	return w.scan(query, args, into...)
}

// NextSeq implements [tables.DB]. No Seq is given twice, also if its row was removed.
func (w *writer) NextSeq() (seq int64, err error) {
	if seq = w.seq; seq == 0 {
		err = w.scan(lastSeq, nil, &seq)
	}
	w.seq = seq + 1
	return seq + 1, err
}

// lastSeq selects the Seq that was given last, also if its row was removed.
const lastSeq = `SELECT max((SELECT coalesce(max(seq), 0) FROM history), (SELECT coalesce(max(seq), 0) FROM chats),
	(SELECT coalesce(max(seq), 0) FROM removed))`

// Size implements [tables.DB]: the size of the file in the transaction. It is measured once in sizeEvery calls, or in
// each if the store is nearly full. Between them Size is an upper bound.
func (w *writer) Size(context.Context) (bytes int64, err error) {
	if w.store.keep.Bytes <= 0 {
		return 0, nil
	}
	put := 4 * int64(w.Memory.Put) // an upper bound: excerpts of bodies, and indexes, take space, too
	if w.sized > 0 {
		w.sized--
		if !w.store.keep.IsTight(w.size + put) {
			return w.size + put, nil
		}
	}
	err = w.scan(`SELECT ((SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)) *
		(SELECT page_size FROM pragma_page_size)`, nil, &bytes)
	w.size, w.sized = bytes-put, sizeEvery
	w.store.SetSize(bytes)
	return bytes, err
}

// statements are the prepared statements of a database or connection. Each is prepared at its first use.
type statements struct {
	db interface {
		PrepareContext(context.Context, string) (*sql.Stmt, error)
	}
	of      sync.Map // *sql.Stmt by SQL text
	ran     int      // how many times Exec was called
	changed int64    // how many rows the last Exec changed
}

func (s *statements) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if known, ok := s.of.Load(query); ok {
		return known.(*sql.Stmt), nil
	}
	stmt, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if known, ok := s.of.LoadOrStore(query, stmt); ok { // another goroutine was first
		return known.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}

func (s *statements) query(ctx context.Context, query string, args []any, read func(tables.Rows) error) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return read(rows)
}

// Exec implements [tables.DB]. One goroutine at a time may call it.
func (s *statements) Exec(query string, args ...any) error {
	s.ran++
	stmt, err := s.prepared(context.Background(), query)
	if err != nil {
		return err
	}
	done, err := stmt.Exec(args...)
	if err == nil {
		s.changed, err = done.RowsAffected()
	}
	return err
}

// scan reads the only row of a query, or returns [sql.ErrNoRows].
func (s *statements) scan(query string, args []any, into ...any) error {
	return s.query(context.Background(), query, args, func(rows tables.Rows) error {
		if !rows.Next() {
			return cmp.Or(rows.Err(), sql.ErrNoRows)
		}
		return rows.Scan(into...)
	})
}
