package todo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SharedRest is how long a list must rest before it counts as left behind by a
// key that several chats share: one of them writing another list does not mean
// that the chat of this one has left it.
const SharedRest = time.Hour

// LeftBehind returns the ids of those lists that are open and that nobody works
// on any more: the conversation that held one holds another list now, or is gone
// (see [Conversation.Lasts]; it may come back). A list that no conversation began,
// as by an import, and one that was archived are not left behind.
func (l Lists) LeftBehind(ctx context.Context, lists ...Snapshot) (map[string]bool, error) {
	return l.unattended(ctx, slices.DeleteFunc(slices.Clone(lists), func(s Snapshot) bool { return !s.Open() }))
}

// unattended returns the ids of those lists that a conversation began and that no
// conversation that is there holds any more; archived ones aside.
func (l Lists) unattended(ctx context.Context, lists []Snapshot) (map[string]bool, error) {
	lists = slices.DeleteFunc(slices.Clone(lists), func(s Snapshot) bool { return s.Archived || s.List.Conversation == "" })
	holders, err := l.holders(ctx, lists)
	if err != nil {
		return nil, err
	}
	left := make(map[string]bool)
	for _, s := range lists {
		if slices.ContainsFunc(holders[s.List.ID], l.board.isThere) {
			continue
		}
		rests, err := l.rests(ctx, s, len(holders[s.List.ID]) > 0)
		if err != nil {
			return nil, err
		}
		if rests {
			left[s.List.ID] = true
		}
	}
	return left, nil
}

// holders returns the bindings of the conversations that hold lists, by list.
func (l Lists) holders(ctx context.Context, lists []Snapshot) (map[string][]Binding, error) {
	byPrincipal := make(map[string][]Snapshot)
	for _, s := range lists {
		byPrincipal[s.List.Principal] = append(byPrincipal[s.List.Principal], s)
	}
	out := make(map[string][]Binding)
	for principal, lists := range byPrincipal {
		id := "" // every list of the principal
		if len(lists) == 1 {
			id = lists[0].List.ID
		}
		found, err := l.board.store.Holders(ctx, principal, id)
		if err != nil {
			return nil, fmt.Errorf("find who holds the lists: %w", err)
		}
		for _, b := range found {
			out[b.List] = append(out[b.List], b)
		}
	}
	return out, nil
}

// rests reports whether a list that no live conversation holds was left behind.
// A key that several chats share holds the list that one of them wrote last; the
// others are at rest only after a while.
func (l Lists) rests(ctx context.Context, s Snapshot, held bool) (bool, error) {
	if held || !sharedKey(s.List.Conversation) || l.board.now().Sub(s.Worked) > SharedRest {
		return true, nil
	}
	bindings, err := l.board.store.Bindings(ctx, s.List.Principal, s.List.Conversation)
	if err != nil {
		return false, fmt.Errorf("find who held the list: %w", err)
	}
	return !slices.ContainsFunc(bindings, func(b Binding) bool { return b.List == s.List.ID && l.board.isThere(b) }), nil
}

// isLive reports whether the conversation of a binding lives as far as can be
// told: its process does, or it can outlive a process.
func (b *Board) isLive(h Binding) bool {
	return h.Process == "" || h.Process == b.process || b.store.Alive(h.Process)
}

// isThere reports whether the conversation of a binding is connected as far as can
// be told.
func (b *Board) isThere(h Binding) bool {
	served := h.Server == detached || h.Server != "" && (h.Server == b.process || b.store.Alive(h.Server))
	return served && (h.Until.IsZero() || b.now().Before(h.Until))
}

// Stay says that a conversation is connected, although it makes no call now; Leave
// that it has ended. What it holds stays bound to it.
func (l Lists) Stay(ctx context.Context, c Conversation) error {
	return l.setUntil(ctx, c, l.board.until(c))
}

// Leave is described at [Lists.Stay].
func (l Lists) Leave(ctx context.Context, c Conversation) error {
	return l.setUntil(ctx, c, l.board.now())
}

func (l Lists) setUntil(ctx context.Context, c Conversation, until time.Time) error {
	if l.readOnly {
		return nil // it holds nothing
	}
	c = c.bounded()
	principal := l.principalOrServer()
	for _, key := range slices.Compact([]string{c.Holder(), c.Key}) {
		if key == "" {
			continue
		}
		bound, err := l.board.store.Bindings(ctx, principal, key)
		if err != nil {
			return fmt.Errorf("find the conversation's list: %w", err)
		}
		if len(bound) == 0 || bound[0].Moved == 0 || bound[0].Until.Equal(until) {
			continue
		}
		now := Binding{Principal: principal, Conversation: key, List: bound[0].List, Server: l.board.server(c), Until: until}
		if err := l.board.bind(ctx, []Binding{now}); err != nil {
			return err
		}
	}
	return nil
}

// sharedKey reports whether a key is one that several chats may have at the same
// time: that of a client and a workspace, whose kind is the transport.
func sharedKey(key string) bool {
	kind, _, _ := strings.Cut(key, ":")
	return kind == "stdio" || kind == "http"
}

// maxEarlier is how many lists [Lists.HeldBefore] returns of a conversation.
const maxEarlier = 10

// HeldBefore returns the ids of the lists that were held before by the
// conversations that hold a list now. When one of them has moved to this list,
// those are the lists that may have been left behind by it.
func (l Lists) HeldBefore(ctx context.Context, s Snapshot) (ids []string, err error) {
	holders, err := l.Holders(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("find who holds the list: %w", err)
	}
	for _, h := range holders {
		held, err := l.board.store.Bindings(ctx, s.List.Principal, h.Conversation)
		if err != nil {
			return nil, fmt.Errorf("find what the conversation held: %w", err)
		}
		for _, b := range held[:min(len(held), 1+maxEarlier)] {
			if b.List != "" && b.List != s.List.ID {
				ids = append(ids, b.List)
			}
		}
	}
	return ids, nil
}
