package board

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Follower receives snapshots of lists, each as a list changes or as a call of a tool is made. It never delays a
// writer: if its reader is slow, some snapshots are dropped before Next returns them.
type Follower struct {
	feed  *feed
	want  func(todo.Snapshot) bool
	calls bool            // it follows calls, and not revisions
	open  context.Context // until the follower or its board is closed
	end   context.CancelFunc
	ready chan struct{} // signals that snapshots are waiting; buffer of one

	mu      sync.Mutex
	came    int                // how many snapshots were kept so far
	waiting map[string]arrival // revisions by list id, calls by came % maxWaitingCalls; the last of each key
}

type arrival struct {
	place int // in the order in which they came
	todo.Snapshot
}

const (
	callIDLength    = 6   // of a [todo.Snapshot.Call], unique among calls at one revision of one list
	maxWaitingCalls = 256 // of a slow follower; beyond it the oldest are dropped
)

// keep keeps a snapshot until Next returns it: the newest revision of each list, or the last maxWaitingCalls calls.
func (f *Follower) keep(s todo.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	replaces := s.List.ID
	if f.calls {
		replaces = strconv.Itoa(f.came % maxWaitingCalls)
	} else if f.waiting[replaces].IsNewer(s) {
		return
	}
	f.waiting[replaces] = arrival{f.came, s}
	f.came++
	Signal(f.ready)
}

// Next waits for snapshots and returns those that came since the last call, in the order in which they came; or ctx's
// error, or [ErrClosed] once the follower or its board is closed.
func (f *Follower) Next(ctx context.Context) (came []todo.Snapshot, err error) {
	for len(came) == 0 { // the previous call may have taken the signalled snapshots
		select {
		case <-f.ready:
		case <-f.open.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		f.mu.Lock()
		for _, a := range slices.SortedFunc(maps.Values(f.waiting), func(a, b arrival) int { return a.place - b.place }) {
			came = append(came, a.Snapshot)
		}
		clear(f.waiting)
		f.mu.Unlock()
	}
	return came, nil
}

// Close ends the follower.
func (f *Follower) Close() {
	f.end()
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	delete(f.feed.followers, f)
}

// Chain is the list with an id or a name, and the lists that come after it in its conversation. Front ends follow a
// chain. The zero Chain has all lists. It is safe for concurrent use.
type Chain struct {
	Newest string // the id of the chain's newest list when this value was made; if the chain had no list, the wanted id or name
	wanted string

	mu  sync.Mutex
	ids map[string]bool
}

// Chain returns the chain of the list with an id or a name, which need not exist yet. An empty wanted means all lists.
func (l Lists) Chain(ctx context.Context, wanted string) (*Chain, error) {
	c := &Chain{wanted: wanted, ids: map[string]bool{wanted: true}, Newest: wanted}
	if wanted == "" {
		return c, nil
	}
	held, err := l.held(ctx, l.id.Principal, wanted)
	for _, h := range held {
		if h[0].List != wanted {
			c.Newest = h[0].List
			c.ids[c.Newest] = true
		}
	}
	return c, err
}

// held returns, for each chat that holds or held a list, all lists that it holds or held, beginning with
// the one that became current last. It leaves out keys that several chats share.
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

// Plans returns the ids of the last lists that a conversation held, limited to most ids, in the order in which they
// became current. The conversation is one that held the given list and now holds the newest list; if there is no such
// conversation, Plans returns the newest list alone.
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

// Has reports whether a list is in the chain. It adds the list to the chain if the list's Previous is in the chain.
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

// HasParent reports whether a list is of a sub-agent whose main list is in the chain.
func (c *Chain) HasParent(l todo.List) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return l.Parent != "" && c.ids[l.Parent]
}
