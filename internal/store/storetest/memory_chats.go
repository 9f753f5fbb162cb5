package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type keyed struct {
	chat  string
	until time.Time
}

// Chat implements board.Reader.
func (r reader) Chat(ctx context.Context, id string) (todo.Chat, error) {
	return look(ctx, r, "read chat", func(now *state) (todo.Chat, error) { return now.chats[id], nil })
}

// Chats implements board.Reader.
func (r reader) Chats(ctx context.Context, q board.ChatQuery) ([]todo.Chat, error) {
	return look(ctx, r, "read chats", func(now *state) (found []todo.Chat, err error) {
		for _, c := range now.chats {
			if (q.Principal == nil || *q.Principal == c.Principal) && (q.User == nil || *q.User == c.User) &&
				!c.Used.Before(q.UsedSince) && c.Seq > q.AfterSeq {
				found = append(found, c)
			}
		}
		slices.SortFunc(found, func(a, b todo.Chat) int { return cmp.Compare(a.Seq, b.Seq) })
		return found, nil
	})
}

// Named implements board.Reader.
func (r reader) Named(ctx context.Context, principal, name string) (string, error) {
	return look(ctx, r, "read name", func(now *state) (string, error) { return now.names[nameKey{principal, name}], nil })
}

// SetName implements board.Tx.
func (t *tx) SetName(ctx context.Context, principal, name, list string) error {
	t.names = maps.Clone(t.names) // readers use the old map, here and below
	t.names[nameKey{principal, name}] = list
	t.changed = true
	return ctx.Err()
}

// Keyed implements board.Reader.
func (r reader) Keyed(ctx context.Context, k board.ChatKey) (string, error) {
	return look(ctx, r, "read key", func(now *state) (chat string, err error) {
		if found := now.keys[k]; time.Now().Before(found.until) {
			chat = found.chat
		}
		return chat, nil
	})
}

// SaveChat implements board.Tx.
func (t *tx) SaveChat(ctx context.Context, c todo.Chat) (todo.Chat, error) {
	t.seq++
	c.Seq = t.seq
	t.chats = maps.Clone(t.chats)
	t.chats[c.ID] = c
	t.changed = true
	return c, ctx.Err()
}

// hasList reports whether a chat held any list other than the given one.
func (t *tx) hasList(c todo.Chat, but string) bool {
	isOther := func(s board.Seen) bool { return s.Held > 0 && s.List != but }
	of := board.Key{Principal: c.Principal, Chat: c.ID}
	mirrors := board.Key{Principal: c.Principal, Chat: c.ID, Mirrors: true}
	return slices.ContainsFunc(t.seen[of], isOther) || slices.ContainsFunc(t.seen[mirrors], isOther)
}

// forgetChatsOf removes the chats that held the given list and no other list.
func (t *tx) forgetChatsOf(list string) {
	t.chats = maps.Clone(t.chats)
	for of, all := range t.seen {
		chat, isThere := t.chats[of.Chat]
		held := slices.ContainsFunc(all, func(c board.Seen) bool { return c.List == list && c.Held > 0 })
		if isThere && held && !t.hasList(chat, list) {
			delete(t.chats, chat.ID)
		}
	}
}

// SetKey implements board.Tx.
func (t *tx) SetKey(ctx context.Context, k board.ChatKey, chat string, until time.Time) error {
	t.keys = maps.Clone(t.keys)
	t.keys[k] = keyed{chat, until}
	t.changed = true
	return ctx.Err()
}
