// Package subscriptions tells MCP clients of changes to the resources that they
// subscribed to, in both protocol eras; mcp-go only acknowledges the requests.
//
// A slow client delays nobody and skips to the newest revision: of each resource one
// notification waits. What is refused uses no memory (BAD-INPUT 64). The stream of a
// session begins with a notification of all that it subscribed to before, since each
// may have changed meanwhile.
package subscriptions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"todo-mcp/internal/todo"
)

// The URIs of the resources; One is followed by the id of a list.
const (
	Current = "todo://list"
	All     = "todo://lists"
	One     = "todo://lists/"
)

// maxURI is how many bytes the URI of a resource of ours may have.
const maxURI = 200

// Config configures a [Room]. All but Store is required.
type Config struct {
	Board *todo.Board
	// Max is how many subscriptions a session or stream may have; todo://list counts
	// once for each conversation. MaxAll is for all together.
	Max, MaxAll int
	// Linger is how long a session keeps its subscriptions without a stream, in case
	// its client opens another one.
	Linger time.Duration
	// Store keeps the subscriptions of sessions, where other servers share it; nil
	// where none does.
	Store todo.Subscriptions
	Log   *slog.Logger
}

// Client says who subscribes.
type Client struct {
	todo.Identity
	// Session is what the session, or the stream of subscriptions/listen, is known by
	// here and in a store: nobody can call with it.
	Session string
	// Conversation is the one whose list todo://list is.
	Conversation todo.Conversation
	// Listen is the id of the request subscriptions/listen, as JSON; nil for a session.
	Listen json.RawMessage
}

// Room has all subscriptions. It is safe for concurrent use.
type Room struct {
	Config
	ctx     context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
	reading chan struct{} // has an element for each read of a current list

	mu      sync.Mutex             // guards also the subscribers; under it no watcher is begun or closed
	clients map[string]*subscriber // by Client.Session
}

// subscriber is what a client subscribed to.
type subscriber struct {
	Client
	wants   map[want]*current
	pending map[string]bool // the URIs that it is notified of next
	stream  *Stream         // nil while none is open
	ended   time.Time       // when the last stream ended
	wake    chan struct{}   // has an element when its stream has something to do
}

// want is a resource that a subscriber wants to be notified of.
type want struct {
	uri          string
	conversation string // the key of the one whose list it is; empty but for [Current]
}

// current is a conversation and its current list, for [Current].
type current struct {
	who   todo.Conversation
	list  string // as it was last read
	stale bool   // it may be another list now
}

// maxReading is how many current lists are read at once. A hint makes all that are
// subscribed to be read, by as many goroutines as there are streams, and a store has
// few connections.
const maxReading = 2

// New returns a room without subscriptions. [Room.Close] must be called.
func New(c Config) *Room {
	r := &Room{Config: c, clients: make(map[string]*subscriber), reading: make(chan struct{}, maxReading)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	if c.Store != nil {
		r.work.Go(r.follow)
	}
	return r
}

// Close ends all streams, and waits until nothing is read from the store any more.
func (r *Room) Close() {
	r.stop()
	r.work.Wait()
}

// Subscribe adds a resource to what a client wants, or returns why that is refused. The
// client is notified of what changes after that.
func (r *Room) Subscribe(ctx context.Context, c Client, uri string) error {
	id, one := strings.CutPrefix(uri, One)
	if uri != Current && uri != All && (!one || id == "" || len(uri) > maxURI) {
		return errors.New("no such resource: subscribe to " + Current + ", " + All + " or " + One + "{id}")
	}
	w, now := want{uri: uri}, &current{}
	if uri == Current {
		w.conversation, now = c.Conversation.Key, &current{who: c.Conversation, stale: true}
		if !r.wants(c.Session, w) { // else one message could make it be read a thousand times
			now.list, _ = r.current(ctx, c, c.Conversation) // one that cannot be read is news when it can
		}
	}
	r.mu.Lock()
	sub, isNew, err := r.add(c, w, now)
	var stream *Stream
	if err == nil {
		stream = sub.stream
	}
	r.mu.Unlock()
	if stream != nil {
		stream.watch.Do(stream.beginToWatch)
	}
	if err != nil || c.Listen != nil {
		return err
	}
	err = r.inStore(ctx, "stored", func(ctx context.Context) error {
		return r.Store.Subscribe(ctx, todo.Subscription{Session: c.Session, URI: uri, Conversation: now.who}, r.Max)
	})
	if err != nil && isNew {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.remove(c.Session, func(have want) bool { return have == w })
	}
	return err
}

// wants reports whether a client wants a resource already.
func (r *Room) wants(session string, w want) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	sub := r.clients[session]
	return sub != nil && sub.wants[w] != nil
}

