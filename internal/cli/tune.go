package cli

import (
	"cmp"
	"runtime"
	"time"
)

// heapFloor is how many bytes a server allocates at least before it collects garbage.
// A call leaves some tens of kilobytes, and the few megabytes that a server keeps
// would else be looked through for every hundred calls.
const heapFloor = 32 << 20

// ballast is what the collector counts as kept. Nobody touches it, so that the system
// gives it no memory.
var ballast []byte

// tune sets the runtime for a server of one client or of many, as far as the user has
// not set it.
func tune(getenv func(string) string, many bool) {
	if many && getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == 1 {
		// While a save waits for the disk it keeps its place in the only queue, until
		// the runtime's monitor takes that away from it, after up to ten milliseconds.
		// With two the calls of others go on meanwhile.
		runtime.GOMAXPROCS(2)
	}
	if cmp.Or(getenv("GOGC"), getenv("GOMEMLIMIT")) == "" {
		// Later, because to allocate so much begins a collection, which would take a
		// tenth of the start.
		time.AfterFunc(time.Second, func() { ballast = make([]byte, heapFloor) })
	}
}
