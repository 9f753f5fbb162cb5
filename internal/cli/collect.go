package cli

import (
	"cmp"
	"sync/atomic"
	"time"
)

// heapFloor is how many bytes a server allocates at least before it collects garbage.
// A call leaves some tens of kilobytes, and the few megabytes that a server keeps
// would else be looked through for every hundred calls.
const heapFloor = 32 << 20

// ballast is what the collector counts as kept. Nobody touches it, so that the system
// gives it no memory.
var ballast atomic.Pointer[[heapFloor]byte]

// collectLess sets the collector for a server, at once or for one that is to answer
// quickly a second later, unless the user has set it.
func collectLess(getenv func(string) string, later bool) {
	if cmp.Or(getenv("GOGC"), getenv("GOMEMLIMIT")) != "" {
		return
	}
	raise := func() { ballast.Store(new([heapFloor]byte)) }
	if !later {
		raise()
		return
	}
	// To allocate so much begins a collection, which would take a tenth of the start
	// that every chat waits for.
	time.AfterFunc(time.Second, raise)
}
