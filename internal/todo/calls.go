package todo

import (
	"context"
	"sync"
)

// Call is one write that succeeded, whether or not it changed the list. The
// event stream of write_todos shows calls (docs/spec/variants.md W2, V4).
type Call struct {
	// List is the list as it stood after the call.
	List Snapshot
	// Changed is true when the call made List's revision.
	Changed bool
	// ID distinguishes the calls that left a list at the same revision; empty
	// for the call that made the revision.
	ID string
}

// maxWaitingCalls is how many calls wait for a slow follower; beyond it the
// oldest are dropped.
const maxWaitingCalls = 256

// Calls follows calls as they are made. It receives every call of this process,
// before its caller is answered, and those of other processes that made a revision
// soon after; of several that change one list in quick succession there, it
// may receive only the last. A slow follower loses its oldest calls and delays
// nobody.
type Calls struct {
	feed *feed
	want func(Snapshot) bool

	mu      sync.Mutex
	waiting []Call
	ready   chan struct{} // buffer of one: a call waits, or closed
	closed  bool
}

// Next waits for the next call. It returns ctx's error when ctx ends, and
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

// take removes and returns the oldest waiting call; ok is false when none
// waits. If more calls wait or the follower is closed, it signals ready again
// so that the next call of Next does not block.
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
	c.markClosed()
}

func (c *Calls) markClosed() {
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

// signal sends on a channel with a buffer of one, unless the buffer is full.
func signal(slot chan<- struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}
