package tables

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Health is what a store knows of its state: of the rows that were found not to be as they
// were written, and so left out, within damageAge (what was repaired since is forgotten
// then), and of its size when that was looked at last.
type Health struct {
	mu    sync.Mutex
	found map[string]time.Time // by what is said of the row, when it was read last
	size  atomic.Int64
}

// SetSize notes the size of all lists in bytes.
func (h *Health) SetSize(bytes int64) { h.size.Store(bytes) }

// Bytes returns that; 0 while it was not looked at, which is before the first write, and
// where it is not limited.
func (h *Health) Bytes() int64 { return h.size.Load() }

const damageAge = time.Hour

// maxDamage is how many rows are remembered.
const maxDamage = 1000

func (h *Health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.found == nil {
		h.found = make(map[string]time.Time)
	}
	if _, known := h.found[err.Error()]; known || len(h.found) < maxDamage {
		h.found[err.Error()] = time.Now()
	}
}

// Damaged returns what is wrong with each row, one text a row, in their order; at most
// 1,000.
func (h *Health) Damaged() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.found, func(_ string, at time.Time) bool { return time.Since(at) > damageAge })
	return slices.Sorted(maps.Keys(h.found))
}
