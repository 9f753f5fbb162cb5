package tables

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Health holds the damaged rows that were read within damageAge, and the size of the store when it was last measured.
// A row that was repaired is forgotten after damageAge.
type Health struct {
	mu    sync.Mutex
	found map[string]time.Time // when each problem was last met, by its text
	size  atomic.Int64
}

// SetSize sets what [Health.Bytes] returns.
func (h *Health) SetSize(bytes int64) { h.size.Store(bytes) }

// Bytes returns the size of the store in bytes; 0 before the first write, and where the size is not limited.
func (h *Health) Bytes() int64 { return h.size.Load() }

// maxDamage is how many damaged rows are remembered, each for damageAge.
const maxDamage, damageAge = 1000, time.Hour

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

// Damaged returns a text for each damaged row, sorted.
func (h *Health) Damaged() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.found, func(_ string, at time.Time) bool { return time.Since(at) > damageAge })
	return slices.Sorted(maps.Keys(h.found))
}
