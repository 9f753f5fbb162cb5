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

// follow refreshes on each hint of the store, and without one at each readInterval, until
// the room is closed.
func (r *Room) follow() {
	hints := make(chan struct{}, 1)
	r.work.Go(func() {
		_ = r.Store.WatchSubscriptions(r.ctx, func() { signal(hints) }) // the clock hints while it fails
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

// refresh reads what the sessions with a stream here subscribed to, and makes stale which
// lists are current.
func (r *Room) refresh() {
	var sessions []string
	r.mu.Lock()
	for session, sub := range r.clients {
		if sub.stream != nil && sub.Listen == nil {
			sessions = append(sessions, session)
		}
		for w, c := range sub.wants {
			if w.uri == Current {
				c.stale = true
				sub.signal()
			}
		}
	}
	r.mu.Unlock()
	if len(sessions) > 0 {
		r.read(sessions...)
	}
}

// read makes what the store has of sessions what they want here, as far as there is
// room. What is new may have changed since, so that the client is notified of it.
// Nothing changes if the store cannot be read: it is read again soon.
func (r *Room) read(sessions ...string) {
	ctx, cancel := context.WithTimeout(r.ctx, readInterval)
	defer cancel()
	found, err := r.Store.SubscriptionsOf(ctx, sessions)
	if err != nil {
		return
	}
	stored := make(map[string]map[want]todo.Conversation)
	for _, session := range sessions {
		stored[session] = make(map[want]todo.Conversation)
	}
	for _, s := range found {
		stored[s.Session][want{s.URI, s.Conversation.Key}] = s.Conversation
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for session, wants := range stored {
		r.remove(session, func(w want) bool { _, has := wants[w]; return !has })
		sub := r.clients[session]
		for w, who := range wants {
			if sub != nil && sub.wants[w] == nil && r.fits(sub) == nil {
				sub.wants[w] = &current{who: who, stale: w.uri == Current}
				sub.pending[w.uri] = true
				sub.signal()
			}
		}
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
