package subscriptions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/todo"
)

// subscriber is a session, or a stream of subscriptions/listen.
type subscriber struct {
	principal string
	lists     todo.Lists
	wants     map[want]current
	pending   map[string]bool                // the URIs that its client is to be told next
	meta      map[string]any                 // _meta of each notification: the stream's id
	out       chan<- mcp.JSONRPCNotification // nil while no stream is open
	stop      context.CancelFunc             // ends the watching; nil while it does not watch
	wake      context.CancelFunc             // ends its waiting for the next change
	ended     time.Time                      // when the last stream ended
}

// want is a resource that a subscriber wants to be told of.
type want struct {
	uri          string
	conversation string // the key of that whose list it is; empty but for [Current]
}

// current is a conversation and the list that is its current one.
type current struct {
	who  todo.Conversation
	list string // as far as known
	// known is false until list was read, and stale is true when it is to be read anew.
	known, stale bool
}

// wantOf returns what a conversation that subscribes to a URI wants, and the
// conversation if that matters.
func wantOf(uri string, who todo.Conversation) (want, todo.Conversation) {
	if uri != Current {
		who = todo.Conversation{}
	}
	return want{uri, who.Key}, who
}

// watch starts a goroutine that tells a subscriber of changes, if it has a stream and
// wants anything, or wakes the one there is.
func (r *Room) watch(sub *subscriber) {
	r.mu.Lock()
	sub.awake()
	if sub.out == nil || len(sub.wants) == 0 || sub.stop != nil {
		r.mu.Unlock()
		return
	}
	var ctx context.Context
	ctx, sub.stop = context.WithCancel(r.ctx)
	r.watching[sub] = struct{}{}
	out := sub.out
	r.mu.Unlock()
	watcher := sub.lists.Watch(func(s todo.Snapshot) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return sub.isTouchedBy(s)
	})
	r.work.Go(func() {
		defer watcher.Close()
		r.notify(ctx, sub, watcher, out)
		r.mu.Lock()
		defer r.mu.Unlock()
		if sub.stop == nil { // no other goroutine has begun
			delete(r.watching, sub)
		}
	})
}

// notify tells a subscriber of changes until ctx ends.
func (r *Room) notify(ctx context.Context, sub *subscriber, watcher *todo.Watcher, out chan<- mcp.JSONRPCNotification) {
	var changed []todo.Snapshot
	for {
		next, wake := context.WithCancel(ctx)
		r.mu.Lock()
		if ctx.Err() == nil { // else it may be the wake of the next stream's goroutine
			sub.wake = wake
		}
		r.mu.Unlock()
		r.learn(ctx, sub, changed)
		for _, uri := range r.pending(ctx, sub) {
			select {
			case out <- sub.notification(uri):
			case <-ctx.Done():
			}
		}
		var err error
		changed, err = watcher.Next(next)
		wake()
		if ctx.Err() != nil || errors.Is(err, todo.ErrClosed) {
			return
		}
	}
}

// pending returns what a subscriber is to be told now.
func (r *Room) pending(ctx context.Context, sub *subscriber) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return nil // it is for the next stream
	}
	defer clear(sub.pending)
	return slices.Collect(maps.Keys(sub.pending))
}

// learn makes pending what changed. Before, it reads which lists are current for the
// conversations of which that is not known, or that may have got one that changed.
// What cannot be read now is read in the next round.
func (r *Room) learn(ctx context.Context, sub *subscriber, changed []todo.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w, c := range maps.Clone(sub.wants) {
		if !c.mayGet(w, changed...) {
			continue
		}
		r.mu.Unlock()
		held, err := r.held(ctx, sub.lists, c.who)
		r.mu.Lock()
		if sub.wants[w] != c {
			continue // a call has said it meanwhile
		}
		if err != nil && !errors.Is(err, todo.ErrNotFound) {
			c.stale = true
			sub.wants[w] = c
			continue
		}
		if c.known && c.list != held.List.ID {
			sub.pending[Current] = true
		}
		sub.wants[w] = current{who: c.who, list: held.List.ID, known: true}
	}
	for w, c := range sub.wants {
		if slices.ContainsFunc(changed, func(s todo.Snapshot) bool { return c.isTouchedBy(w, s) }) {
			sub.pending[w.uri] = true
		}
	}
}

// held reads the current list of a conversation, when it has its turn, or fails within
// [readInterval].
func (r *Room) held(ctx context.Context, lists todo.Lists, who todo.Conversation) (todo.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, readInterval)
	defer cancel()
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return todo.Snapshot{}, ctx.Err()
	}
	return lists.Held(ctx, todo.Target{Conversation: who})
}

// end ends the stream and the watching. The caller must lock the room's mu, as for
// what follows.
func (s *subscriber) end() {
	if s.stop != nil {
		s.stop()
	}
	s.stop, s.out, s.ended = nil, nil, time.Now()
}

// awake ends the waiting for a change.
func (s *subscriber) awake() {
	if s.wake != nil {
		s.wake()
	}
}

// isTouchedBy reports whether a change is one that the subscriber is told of, or that
// must be looked at.
func (s *subscriber) isTouchedBy(changed todo.Snapshot) bool {
	for w, c := range s.wants {
		if c.isTouchedBy(w, changed) || c.mayGet(w, changed) {
			return true
		}
	}
	return false
}

// isTouchedBy reports whether a change is one of what is wanted.
func (c current) isTouchedBy(w want, changed todo.Snapshot) bool {
	id, one := strings.CutPrefix(w.uri, One)
	return w.uri == All || one && id == changed.List.ID || w.uri == Current && c.list == changed.List.ID
}

// mayGet reports whether the current list must be read: because it is not known, or
// because the conversation may have got one that changed, which it began, perhaps in
// another process, or which has the name that it was given.
func (c current) mayGet(w want, changed ...todo.Snapshot) bool {
	if w.uri != Current {
		return false
	}
	for _, s := range changed {
		if c.list != s.List.ID && (c.who.Key == s.List.Conversation || c.who.Name != "" && c.who.Name == s.List.Name) {
			return true
		}
	}
	return !c.known || c.stale
}

func (s *subscriber) notification(uri string) mcp.JSONRPCNotification {
	return mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourceUpdated,
		Params: mcp.NotificationParams{Meta: s.meta, AdditionalFields: map[string]any{"uri": uri}},
	}}
}
