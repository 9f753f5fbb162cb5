package record

import (
	"container/list"
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

// Footprint estimates the memory that a revision takes, in bytes. Texts count in full,
// although revisions share them.
func Footprint(s todo.Snapshot) (size int) {
	for _, items := range [][]todo.Item{s.Items, s.Report.Dropped} {
		for _, i := range items {
			size += 256 + len(i.Text) + len(i.Active) + len(i.Reason)
		}
	}
	for _, d := range s.Report.Unseen {
		size += 512 + len(d.Before.Text) + len(d.Before.Reason) + len(d.After.Text) + len(d.After.Reason)
	}
	for _, note := range s.Report.Notes {
		size += 16 + len(note)
	}
	l := s.List
	return size + 512 + len(l.Conversation) + len(l.ParentConversation) + len(l.Workspace) + len(s.First) + len(s.GivenTitle)
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

// maxCached is the size of what a cache keeps, in bytes as stored. It keeps one
// value, however large.
const maxCached = 8 << 20

// Cache keeps what was read from one store and never changes there, by key. The
// values that were not used for longest go when there are too many. The zero value
// is an empty cache.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	of    map[K]*list.Element // of cached[K, V]
	used  list.List           // the last one first
	bytes int
}

// cached is an entry of a [Cache].
type cached[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// Get returns the value of a key, if it is there.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.of[key]
	if at == nil {
		return value, false
	}
	c.used.MoveToFront(at)
	return at.Value.(cached[K, V]).value, true
}

// Put adds a value with its size in bytes, or replaces the one of the key.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.of[key]; old != nil {
		c.remove(old)
	}
	if c.of == nil {
		c.of = make(map[K]*list.Element)
	}
	c.of[key] = c.used.PushFront(cached[K, V]{key, value, size})
	for c.bytes += size; c.bytes > maxCached && c.used.Len() > 1; {
		c.remove(c.used.Back())
	}
}

func (c *Cache[K, V]) remove(at *list.Element) {
	old := c.used.Remove(at).(cached[K, V])
	delete(c.of, old.key)
	c.bytes -= old.size
}

// Bases are base items by id. An id is not used again.
type Bases struct{ Cache[int64, Base] }

// Get returns base items, which it reads if it does not have them.
func (b *Bases) Get(id int64, read func() (Base, error)) (Base, error) {
	base, ok := b.Cache.Get(id)
	if ok {
		return base, nil
	}
	base, err := read()
	if err == nil {
		b.Put(id, base, base.Size)
	}
	return base, err
}
