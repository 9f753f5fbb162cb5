package record

import (
	"slices"
	"sync"

	"todo-mcp/internal/todo"
)

// A store keeps the revisions of a large list as differences to base items, so that
// what a change writes follows the change and not the list. A list gets new base
// items when the differences to the old ones add up to as much: then no way of
// choosing the moment would have written less than half.

// SmallItems is the size of items (see [Size]) up to which a revision is stored
// whole: databases write whole pages of some thousand bytes.
const SmallItems = 4096

// Size estimates the size of encoded items, in bytes.
func Size(items []todo.Item) (size int) {
	for _, i := range items {
		size += 120 + len(i.Text) + len(i.Active) + len(i.Reason)
	}
	return size
}

// Base is base items as a store has them.
type Base struct {
	List  string // its id
	Items []todo.Item
	Size  int // in bytes, as stored
}

// Stored is a revision as it is stored.
type Stored struct {
	Body  string
	Base  int64 // id of its base items; 0 when Body has all items
	Drift int64 // the size of the differences to them so far
	// NewBase are base items to store first, whose id then is Base; empty for none.
	NewBase string
}

// Next encodes the revision that follows one that is stored with the given base
// and drift. read returns base items; with an error of it, the revision gets new
// ones.
func Next(s todo.Snapshot, base, drift int64, read func(id int64) (Base, error)) (Stored, error) {
	if Size(s.Items) <= SmallItems {
		body, err := Body(s)
		return Stored{Body: string(body)}, err
	}
	if base > 0 {
		if b, err := read(base); err == nil {
			body, err := Difference(s, b.Items)
			drift += int64(len(body))
			if err != nil || drift <= int64(b.Size) {
				return Stored{Body: string(body), Base: base, Drift: drift}, err
			}
		}
	}
	items, err := Items(s.Items)
	if err != nil {
		return Stored{}, err
	}
	body, err := Difference(s, s.Items)
	return Stored{Body: string(body), Drift: int64(len(body)), NewBase: string(items)}, err
}

// maxCached is the size of the base items that a cache keeps, in bytes as stored.
// It keeps one, however large.
const maxCached = 8 << 20

// Cache keeps base items that were read from one store, by id: they never change
// there, and an id is not used again. The zero value is an empty cache.
type Cache struct {
	mu    sync.Mutex
	bases map[int64]Base
	order []int64 // of the last use
	size  int
}

// Get returns base items, which it reads if it does not have them.
func (c *Cache) Get(id int64, read func() (Base, error)) (Base, error) {
	c.mu.Lock()
	b, ok := c.bases[id]
	if ok {
		i := slices.Index(c.order, id)
		c.order = append(slices.Delete(c.order, i, i+1), id)
	}
	c.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := read()
	if err == nil {
		c.Put(id, b)
	}
	return b, err
}

// Put adds base items.
func (c *Cache) Put(id int64, b Base) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.bases[id]; ok {
		return // read twice at the same time
	}
	if c.bases == nil {
		c.bases = make(map[int64]Base)
	}
	c.bases[id], c.order, c.size = b, append(c.order, id), c.size+b.Size
	for c.size > maxCached && len(c.order) > 1 {
		c.size -= c.bases[c.order[0]].Size
		delete(c.bases, c.order[0])
		c.order = c.order[1:]
	}
}
