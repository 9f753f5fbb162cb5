package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"todo-mcp/internal/todo"
)

// A session's stream may be at another server than its requests, or go on there. So
// where several share a store, it keeps what sessions subscribed to, and the server
// that has the stream reads that.

const (
	// readInterval is how often the store is read without a hint, and how long one use
	// of it may take, the wait for its turn included.
	readInterval = 4 * time.Second
	// hintInterval is the least time between two readings.
	hintInterval = 200 * time.Millisecond
)

// follow reads again and again, until the room is closed, what the sessions with a
// stream here subscribed to elsewhere, and which lists conversations got there.
func (r *Room) follow() {
	hints := make(chan struct{}, 1)
	r.work.Go(func() {
		_ = r.Store.WatchSubscriptions(r.ctx, func() { // the clock hints while it fails
			select {
			case hints <- struct{}{}:
			default:
			}
		})
	})
	clock := time.NewTicker(readInterval)
	defer clock.Stop()
	for {
		select {
		case <-hints:
		case <-clock.C:
		case <-r.ctx.Done():
			return
		}
		r.refresh()
		select {
		case <-time.After(hintInterval):
		case <-r.ctx.Done():
		}
	}
}

func (r *Room) refresh() {
	var streaming []string
	r.mu.Lock()
	for session, sub := range r.sessions {
		if sub.out != nil {
			streaming = append(streaming, session)
		}
	}
	for sub := range r.watching {
		for w, c := range sub.wants {
			if w.uri == Current {
				c.stale = true
				sub.signal()
			}
		}
	}
	r.mu.Unlock()
	if len(streaming) > 0 {
		r.read(r.ctx, streaming...)
	}
}

// read makes what the store has of sessions what they want here, as far as there is
// room. What is new may have changed since, so that the client is notified of it.
// Nothing changes if the store cannot be read: it is read again soon.
func (r *Room) read(ctx context.Context, sessions ...string) {
	ctx, cancel := context.WithTimeout(ctx, readInterval)
	defer cancel()
	found, err := r.Store.SubscriptionsOf(ctx, sessions)
	if err != nil {
		return
	}
	type key struct {
		session string
		want
	}
	stored := make(map[key]bool)
	for _, s := range found {
		stored[key{s.Session, want{s.URI, s.Conversation.Key}}] = true
	}
	var more []*subscriber
	r.mu.Lock()
	for _, session := range sessions {
		r.remove(session, func(w want) bool { return !stored[key{session, w}] })
	}
	for _, s := range found {
		sub, w := r.sessions[s.Session], want{s.URI, s.Conversation.Key}
		if sub != nil && sub.wants[w] == nil && r.add(sub, w, s.Conversation) == nil {
			sub.pending[s.URI] = true
			more = append(more, sub)
		}
	}
	r.mu.Unlock()
	for _, sub := range more {
		r.watch(sub)
	}
}

// inStore does something with the store, if there is one; what is said of a subscription
// that it fails for.
func (r *Room) inStore(ctx context.Context, what string, do func(context.Context) error) error {
	if r.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readInterval)
	defer cancel()
	err := do(ctx)
	switch {
	case errors.Is(err, todo.ErrTooManySubscriptions):
		return fmt.Errorf(tooMany, r.Max)
	case err != nil:
		r.Log.Error("a subscription could not be "+what, "error", err)
		return fmt.Errorf("the subscription could not be %s; the server's log says why", what)
	}
	return nil
}
