package memorytest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// rowSize is what a chat, a key and a notice count, in bytes, about.
const rowSize = 1000

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
	if err := t.store.keep.CheckBytes(t.usage(principal), false); err != nil {
		return fmt.Errorf("save name: %w", err)
	}
	before := len(t.names)
	t.names = maps.Clone(t.names)
	t.names[nameKey{principal, name}] = list
	t.size += rowSize * int64(len(t.names)-before)
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
	_, isThere := t.chats[c.ID]
	if !isThere {
		if err := t.store.keep.CheckBytes(t.usage(c.Principal), false); err != nil {
			return c, fmt.Errorf("save chat: %w", err)
		}
		t.size += rowSize
	}
	t.seq++
	c.Seq = t.seq
	t.chats = maps.Clone(t.chats) // others read the old ones, here and below
	t.chats[c.ID] = c
	t.changed = true
	if isThere {
		return c, ctx.Err()
	}
	var bare []todo.Chat
	for id, other := range t.chats {
		if id != c.ID && other.Principal == c.Principal && other.User == c.User && !t.hasList(other, "") {
			bare = append(bare, other)
		}
	}
	if most := board.MaxChats - 1; len(bare) > most {
		slices.SortFunc(bare, func(a, b todo.Chat) int { return b.Used.Compare(a.Used) })
		for _, old := range bare[most:] {
			t.forgetChat(old.ID)
		}
	}
	return c, ctx.Err()
}

// hasList reports whether a chat held a list other than one.
func (t *tx) hasList(c todo.Chat, but string) bool {
	isIts := func(k board.Seen) bool { return k.Held > 0 && k.List != but }
	of := board.Key{Principal: c.Principal, Chat: c.ID}
	mirrors := board.Key{Principal: c.Principal, Chat: c.ID, Mirrors: true}
	return slices.ContainsFunc(t.seen[of], isIts) || slices.ContainsFunc(t.seen[mirrors], isIts)
}

func (t *tx) forgetChat(id string) {
	delete(t.chats, id) // of a copy
	t.size -= rowSize
}

// forgetChatsOf removes the chats that held a list and no other, but for the one that begins or
// changes another list, which the list goes for.
func (t *tx) forgetChatsOf(list string, forList todo.List) {
	t.chats = maps.Clone(t.chats)
	for of, all := range t.seen {
		chat, isThere := t.chats[of.Chat]
		held := slices.ContainsFunc(all, func(c board.Seen) bool { return c.List == list && c.Held > 0 })
		if isThere && held && chat.ID != forList.Conversation && !t.hasList(chat, list) {
			t.forgetChat(chat.ID)
		}
	}
}

// tidyChats removes chats that nobody used for too long, and those without a list that
// ended long enough ago.
func (t *tx) tidyChats(now time.Time) {
	t.chats = maps.Clone(t.chats)
	for id, c := range t.chats {
		isOver := !c.Ended.IsZero() && now.Sub(c.Ended) > board.BareChatAge && !t.hasList(c, "")
		if isOver || now.Sub(c.Used) > board.SeenAge {
			t.forgetChat(id)
		}
	}
}

// SetKey implements board.Tx.
func (t *tx) SetKey(ctx context.Context, k board.ChatKey, chat string, until time.Time) error {
	if err := t.store.keep.CheckBytes(t.usage(k.Principal), false); err != nil {
		return fmt.Errorf("save key: %w", err)
	}
	before := len(t.keys)
	t.keys = maps.Clone(t.keys)
	t.keys[k] = keyed{chat, until}
	isSame := func(o board.ChatKey) bool { o.Text = k.Text; return o == k }
	keepNewest(t.keys, isSame, func(k keyed) time.Time { return k.until }, time.Now(), board.MaxKeys)
	t.size += rowSize * int64(len(t.keys)-before)
	t.changed = true
	return ctx.Err()
}

// Claim implements board.Tx.
func (t *tx) Claim(ctx context.Context, n board.Notice, at time.Time, within time.Duration) (earlier time.Time, err error) {
	if before := t.notices[n]; at.Sub(before).Abs() < within {
		return before, ctx.Err()
	}
	if err := t.store.keep.CheckBytes(t.usage(n.Principal), false); err != nil {
		return time.Time{}, fmt.Errorf("save notice: %w", err)
	}
	before := len(t.notices)
	t.notices = maps.Clone(t.notices)
	t.notices[n] = at
	isSame := func(o board.Notice) bool { return o.Principal == n.Principal }
	keepNewest(t.notices, isSame, func(at time.Time) time.Time { return at }, at.Add(-board.NoticeAge), board.MaxNotices)
	t.size += rowSize * int64(len(t.notices)-before)
	t.changed = true
	return time.Time{}, ctx.Err()
}

// keepNewest removes the rows of a time before another, and of the same as a new one the
// oldest beyond so many.
func keepNewest[K comparable, V any](rows map[K]V, isSame func(K) bool, at func(V) time.Time, before time.Time, most int) {
	var same []K
	for k, v := range rows {
		switch {
		case at(v).Before(before):
			delete(rows, k)
		case isSame(k):
			same = append(same, k)
		}
	}
	if len(same) <= most {
		return
	}
	slices.SortFunc(same, func(a, b K) int { return at(rows[b]).Compare(at(rows[a])) })
	for _, k := range same[most:] {
		delete(rows, k)
	}
}

// sizeOfChats returns what chats, keys and notices of a principal count, in bytes.
func (t *tx) sizeOfChats(principal string) (size int64) {
	for _, c := range t.chats {
		if c.Principal == principal {
			size += rowSize
		}
	}
	for k := range t.keys {
		if k.Principal == principal {
			size += rowSize
		}
	}
	for n := range t.notices {
		if n.Principal == principal {
			size += rowSize
		}
	}
	for n := range t.names {
		if n.principal == principal {
			size += rowSize
		}
	}
	return size
}
