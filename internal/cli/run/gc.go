package run

import (
	"cmp"
	"sync/atomic"
)

// heapFloor is how many bytes a server of many clients allocates at least before it
// collects garbage. A call leaves some tens of kilobytes, and the few megabytes that a
// server keeps would else be looked through for every hundred calls.
const heapFloor = 32 << 20

// ballast is what the collector counts as kept. Nobody touches it, so that the system
// gives it no memory. GOGC would do the same for a server that keeps little, but it
// multiplies: one that keeps 200 MB would come to a gigabyte.
var ballast atomic.Pointer[[heapFloor]byte]

// collectLess sets the collector for such a server, unless the user has set it.
func collectLess(getenv func(string) string) {
	if cmp.Or(getenv("GOGC"), getenv("GOMEMLIMIT")) == "" {
		ballast.Store(new([heapFloor]byte))
	}
}
