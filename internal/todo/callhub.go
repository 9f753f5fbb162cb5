package todo

import (
	"context"
	"sync"
	"time"
)

// maxUnannounced is how many calls wait to be announced to other processes;
// further ones are not announced.
const maxUnannounced = 64

// callIDLength is the length of a [Call]'s id, which must differ only from
// those of other calls at the same revision of the same list.
const callIDLength = 6

// callHub delivers calls to their followers: those of this process at once, and
// those that other processes announced when the feed polls for them. Its mutex is
// never locked during a read of the store, so that a call is never delayed.
type callHub struct {
	store   Store
	process string

	mu            sync.Mutex
	followers     map[*Calls]struct{}
	announcedSeq  int64              // Seq of the last announcement read, or unknownSeq
	toAnnounce    chan Call          // nil until the first call that changed nothing
	stopAnnouncer context.CancelFunc // ends announceCalls; nil as long as toAnnounce is
	announcer     sync.WaitGroup
	closed        bool
}

func newCallHub(store Store, process string) *callHub {
	return &callHub{store: store, process: process, followers: make(map[*Calls]struct{})}
}

// unknownSeq stands for the Seq of the newest snapshot or announcement when the
// store could not be read. The next successful read then fetches it, and
// followers of calls receive nothing up to it.
const unknownSeq = -1

// add adds a follower. The first one begins behind the newest announcement.
func (h *callHub) add(c *Calls) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	seq := h.newestAnnouncement(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.followers) == 0 {
		h.announcedSeq = seq
	}
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
	h.closed = true
	followers := h.followers
	h.followers = make(map[*Calls]struct{})
	if h.stopAnnouncer != nil {
		h.stopAnnouncer()
	}
	h.mu.Unlock()
	for c := range followers {
		c.markClosed()
	}
	h.announcer.Wait()
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
// it: then deliverOwn has delivered it.
func (h *callHub) deliverSaved(s Snapshot) {
	if s.Writer.Process != h.process {
		h.deliver(Call{List: s, Changed: true})
	}
}

// deliverOwn delivers a call of this process to its followers. A call that
// changed nothing is also announced, since it made no revision by which other
// processes would see it. A call on no list at all is not announced.
func (h *callHub) deliverOwn(out Outcome) {
	call := Call{List: out.After, Changed: out.Changed}
	if call.Changed {
		h.deliver(call)
		return
	}
	call.ID = NewID()[:callIDLength]
	h.deliver(call)
	if call.List.Revision > 0 {
		h.announce(call)
	}
}

// announce hands a call to the goroutine that announces calls, which it starts
// with the first.
func (h *callHub) announce(call Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if h.toAnnounce == nil {
		h.toAnnounce = make(chan Call, maxUnannounced)
		var ctx context.Context
		ctx, h.stopAnnouncer = context.WithCancel(context.Background())
		h.announcer.Go(func() { h.announceCalls(ctx, h.toAnnounce) })
	}
	select {
	case h.toAnnounce <- call:
	default:
	}
}

// announceCalls announces calls until ctx ends, and then the calls that still
// wait. Announcements are hints: one that fails is not repeated.
func (h *callHub) announceCalls(ctx context.Context, calls <-chan Call) {
	for {
		select {
		case call := <-calls:
			h.announceOne(call)
			continue
		case <-ctx.Done():
		}
		for range len(calls) {
			h.announceOne(<-calls)
		}
		return
	}
}

func (h *callHub) announceOne(call Call) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = h.store.Announce(ctx, Announcement{List: call.List.List.ID, Revision: call.List.Revision, Call: call.ID, Process: h.process})
}

// newestAnnouncement returns the Seq of the newest announcement, 0 when there
// is none, or unknownSeq.
func (h *callHub) newestAnnouncement(ctx context.Context) int64 {
	announced, err := h.store.Announced(ctx, 0)
	switch {
	case err != nil:
		return unknownSeq
	case len(announced) == 0:
		return 0
	}
	return announced[len(announced)-1].Seq
}

// pullAnnounced delivers the calls that other processes announced since the
// last time.
func (h *callHub) pullAnnounced(ctx context.Context) {
	h.mu.Lock()
	followed, after := len(h.followers) > 0, h.announcedSeq
	h.mu.Unlock()
	if !followed {
		return
	}
	if after == unknownSeq {
		h.deliverAnnounced(after, h.newestAnnouncement(ctx))
		return
	}
	announced, err := h.store.Announced(ctx, after)
	if err != nil || len(announced) == 0 {
		return
	}
	var calls []Call
	for _, a := range announced {
		if a.Process == h.process {
			continue
		}
		if list, err := h.store.Load(ctx, a.List, a.Revision); err == nil { // otherwise the revision is no longer kept
			calls = append(calls, Call{List: list, ID: a.Call})
		}
	}
	h.deliverAnnounced(after, announced[len(announced)-1].Seq, calls...)
}

// deliverAnnounced delivers the calls announced between two places, unless the
// place moved during the read: then a follower began anew, and they are not for
// it.
func (h *callHub) deliverAnnounced(after, seq int64, calls ...Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.announcedSeq != after {
		return
	}
	h.announcedSeq = seq
	for _, call := range calls {
		for c := range h.followers {
			c.offer(call)
		}
	}
}
