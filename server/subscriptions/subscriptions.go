// Package subscriptions tells MCP clients of changes to the resources that they
// subscribed to, in both protocol eras; mcp-go only acknowledges the requests.
//
// A slow client delays nobody and skips to the newest revision: of each resource one
// notification waits. What is refused uses no memory (BAD-INPUT 64). The stream of a
// session begins with a notification of all that it subscribed to before, since each
// may have changed meanwhile.
package subscriptions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// The URIs of the resources; One is followed by the id of a list.
const (
	Current = "todo://list"
	All     = "todo://lists"
	One     = "todo://lists/"

	// maxURI is how many bytes the URI of a resource of ours may have.
	maxURI = 200
	// linger is how long a session keeps its subscriptions without a stream.
	linger = time.Minute
	// readTimeout is how long a read of a current list may take, with the wait for its turn.
	readTimeout = 4 * time.Second
	// maxReading is how many current lists are read at once. A store has few connections.
	maxReading = 2
)

// Config configures a [Hub]. Board is required.
type Config struct {
	Board *board.Board
	// Max is how many subscriptions a session or stream may have, each conversation's
	// todo://list counted; 0 means 100. MaxAll is for all together; 0 means 10,000
	// (BAD-INPUT 64).
	Max, MaxAll int
}

// Client says who subscribes.
type Client struct {
	board.Identity
	// Session is what the session, or the stream of subscriptions/listen, is known by.
	Session      string
	Conversation board.Conversation // whose list todo://list is
	// Listen is the id of the request subscriptions/listen, as JSON; nil for a session.
	Listen json.RawMessage
}

// Hub has all subscriptions. It is safe for concurrent use.
type Hub struct {
	Config
	ctx     context.Context
	stop    context.CancelFunc
	reading chan struct{} // has an element for each read of a current list

	mu      sync.Mutex             // guards also the subscribers; under it no watcher is begun or closed
	clients map[string]*subscriber // by Client.Session
}

// subscriber is what a client subscribed to.
type subscriber struct {
	Client
	wants  map[want]*current
	stream *Stream       // nil while none is open
	ended  time.Time     // when the last stream ended
	wake   chan struct{} // has an element when its stream has something to do
}

// want is a resource that a subscriber wants to be notified of.
type want struct {
	uri          string
	conversation string // the key of the one whose list it is; empty but for [Current]
}

// current is how a want stands.
type current struct {
	pending bool // the client is to be notified, for [Current] if that is another revision now
	// For [Current]:
	who  board.Conversation
	seen int64 // the Seq of its current list, as it was last read; 0 for none, -1 if any is news
}

// New returns a hub without subscriptions. [Hub.Close] must be called.
func New(c Config) *Hub {
	// Ten times what a client shows at once, for a hundred clients; each takes a kilobyte.
	c.Max, c.MaxAll = cmp.Or(c.Max, 100), cmp.Or(c.MaxAll, 10_000)
	r := &Hub{Config: c, clients: make(map[string]*subscriber), reading: make(chan struct{}, maxReading)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close ends all streams.
func (r *Hub) Close() { r.stop() }

// Moved says that a call may have given a conversation another current list, otherwise
// than by beginning it. Its subscribers are then notified.
func (r *Hub) Moved(of board.Identity, conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sub := range r.clients {
		for w, c := range sub.wants {
			if w.uri == Current && w.conversation == conversation && sub.Principal == of.Principal {
				c.pending = true
				board.Signal(sub.wake)
			}
		}
	}
}

// Subscribe adds a resource to what a client wants, or returns why that is refused. The
// client is notified of what changes after that.
func (r *Hub) Subscribe(ctx context.Context, c Client, uri string) error {
	id, one := strings.CutPrefix(uri, One)
	if uri != Current && uri != All && (!one || id == "" || len(uri) > maxURI) {
		return errors.New("no such resource: subscribe to " + Current + ", " + All + " or " + One + "{id}")
	}
	w, now := want{uri: uri}, &current{}
	if uri == Current {
		w.conversation, now.who, now.pending = c.Conversation.Key, c.Conversation, true
	}
	r.mu.Lock()
	sub := r.clients[c.Session]
	known := sub != nil && sub.wants[w] != nil
	r.mu.Unlock()
	if known { // one message may name it a thousand times
		return nil
	}
	if uri == Current {
		now.seen, _ = r.current(ctx, c, c.Conversation) // one that cannot be read is news when it can
	}
	r.mu.Lock()
	stream, err := r.add(c, w, now)
	r.mu.Unlock()
	if stream != nil {
		stream.watch.Do(stream.beginToWatch)
	}
	return err
}

// Unsubscribe removes a resource of a session or stream, or all with the stream when uri
// is empty.
func (r *Hub) Unsubscribe(session, uri string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sub := r.clients[session]; uri == "" && sub != nil && sub.stream != nil {
		sub.stream.end()
	}
	r.remove(session, func(w want) bool { return uri == "" || w.uri == uri })
}

// add adds what a client wants, if there is room, and returns its stream, nil if none is
// open. The caller must lock mu, as for all that follows. Half of all subscriptions is
// kept for others than one who signed in. The subscribers that have had no stream for too
// long are forgotten.
func (r *Hub) add(c Client, w want, now *current) (*Stream, error) {
	one, all, theirs, share := r.clients[c.Session], 0, 0, max(1, r.MaxAll/2)
	for session, sub := range r.clients {
		if sub != one && sub.stream == nil && time.Since(sub.ended) > linger {
			delete(r.clients, session)
			continue
		}
		all += len(sub.wants)
		if c.Subject != "" && sub.Subject == c.Subject && sub.Principal == c.Principal {
			theirs += len(sub.wants)
		}
	}
	switch {
	case one != nil && len(one.wants) >= r.Max:
		return nil, fmt.Errorf("one connection may have %d subscriptions", r.Max)
	case theirs >= share:
		return nil, fmt.Errorf("one user may have %d subscriptions", share)
	case all >= r.MaxAll:
		return nil, fmt.Errorf("all connections together may have %d subscriptions", r.MaxAll)
	}
	sub := r.subscriber(c)
	sub.wants[w] = cmp.Or(sub.wants[w], now) // the one that is there may be pending
	board.Signal(sub.wake)
	return sub.stream, nil
}

// subscriber returns a client's subscriber, and creates it if necessary.
func (r *Hub) subscriber(c Client) *subscriber {
	if r.clients[c.Session] == nil {
		r.clients[c.Session] = &subscriber{Client: c, ended: time.Now(), wants: make(map[want]*current), wake: make(chan struct{}, 1)}
	}
	return r.clients[c.Session]
}

// remove removes what a client wants and which says, and the client if it then wants
// nothing and has no stream.
func (r *Hub) remove(session string, which func(want) bool) {
	sub := r.clients[session]
	if sub == nil {
		return
	}
	maps.DeleteFunc(sub.wants, func(w want, _ *current) bool { return which(w) })
	if sub.stream == nil && len(sub.wants) == 0 {
		delete(r.clients, session)
	}
}
