package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var (
	_ board.Tx  = (*writer)(nil)
	_ tables.DB = (*writer)(nil)
)

// read is the [tables.Query] of the transaction. It does not end with a context: the
// transaction of others would end with it.
func (w *writer) read(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
	if err := w.query(context.Background(), query, args, read); err != nil {
		return w.fail(what, err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// fail notes a failure of the store, and returns it with what was being done. A row that is damaged
// is none: the request may do without it.
func (w *writer) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	if !board.IsRefusal(err) && !errors.Is(err, errRecord) && w.failed == nil {
		w.failed = err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Seen implements board.Tx.
func (w *writer) Seen(_ context.Context, of board.Key) ([]board.Seen, error) {
	all, _, err := w.seenBy(of)
	return slices.Clone(all), err
}

// Load implements board.Tx. It keeps the newest revisions that it reads.
func (w *writer) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	if revision != 0 && w.memory.lists[list].Revision != revision {
		return w.Reader.Load(ctx, list, revision)
	}
	found, ok := w.memory.lists[list]
	if !ok {
		if found, err = w.Reader.Load(ctx, list, 0); err != nil {
			return found, err
		}
		w.Remember(found, todo.Size(found.Items)+todo.Size(found.Report.Dropped))
	}
	if l := &found.List; l.ParentConversation != "" {
		all, _, err := w.seenBy(board.Key{Principal: l.Principal, Chat: l.ParentConversation, Mirrors: l.Mirrored})
		l.Parent = board.Current(all)
		return found, err
	}
	return found, nil
}

// Save implements board.Tx.
func (w *writer) Save(ctx context.Context, next todo.Snapshot) (saved todo.Snapshot, err error) {
	if saved, err = w.Saver.Save(ctx, next); err == nil {
		saved, err = w.Load(ctx, saved.List.ID, 0)
	}
	if err != nil {
		return todo.Snapshot{}, w.fail("save snapshot", err)
	}
	return saved, nil
}

// Chat implements board.Tx. It keeps what it reads, also that there is no such chat.
func (w *writer) Chat(ctx context.Context, id string) (c todo.Chat, err error) {
	c, isKnown := w.memory.chats[id]
	if !isKnown {
		if c, err = w.Reader.Chat(ctx, id); err == nil {
			w.memory.put += rowOverhead + len(id)
			w.memory.chats[id] = c
		}
	}
	return c, err
}

// SaveChat implements board.Tx.
func (w *writer) SaveChat(ctx context.Context, c todo.Chat) (todo.Chat, error) {
	was, err := w.Chat(ctx, c.ID)
	if err == nil {
		c, err = w.Saver.SaveChat(ctx, was, c)
	}
	if err != nil {
		return c, w.fail("save chat", err)
	}
	w.memory.chats[c.ID] = c
	return c, nil
}

// seenBy is [tables.Reader.SeenBy]. It keeps what is whole.
func (w *writer) seenBy(of board.Key) (found []board.Seen, damaged int, err error) {
	if known, ok := w.memory.seen[of]; ok {
		return known, 0, nil
	}
	if found, damaged, err = w.SeenBy(context.Background(), of); err == nil && damaged == 0 {
		w.memory.put += (len(found) + 1) * (rowOverhead + len(of.Principal) + len(of.Chat))
		w.memory.seen[of] = found
	}
	return found, damaged, err
}

// See implements board.Tx. It removes damaged rows of the chat, which would come back.
func (w *writer) See(ctx context.Context, s board.Seen) error {
	known, damaged, err := w.seenBy(s.Key)
	if err == nil && damaged > 0 {
		err = w.Exec(`DELETE FROM seen WHERE principal = ? AND chat = ? AND mirrors = ?`, s.Principal, s.Chat, s.Mirrors)
	}
	if err == nil {
		known, err = w.Saver.See(ctx, known, s, damaged > 0)
	}
	if err != nil {
		return w.fail("save what a chat has seen", err)
	}
	w.memory.put += (len(known) + 1) * (rowOverhead + len(s.Principal) + len(s.Chat))
	w.memory.seen[s.Key] = known
	return nil
}

// Remove implements [tables.DB].
func (w *writer) Remove(query string, args ...any) error {
	err := w.Exec(query, args...)
	if err == nil && w.changed > 0 {
		w.forget()
	}
	return err
}

// Scan implements [tables.DB].
func (w *writer) Scan(_ context.Context, query string, args []any, into ...any) error {
	return w.scan(query, args, into...)
}

// Remember implements [tables.DB].
func (w *writer) Remember(newest todo.Snapshot, bytes int) {
	w.memory.put += rowOverhead + bytes
	w.memory.lists[newest.List.ID] = newest
}

// NextSeq implements [tables.DB]. A seq is not given again, also after its revision was
// removed.
func (w *writer) NextSeq() (seq int64, err error) {
	if seq = w.memory.seq; seq == 0 {
		err = w.scan(lastSeq, nil, &seq)
	}
	w.memory.seq = seq + 1
	return seq + 1, err
}

// lastSeq selects the Seq of what was stored last, which may be gone.
const lastSeq = `SELECT max((SELECT coalesce(max(seq), 0) FROM history), (SELECT coalesce(max(seq), 0) FROM chats),
	(SELECT coalesce(max(seq), 0) FROM removed))`

// Size implements [tables.DB]: it is the size of the file in the open transaction. As
// long as there is room for everybody, that is looked at again after sizeEvery calls only,
// or when it might not be so any more.
func (w *writer) Size(context.Context) (bytes int64, err error) {
	if w.store.keep.Bytes <= 0 {
		return 0, nil
	}
	m := w.memory
	if m.sized > 0 {
		m.sized--
		if most := m.size + 4*int64(m.put); !w.store.keep.IsTight(most) { // a body has an excerpt, and rows an index
			return most, nil
		}
	}
	err = w.scan(`SELECT ((SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)) *
		(SELECT page_size FROM pragma_page_size)`, nil, &bytes)
	m.size, m.sized = bytes-4*int64(m.put), sizeEvery
	w.store.SetSize(bytes)
	return bytes, err
}

const sizeEvery = 64
