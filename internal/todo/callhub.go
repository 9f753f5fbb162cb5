package todo

import "sync"

// callIDLength is the length of a [Call]'s id, which must differ only from
// those of other calls at the same revision of the same list.
const callIDLength = 6

// unknownSeq stands for the Seq of the newest snapshot when the store could not be
// read. The next successful read then fetches it, and followers of calls receive
// nothing up to it.
const unknownSeq = -1

// callHub delivers calls to their followers: those of this process at once, and of
// other processes those that saved a snapshot, when the feed reads it.
type callHub struct {
	process string

	mu        sync.Mutex
	followers map[*Calls]struct{}
}

func newCallHub(process string) *callHub {
	return &callHub{process: process, followers: make(map[*Calls]struct{})}
}

func (h *callHub) add(c *Calls) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers[c] = struct{}{}
}

func (h *callHub) remove(c *Calls) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followers, c)
}

// count returns how many followers there are.
func (h *callHub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.followers)
}

func (h *callHub) close() {
	h.mu.Lock()
	followers := h.followers
	h.followers = make(map[*Calls]struct{})
	h.mu.Unlock()
	for c := range followers {
		c.markClosed()
	}
}

// deliver delivers a call to its followers.
func (h *callHub) deliver(call Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.followers {
		c.offer(call)
	}
}

// deliverSaved delivers the call that saved a snapshot, unless this process made
// it: then deliverOwn has delivered it. What has no operation was saved beside a call.
func (h *callHub) deliverSaved(s Snapshot) {
	if s.Writer.Process != h.process && s.Operation.ID != "" {
		h.deliver(Call{List: s, Changed: true})
	}
}

// deliverOwn delivers a call of this process to its followers.
func (h *callHub) deliverOwn(out Outcome) {
	call := Call{List: out.After, Changed: out.Changed}
	if !call.Changed {
		call.ID = NewID()[:callIDLength]
	}
	h.deliver(call)
}
