package board

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Watcher receives snapshots of lists. It never delays a writer: of each list only the newest waits to be fetched.
type Watcher struct {
	follower
	ready   chan struct{} // buffer of one: something is pending
	mu      sync.Mutex
	pending map[string]todo.Snapshot // by list id
}

// keepNewest keeps a snapshot unless it has that one, or a newer one.
func (w *Watcher) keepNewest(c Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.List.IsNewer(w.pending[c.List.List.ID]) {
		w.pending[c.List.List.ID] = c.List
		Signal(w.ready)
	}
}

// Next waits for changes and returns the newest snapshot of each list that changed since the last call, by Seq
// ascending; or ctx's error, or [ErrClosed] once the watcher or its board is closed.
func (w *Watcher) Next(ctx context.Context) (changed []todo.Snapshot, err error) {
	for len(changed) == 0 { // the previous call may have taken what was signalled
		select {
		case <-w.ready:
		case <-w.open.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		w.mu.Lock()
		changed = slices.SortedStableFunc(maps.Values(w.pending), func(a, b todo.Snapshot) int { return cmp.Compare(a.Seq, b.Seq) })
		clear(w.pending)
		w.mu.Unlock()
	}
	return changed, nil
}

// Call is one write that succeeded, also without a change (docs/spec/variants.md W2, V4).
type Call struct {
	List    todo.Snapshot // the list as it stood after the call
	Changed bool          // the call made List's revision
	// ID distinguishes calls after which a list has the same revision; empty for the call that made this revision.
	ID string
}

const (
	callIDLength    = 6   // of a [Call]'s id, unique among calls at one revision of one list
	maxWaitingCalls = 256 // of a slow follower; beyond it the oldest are dropped
)

// Calls follows calls as they are made. It receives each call of this process before the caller has its answer. It
// receives a call of another process soon after, if the call made a revision. If several such calls on one list come
// shortly after each other, it may receive only the last. A slow follower loses its oldest calls.
type Calls struct {
	follower
	waiting chan Call
}

// keepLast keeps a call, and drops the oldest if too many wait.
func (c *Calls) keepLast(call Call) {
	for {
		select {
		case c.waiting <- call:
			return
		default:
		}
		select {
		case <-c.waiting:
		default:
		}
	}
}

// Next waits for the next call; or returns ctx's error, or [ErrClosed] if closed.
func (c *Calls) Next(ctx context.Context) (Call, error) {
	select {
	case call := <-c.waiting:
		return call, nil
	case <-c.open.Done():
		return Call{}, ErrClosed
	case <-ctx.Done():
		return Call{}, ctx.Err()
	}
}

// Chain is the list with an id or a name, and the lists that come after it in its conversation. Front ends follow a
// chain. The zero Chain has all lists. It is safe for concurrent use.
type Chain struct {
	wanted string

	mu     sync.Mutex
	ids    map[string]bool
	newest string
}

// Chain returns the chain of the list with an id or a name, which need not exist yet. An empty wanted means all lists.
func (l Lists) Chain(ctx context.Context, wanted string) (*Chain, error) {
	c := &Chain{wanted: wanted, ids: map[string]bool{wanted: true}, newest: wanted}
	if wanted == "" {
		return c, nil
	}
	held, err := l.held(ctx, l.id.Principal, wanted)
	for _, h := range held {
		if h[0].List != wanted {
			c.newest = h[0].List
			c.ids[c.newest] = true
		}
	}
	return c, err
}

// held returns, for each chat that holds or held a list, all lists that it holds or held, the one that
// became current last first. It leaves out keys that several chats share.
func (l Lists) held(ctx context.Context, principal, list string) (held [][]Seen, err error) {
	on, err := l.board.store.SeenOn(ctx, principal, list)
	for _, s := range on {
		if err != nil || s.Held == 0 || todo.IsSeveral(s.Chat) {
			continue
		}
		var all []Seen
		all, err = l.board.store.Seen(ctx, s.Key)
		if all = slices.DeleteFunc(all, func(s Seen) bool { return s.Held == 0 }); len(all) > 0 {
			held = append(held, all)
		}
	}
	return held, err
}

// Plans returns the ids of the last lists, up to most, that a conversation held, in the order in which
// they became current. The conversation is one that held the given list and now holds the newest one;
// if there is none, Plans returns the newest list alone.
func (l Lists) Plans(ctx context.Context, list string, newest todo.List, most int) ([]string, error) {
	held, err := l.held(ctx, newest.Principal, list)
	var plans []string
	for _, h := range held {
		if h[0].List != newest.ID || len(plans) > 0 && h[0].Chat != newest.Conversation {
			continue
		}
		plans = plans[:0]
		for _, s := range h[:min(len(h), most)] {
			plans = append(plans, s.List)
		}
	}
	if len(plans) == 0 {
		plans = append(plans, newest.ID)
	}
	slices.Reverse(plans)
	return plans, err
}

// Newest returns the id of the last list that the chain had when it was made; if it had none, the wanted id or name.
func (c *Chain) Newest() string { return c.newest }

// Has reports whether a list is in the chain. It adds the list to the chain if its Previous is in it.
func (c *Chain) Has(l todo.List) bool {
	if c.wanted == "" || l.Name == c.wanted {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Previous != "" && c.ids[l.Previous] {
		c.ids[l.ID] = true
	}
	return c.ids[l.ID]
}

// HasParent reports whether a list is a sub-agent's of a list in the chain.
func (c *Chain) HasParent(l todo.List) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return l.Parent != "" && c.ids[l.Parent]
}
