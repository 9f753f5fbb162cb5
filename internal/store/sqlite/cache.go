package sqlite

import "sync"

// maxCached is the size of what a cache keeps, in bytes.
const maxCached = 8 << 20

// cache keeps what was read from one store, by key. When it has grown too large it
// forgets all: what is needed is soon there again. The zero value is an empty cache.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	of    map[K]cached[V]
	bytes int
}

type cached[V any] struct {
	value V
	size  int
}

// get returns the value of a key, if it is there.
func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.of[key]
	return found.value, ok
}

// put keeps a value with its size in bytes, in the place of the one of the key.
func (c *cache[K, V]) put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += size - c.of[key].size
	if c.of == nil || c.bytes > maxCached {
		c.of, c.bytes = make(map[K]cached[V]), size
	}
	c.of[key] = cached[V]{value, size}
}
