package record

import (
	"sync"

	"todo-mcp/internal/todo"
)

// Footprint estimates the memory that a revision takes, in bytes. Texts count in full,
// although revisions share them.
func Footprint(s todo.Snapshot) int {
	size := 512 + len(s.List.Conversation) + len(s.List.ParentConversation) + len(s.List.Workspace) + len(s.First) + len(s.GivenTitle)
	size += 256*(len(s.Items)+len(s.Report.Dropped)) + todo.Size(s.Items) + todo.Size(s.Report.Dropped)
	for _, d := range s.Report.Unseen {
		size += 512 + todo.Size([]todo.Item{d.Before, d.After})
	}
	for _, note := range s.Report.Notes {
		size += 16 + len(note)
	}
	return size
}

// maxCached is the size of what a cache keeps, in bytes.
const maxCached = 8 << 20

// Cache keeps what was read from one store, by key. When it has grown too large it
// forgets all: what is needed is soon there again. The zero value is an empty cache.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	of    map[K]cached[V]
	bytes int
}

type cached[V any] struct {
	value V
	size  int
}

// Get returns the value of a key, if it is there.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.of[key]
	return found.value, ok
}

// Put keeps a value with its size in bytes, in the place of the one of the key.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += size - c.of[key].size
	if c.of == nil || c.bytes > maxCached {
		c.of, c.bytes = make(map[K]cached[V]), size
	}
	c.of[key] = cached[V]{value, size}
}
