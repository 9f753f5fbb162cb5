package board

import (
	"context"
	"fmt"
	"slices"

	"todo-mcp/internal/todo"
)

// Some hosts do not tell a server which chat calls it, while their hooks know the chat and
// not the server. A conversation of a hook is bound to the list of the chat, and is never
// present by that: who holds the list is the conversation that the server knows.

// Bind binds a conversation to a list, which another one of the same member knows. It returns
// [ErrNotFound] for any other list.
func (l Lists) Bind(ctx context.Context, c Conversation, list string) error {
	on, err := l.board.store.CursorsOn(ctx, l.principal, list)
	if err != nil {
		return fmt.Errorf("find who knows the list: %w", err)
	}
	if !slices.ContainsFunc(on, func(c Cursor) bool { return l.isOwn(c.Conversation) }) {
		return errNoSnapshot
	}
	return l.setCursors(ctx, Cursor{Key: Key{l.principal, l.Own(c).Key}, List: list, Current: true})
}

// Holder returns the one conversation that is present and holds the list which another one
// is bound to; that one itself when there is none, or more.
func (l Lists) Holder(ctx context.Context, c Conversation) (Conversation, error) {
	holders, err := l.holders(ctx, Key{l.principal, l.Own(c).Key})
	if err != nil || len(holders) != 1 {
		return c, err
	}
	return Conversation{Key: holders[0].Conversation}, nil
}

// holders returns the cursors of those that are present and hold the list of a key.
func (l Lists) holders(ctx context.Context, of Key) ([]Cursor, error) {
	cursors, err := l.board.store.Cursors(ctx, of)
	if err != nil || Current(cursors) == "" {
		return nil, err
	}
	on, err := l.board.store.CursorsOn(ctx, of.Principal, Current(cursors))
	return slices.DeleteFunc(slices.Clone(on), func(c Cursor) bool { return !c.Current || !l.board.isPresent(c) }), err
}

// FindUnbound returns the one list that is the conversation's as far as isIts knows, that
// one which is present holds, and that no other of the kind of keys is bound to; empty
// when there is none, or more, or when it is bound to such a list already.
func (l Lists) FindUnbound(ctx context.Context, c Conversation, isBound func(key string) bool, isIts func(todo.List) bool) (string, error) {
	own := Key{l.principal, l.Own(c).Key}
	holders, err := l.holders(ctx, own)
	if err != nil || len(holders) > 0 {
		return "", err
	}
	all, err := l.board.store.CursorsOn(ctx, l.principal, "")
	if err != nil {
		return "", fmt.Errorf("find who holds lists: %w", err)
	}
	held := make(map[string]bool)
	for _, c := range all {
		if l.isOwn(c.Conversation) && l.board.isPresent(c) {
			held[c.List] = true
		}
	}
	for _, c := range all {
		if isBound(c.Conversation) && c.Key != own && c.Until.IsZero() {
			delete(held, c.List)
		}
	}
	found := ""
	for id := range held {
		list, err := l.Load(ctx, id, 0)
		if err != nil || !isIts(list.List) {
			continue // another's, or gone meanwhile
		}
		if found != "" {
			return "", nil
		}
		found = id
	}
	return found, nil
}
