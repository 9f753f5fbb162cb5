package todo

import (
	"context"
	"fmt"
	"sync"
)

// Chain is the lists of a front end that follows one: the list with an id or a name, and
// those with which its conversation went on from there. The zero Chain is all lists. It
// is safe for concurrent use.
type Chain struct {
	wanted string

	mu     sync.Mutex
	ids    map[string]bool
	newest string
}

// Chain returns the chain of the list with an id or a name, which need not exist yet;
// the chain of all lists when wanted is empty.
func (l Lists) Chain(ctx context.Context, wanted string) (*Chain, error) {
	c := &Chain{wanted: wanted, ids: map[string]bool{wanted: true}, newest: wanted}
	if wanted == "" {
		return c, nil
	}
	on, err := l.board.store.CursorsOn(ctx, l.principal, wanted)
	if err != nil {
		return nil, fmt.Errorf("find who holds the list: %w", err)
	}
	for _, held := range on {
		if held.Moved == 0 || held.Current || sharedKey(held.Conversation) {
			continue
		}
		later, err := l.board.store.Cursors(ctx, held.Key)
		if err != nil {
			return nil, fmt.Errorf("find what the conversation holds: %w", err)
		}
		for _, next := range later {
			if next.Moved > held.Moved {
				c.ids[next.List] = true
			}
		}
		if c.newest == wanted && len(later) > 0 {
			c.newest = later[0].List
		}
	}
	return c, nil
}

// Newest returns the id of the last list of the chain as it was made, or what was
// wanted.
func (c *Chain) Newest() string { return c.newest }

// Has reports whether a list is in the chain. One that its conversation began after a
// list of the chain is from then on.
func (c *Chain) Has(l List) bool {
	if c.wanted == "" || l.Name == c.wanted {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids[l.ID] {
		return true
	}
	if l.Previous == "" || !c.ids[l.Previous] {
		return false
	}
	c.ids[l.ID] = true
	return true
}

// HasParent reports whether a list is a sub-agent's of a list in the chain.
func (c *Chain) HasParent(l List) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return l.Parent != "" && c.ids[l.Parent]
}
