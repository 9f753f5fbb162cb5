package todo

import (
	"context"
	"sync"
)

// Call is one write that was made, whether or not it changed the list: what
// write_todos' event stream shows (VARIANTS.md W2, V4).
type Call struct {
	// List is the list as it stood after the call.
	List Snapshot
	// Changed says that the call made List's revision.
	Changed bool
	// ID tells the calls apart that left a list at the same revision; empty for
	// the one that made it.
	ID string
}

// maxWaitingCalls is how many calls wait for a follower that is slow; past it
// the oldest are dropped.
const maxWaitingCalls = 256

// Calls follows calls as they are made: those of this process before their
// callers are answered, each of them; those of other processes soon after, and
// of several that changed one list at once perhaps only the last. A follower
// that is slow loses its oldest calls and delays nobody.
type Calls struct {
	feed *feed
	want func(Snapshot) bool

	mu      sync.Mutex
	waiting []Call
	ready   chan struct{} // one slot: something is waiting, or closed
	closed  bool
}

// Next returns the next call. It returns ctx's error when that ends, and
// [ErrClosed] when the follower or its board is closed.
func (c *Calls) Next(ctx context.Context) (Call, error) {
	for {
		select {
		case <-c.ready:
		case <-ctx.Done():
			return Call{}, ctx.Err()
		}
		call, ok, closed := c.take()
		switch {
		case closed:
			return Call{}, ErrClosed
		case ok:
			return call, nil
		}
	}
}

// take returns the call that waits longest. When there are more, or the
// follower is closed, ready is signalled again for the next one who asks.
func (c *Calls) take() (call Call, ok, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok = len(c.waiting) > 0; ok && !c.closed {
		call, c.waiting = c.waiting[0], c.waiting[1:]
	}
	if c.closed || len(c.waiting) > 0 {
		signal(c.ready)
	}
	return call, ok, c.closed
}

// Close ends the follower.
func (c *Calls) Close() {
	c.feed.removeCalls(c)
	c.shut()
}

func (c *Calls) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	signal(c.ready)
}

func (c *Calls) offer(call Call) {
	if !c.want(call.List) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == maxWaitingCalls {
		c.waiting = c.waiting[1:]
	}
	c.waiting = append(c.waiting, call)
	signal(c.ready)
}

// signal fills a channel of one slot, unless it is full.
func signal(slot chan<- struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}
