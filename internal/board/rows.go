package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// chatAge is how long ago [Lists.WithChats] requires a chat to have been used.
const chatAge = 7 * 24 * time.Hour

// WithChats returns lists and, behind them as [todo.Chat.AsList], the chats of the identity's own
// user that have a row (see hasRow). The list of a sub-agent whose main agent is such a chat gets
// the chat as its Parent.
func (l Lists) WithChats(ctx context.Context, lists []todo.Snapshot) ([]todo.Snapshot, error) {
	q := ChatQuery{UsedSince: l.board.now().Add(-chatAge)}
	if !l.all {
		q.Principal, q.User = &l.principal, &l.subject
	}
	chats, err := l.board.store.Chats(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the chats: %w", err)
	}
	who, without := l.attendance(lists...), make(map[string]bool)
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

// ChatAsList returns a chat of the identity's own user as [todo.Chat.AsList], Deleted if
// [Lists.WithChats] leaves it out.
func (l Lists) ChatAsList(ctx context.Context, id string) (todo.Snapshot, error) {
	c, err := l.board.store.Chat(ctx, id)
	if err != nil || c.ID == "" || !l.all && !l.has(c) {
		return todo.Snapshot{}, cmp.Or(err, errNoSnapshot)
	}
	s := c.AsList()
	has, err := l.attendance().hasRow(ctx, c)
	s.Deleted = !has
	return s, err
}

// hasRow reports whether a chat is shown as a list: hooks say what its agent does, it is here, it
// holds no open list, and it is not a sub-agent's.
func (a *attendance) hasRow(ctx context.Context, c todo.Chat) (bool, error) {
	if c.Parent != "" || c.Doing == todo.NotKnown || !a.isHere(c) {
		return false, nil
	}
	isRead, err := a.readAll(ctx, c.Principal)
	held := a.current[c.ID]
	if err == nil && !isRead {
		held, err = heldBy(ctx, a.lists.board.store, c)
	}
	for _, list := range held {
		if open, err := a.isOpen(ctx, list); open || err != nil {
			return false, err
		}
	}
	return err == nil, err
}

// isOpen reports whether a list is open, and not archived.
func (a *attendance) isOpen(ctx context.Context, list string) (bool, error) {
	if is, isRead := a.open[list]; isRead {
		return is, nil
	}
	s, err := a.lists.Load(ctx, list, 0)
	return err == nil && s.Open() && !s.Archived, PassOver(err)
}

// heldBy returns the ids of the current lists of a chat: that of our tools and that of its host's.
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
