package todo

import "sync"

// unchanged are the outcomes of operations that changed nothing, in this process.
// Others are stored with the revision that they made.
type unchanged struct {
	mu       sync.Mutex
	outcomes map[Operation]Outcome
}

// maxUnchanged is how many outcomes are remembered. When there are more, all are
// forgotten.
const maxUnchanged = 10_000

func (u *unchanged) put(op Operation, out Outcome) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.outcomes == nil || len(u.outcomes) >= maxUnchanged {
		u.outcomes = make(map[Operation]Outcome)
	}
	u.outcomes[op] = out
}

func (u *unchanged) get(op Operation) (Outcome, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out, ok := u.outcomes[op]
	return out, ok
}