// Unsubscribe removes a resource of a client, also at other servers, or all with the
// client's stream when uri is empty. With an error it removes no resource.
func (r *Room) Unsubscribe(ctx context.Context, c Client, uri string) error {
	r.mu.Lock()
	if sub := r.clients[c.Session]; uri == "" && sub != nil && sub.stream != nil {
		sub.stream.end()
	}
	r.mu.Unlock()
	if c.Listen == nil {
		err := r.inStore(ctx, "removed", func(ctx context.Context) error { return r.Store.Unsubscribe(ctx, c.Session, uri) })
		if err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c.Session, func(w want) bool { return uri == "" || w.uri == uri })
	return nil
}

// Moved says that a call may have given a conversation another current list, otherwise
// than by beginning it. If so its subscribers are notified.
func (r *Room) Moved(of todo.Identity, conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sub := range r.clients {
		if c := sub.wants[want{Current, conversation}]; c != nil && sub.Principal == of.Principal {
			c.stale = true
			sub.signal()
		}
	}
}

// add adds what a client wants, if there is room, and reports whether it is new. The
// caller must lock mu, as for all that follows.
func (r *Room) add(c Client, w want, now *current) (sub *subscriber, isNew bool, err error) {
	sub = r.clients[c.Session]
	if sub != nil && sub.wants[w] != nil {
		return sub, false, nil
	}
	if err := r.fits(sub); err != nil {
		return nil, false, err
	}
	sub = r.subscriber(c)
	sub.wants[w] = now
	sub.signal()
	return sub, true, nil
}

const tooMany = "one connection may have %d subscriptions"

// fits returns an error unless a subscriber, nil for a new one, may have one more
// subscription. The others that have had no stream for too long are forgotten.
func (r *Room) fits(one *subscriber) error {
	all := 0
	for session, sub := range r.clients {
		if sub != one && sub.stream == nil && time.Since(sub.ended) > r.Linger {
			delete(r.clients, session)
			continue
		}
		all += len(sub.wants)
	}
	switch {
	case one != nil && len(one.wants) >= r.Max:
		return fmt.Errorf(tooMany, r.Max)
	case all >= r.MaxAll:
		return fmt.Errorf("all connections together may have %d subscriptions", r.MaxAll)
	}
	return nil
}

// subscriber returns a client's subscriber, and creates it if necessary.
func (r *Room) subscriber(c Client) *subscriber {
	if r.clients[c.Session] == nil {
		r.clients[c.Session] = &subscriber{Client: c, ended: time.Now(), wants: make(map[want]*current),
			pending: make(map[string]bool), wake: make(chan struct{}, 1)}
	}
	return r.clients[c.Session]
}

// remove removes what a client wants and which says, and the client if it then wants
// nothing and has no stream.
func (r *Room) remove(session string, which func(want) bool) {
	sub := r.clients[session]
	if sub == nil {
		return
	}
	maps.DeleteFunc(sub.wants, func(w want, _ *current) bool { return which(w) })
	if sub.stream == nil && len(sub.wants) == 0 {
		delete(r.clients, session)
	}
}

// signal makes a subscriber's stream look for what is pending or stale.
func (s *subscriber) signal() { signal(s.wake) } // nothing, if it will, or there is no stream

// signal sends on a channel with a buffer of one, unless the buffer is full.
func signal(slot chan<- struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}
