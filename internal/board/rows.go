package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// chatAge is how long ago a chat was used at most that [Lists.WithChats] looks at.
const chatAge = 7 * 24 * time.Hour

// WithChats returns lists and, behind them, as [todo.Chat.AsList], the chats of the identity's own
// user of which hooks say what their agents do, and which are here without an open list. The list
// of a sub-agent whose main agent is such a chat has it as its Parent.
func (l Lists) WithChats(ctx context.Context, lists []todo.Snapshot) ([]todo.Snapshot, error) {
	q := ChatQuery{UsedSince: l.board.now().Add(-chatAge)}
	if !l.all {
		q.Principal, q.User = &l.principal, &l.subject
	}
	chats, err := l.board.store.Chats(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the chats: %w", err)
	}
	who, without := l.attendance(len(chats), lists...), make(map[string]bool)
	for _, c := range slices.Backward(chats) {
		has, err := who.hasRow(ctx, c)
		if err != nil {
			return nil, err
		}
		if has {
			without[c.ID] = true
			lists = append(lists, c.AsList())
		}
	}
	for i, s := range lists {
		if s.List.Parent == "" && without[s.List.ParentConversation] {
			lists[i].List.Parent = s.List.ParentConversation
		}
	}
	return lists, nil
}

// ChatAsList returns [todo.Chat.AsList] of a chat of the identity's own user, with its Deleted set
// where it is none that [Lists.WithChats] adds.
func (l Lists) ChatAsList(ctx context.Context, id string) (todo.Snapshot, error) {
	c, err := l.board.store.Chat(ctx, id)
	if err != nil || c.ID == "" || !l.all && !l.has(c) {
		return todo.Snapshot{}, cmp.Or(err, errNoSnapshot)
	}
	s := c.AsList()
	has, err := l.attendance(1).hasRow(ctx, c)
	s.Deleted = !has
	return s, err
}

// isOpen reports whether a list is open, and not archived.
func (a *attendance) isOpen(ctx context.Context, list string) (bool, error) {
	if is, isRead := a.open[list]; isRead {
		return is, nil
	}
	s, err := a.lists.Load(ctx, list, 0)
	return err == nil && s.Open() && !s.Archived, PassOver(err)
}

// hasRow reports whether hooks say what the agent of a chat does, and the chat is here and holds no
// list that is open. The chat of a sub-agent is a part of its main agent's.
func (a *attendance) hasRow(ctx context.Context, c todo.Chat) (bool, error) {
	if c.Parent != "" || c.Doing == todo.NotKnown || !a.isHere(c) {
		return false, nil
	}
	held, err := a.held(ctx, c)
	for _, list := range held {
		if open, err := a.isOpen(ctx, list); open || err != nil {
			return false, err
		}
	}
	return err == nil, err
}

// held is [heldBy], of many chats by one reading.
func (a *attendance) held(ctx context.Context, c todo.Chat) (lists []string, err error) {
	if a.few {
		return heldBy(ctx, a.lists.board.store, c)
	}
	if err := a.read(ctx, c.Principal, ""); err != nil {
		return nil, err
	}
	return a.current[c.Principal][c.ID], nil
}

// heldBy returns the ids of the lists that a chat holds.
func heldBy(ctx context.Context, read Reader, c todo.Chat) (lists []string, err error) {
	for _, mirrors := range []bool{false, true} {
		seen, err := read.Seen(ctx, Key{c.Principal, c.ID, mirrors})
		if err != nil {
			return nil, err
		}
		if list := Current(seen); list != "" {
			lists = append(lists, list)
		}
	}
	return lists, nil
}
