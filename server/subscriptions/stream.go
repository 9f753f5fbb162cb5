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
	wants     map[want]*current
	pending   map[string]bool                // the URIs that its client is notified of next
	meta      map[string]any                 // _meta of each notification: the stream's id
	out       chan<- mcp.JSONRPCNotification // nil while no stream is open
	ended     time.Time                      // when the last stream ended
	stop      context.CancelFunc             // ends the watching; nil while it does not watch
	wake      chan struct{}                  // has an element when there is something to do
}

// want is a resource that a subscriber wants to be notified of.
type want struct {
	uri          string
	conversation string // the key of the one whose list it is; empty but for [Current]
}

// current is a conversation and its current list, for [Current].
type current struct {
	who          todo.Conversation
	list         string   // as it was last known
	known, stale bool     // the list was read; it must be read, perhaps again
	missed       []string // the lists that changed before it was known, up to maxMissed
}

// maxMissed is how many changes of lists are remembered for a client whose current list
// is not known. With more it is notified, whatever its list is.
const maxMissed = 64

// wantOf returns what a conversation that subscribes to a URI wants, and the
// conversation if that matters.
func wantOf(uri string, who todo.Conversation) (want, todo.Conversation) {
	if uri != Current {
		who = todo.Conversation{}
	}
	return want{uri, who.Key}, who
}

// signal makes the subscriber's goroutine look for what is pending or stale. The caller
// must lock the room's mu, as for all that follows but watch and notify.
func (s *subscriber) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will, or there is no goroutine
	}
}

// endStream ends a subscriber's stream, if it has one, and the watching.
func (r *Room) endStream(sub *subscriber) {
	if sub.stop != nil {
		sub.stop()
	}
	sub.stop, sub.out, sub.ended = nil, nil, time.Now()
	delete(r.watching, sub)
}

// watch starts a goroutine that notifies a subscriber of changes, if it has a stream
// and wants anything, or wakes the one there is.
func (r *Room) watch(sub *subscriber) {
	r.mu.Lock()
	sub.signal()
	if sub.out == nil || len(sub.wants) == 0 || sub.stop != nil {
		r.mu.Unlock()
		return
	}
	ctx, stop := context.WithCancel(r.ctx)
	sub.stop, sub.wake = stop, make(chan struct{}, 1)
	sub.signal()
	r.watching[sub] = true
	out, wake := sub.out, sub.wake
	r.mu.Unlock()
	watcher := sub.lists.Watch(func(s todo.Snapshot) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		sub.changed(s)
		return false // the goroutine is woken otherwise
	})
	r.work.Go(func() {
		defer watcher.Close()
		for {
			select {
			case <-wake:
				r.notify(ctx, sub, out)
			case <-ctx.Done():
				return
			}
		}
	})
}

// changed makes pending or stale what a change of a list is about.
func (s *subscriber) changed(list todo.Snapshot) {
	for w, c := range s.wants {
		switch id, one := strings.CutPrefix(w.uri, One); {
		case w.uri == All, one && id == list.List.ID, w.uri == Current && c.list == list.List.ID:
			s.pending[w.uri] = true
		case w.uri == Current && (!c.known || c.stale || c.mayGet(list.List)):
			c.stale = true // it may have begun this list, perhaps in another process
			if !c.known && len(c.missed) < maxMissed {
				c.missed = append(c.missed, list.List.ID)
			}
		default:
			continue
		}
		s.signal()
	}
}

// mayGet reports whether a list may have become the conversation's: one that it began or
// that has the name that it was given.
func (c *current) mayGet(l todo.List) bool {
	return c.who.Key == l.Conversation || c.who.Name != "" && c.who.Name == l.Name
}

// notify notifies a subscriber of what is pending, after it has read which lists are
// current where that is stale. What cannot be read is read the next time.
func (r *Room) notify(ctx context.Context, sub *subscriber, out chan<- mcp.JSONRPCNotification) {
	r.mu.Lock()
	for w, c := range maps.Clone(sub.wants) {
		if w.uri != Current || !c.stale {
			continue
		}
		before := *c
		c.stale = false
		r.mu.Unlock()
		now, err := r.readCurrent(ctx, sub.lists, before.who)
		r.mu.Lock()
		switch {
		case sub.wants[w] != c: // it was unsubscribed meanwhile
		case err != nil && !errors.Is(err, todo.ErrNotFound):
			c.stale = true
			if ctx.Err() != nil {
				sub.signal() // it is for the next stream
			}
		case c.list == before.list: // else a call has said it meanwhile
			if before.known && before.list != now.List.ID || len(c.missed) == maxMissed || slices.Contains(c.missed, now.List.ID) {
				sub.pending[Current] = true
			}
			*c = current{who: c.who, list: now.List.ID, known: true, stale: c.stale}
		}
	}
	var uris []string
	if ctx.Err() == nil { // else they are for the next stream
		uris = slices.Collect(maps.Keys(sub.pending))
		clear(sub.pending)
	}
	r.mu.Unlock()
	for _, uri := range uris {
		select {
		case out <- sub.notification(uri):
		case <-ctx.Done():
		}
	}
}

// readCurrent reads the current list of a conversation, when it has its turn, or fails within
// [readInterval].
func (r *Room) readCurrent(ctx context.Context, lists todo.Lists, who todo.Conversation) (todo.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, readInterval)
	defer cancel()
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return todo.Snapshot{}, ctx.Err()
	}
	return lists.Current(ctx, todo.Target{Conversation: who})
}

func (s *subscriber) notification(uri string) mcp.JSONRPCNotification {
	return mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourceUpdated,
		Params: mcp.NotificationParams{Meta: s.meta, AdditionalFields: map[string]any{"uri": uri}},
	}}
}
