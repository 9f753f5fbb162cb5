// Package subscriptions tells MCP clients of changes to resources that they subscribed to, in both versions of the
// protocol; mcp-go only acknowledges the requests.
//
// A slow client delays nobody and skips to the newest revision: at most one notification waits for each resource. A
// refused subscription uses no memory (BAD-INPUT 64). A session's stream begins with a notification for each earlier
// subscription, since its resource may have changed meanwhile.
package subscriptions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// The URIs of the resources; One is followed by the id of a list.
const (
	Current = "todo://list"
	All     = "todo://lists"
	One     = "todo://lists/"

	maxURI      = 200             // bytes
	linger      = time.Minute     // how long a session keeps its subscriptions without a stream
	readTimeout = 4 * time.Second // of reading a current list
)

// Config configures a [Hub]. Board is required.
type Config struct {
	Board *board.Board
	// Max is how many subscriptions a session or stream may have; 0 means 100. MaxAll is the limit for all of them
	// together; 0 means 10,000 (BAD-INPUT 64).
	Max, MaxAll int
}

// Client says who subscribes.
type Client struct {
	board.Identity
	Session      string             // identifies the session, or the stream of subscriptions/listen
	Conversation board.Conversation // its list is todo://list; in a session, the last one to subscribe to todo://list
	Listen       json.RawMessage    // the id of the request subscriptions/listen; nil for a session
}

// Hub has all subscriptions. It is safe for concurrent use.
type Hub struct {
	Config
	ctx  context.Context
	stop context.CancelFunc

	mu      sync.Mutex             // also guards the subscribers; do not open or close a watcher while holding it
	clients map[string]*subscriber // by Client.Session
}

type subscriber struct {
	Client
	wants  map[string]bool // by URI: whether to notify the client, of [Current] only if its Seq differs from seen
	seen   int64           // Seq of the current list when last read; 0: there was no list, -1: notify anyway
	stream *Stream         // nil while none is open
	ended  time.Time       // when the last stream ended
	wake   chan struct{}   // has an element when its stream has something to do
}

// New returns a hub without subscriptions. [Hub.Close] must be called.
func New(c Config) *Hub {
	// Clients show about ten lists at once. Each subscription takes a kilobyte.
	c.Max, c.MaxAll = cmp.Or(c.Max, 100), cmp.Or(c.MaxAll, 10_000)
	r := &Hub{Config: c, clients: make(map[string]*subscriber)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close ends all streams.
func (r *Hub) Close() { r.stop() }

// Moved notifies the subscribers of a conversation that a call may have moved to another existing list.
func (r *Hub) Moved(of board.Identity, conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sub := range r.clients {
		if sub.Principal == of.Principal && sub.Conversation.Key == conversation {
			sub.notify(Current)
		}
	}
}

// notify makes the stream notify the client of each of uris that it wants. The caller must hold the hub's mu.
func (s *subscriber) notify(uris ...string) {
	for _, uri := range uris {
		if _, isWanted := s.wants[uri]; isWanted {
			s.wants[uri] = true
			board.Signal(s.wake)
		}
	}
}

// Subscribe adds a resource to a client's subscriptions, or returns why the subscription is refused. The client is
// notified of later changes.
func (r *Hub) Subscribe(ctx context.Context, c Client, uri string) error {
	id, one := strings.CutPrefix(uri, One)
	if uri != Current && uri != All && (!one || id == "" || len(uri) > maxURI) {
		return errors.New("no such resource: subscribe to " + Current + ", " + All + " or " + One + "{id}")
	}
	stream, isNew, err := r.add(c, uri)
	if stream != nil {
		stream.watch.Do(stream.beginToWatch)
	}
	if isNew && uri == Current {
		seen, _ := r.current(ctx, c) // after an error the next read counts as a change
		r.mu.Lock()
		defer r.mu.Unlock()
		if sub := r.clients[c.Session]; sub != nil {
			sub.seen = seen
		}
	}
	return err
}

// Unsubscribe removes a session's or stream's subscription to uri; if uri is empty, it removes all and ends the stream.
func (r *Hub) Unsubscribe(session, uri string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sub := r.clients[session]; uri == "" && sub != nil && sub.stream != nil {
		sub.stream.end()
	}
	r.remove(session, func(wanted string) bool { return uri == "" || wanted == uri })
}

// add adds a new subscription if there is room, and returns the client's stream: nil if none is open or nothing was
// added. A signed-in user may have half of all subscriptions. add forgets clients that had no stream for linger.
func (r *Hub) add(c Client, uri string) (stream *Stream, isNew bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, all, theirs, share := r.clients[c.Session], 0, 0, max(1, r.MaxAll/2)
	if one != nil && (uri != Current || one.Conversation.Key == c.Conversation.Key) {
		if _, isKnown := one.wants[uri]; isKnown { // one message may name a resource a thousand times
			return nil, false, nil
		}
	}
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
		return nil, false, fmt.Errorf("one connection may have %d subscriptions", r.Max)
	case theirs >= share:
		return nil, false, fmt.Errorf("one user may have %d subscriptions", share)
	case all >= r.MaxAll:
		return nil, false, fmt.Errorf("all connections together may have %d subscriptions", r.MaxAll)
	}
	sub := r.subscriber(c)
	if sub.wants[uri] = false; uri == Current {
		sub.Conversation = c.Conversation
	}
	return sub.stream, true, nil
}

// subscriber returns a client's subscriber, and makes it for an unknown client. The caller must hold mu.
func (r *Hub) subscriber(c Client) *subscriber {
	if r.clients[c.Session] == nil {
		r.clients[c.Session] = &subscriber{Client: c, ended: time.Now(), wants: make(map[string]bool), wake: make(chan struct{}, 1)}
	}
	return r.clients[c.Session]
}

// remove removes a client's subscriptions to each URI that the function argument accepts. It also removes a client that
// is left without subscriptions and stream. The caller must hold mu.
func (r *Hub) remove(session string, which func(uri string) bool) {
	sub := r.clients[session]
	if sub == nil {
		return
	}
	maps.DeleteFunc(sub.wants, func(uri string, _ bool) bool { return which(uri) })
	if sub.stream == nil && len(sub.wants) == 0 {
		delete(r.clients, session)
	}
}

// Stream sends a client its notifications.
type Stream struct {
	hub *Hub
	sub *subscriber
	ctx context.Context // ends with the stream
	end context.CancelFunc

	watch   sync.Once // starts watcher with the first subscription; most clients have none
	watcher *board.Follower
}

// Open opens a client's stream and ends its previous one. [Stream.Close] must be called.
func (r *Hub) Open(c Client) *Stream {
	s := &Stream{hub: r}
	s.ctx, s.end = context.WithCancel(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.sub = r.subscriber(c)
	if s.sub.stream != nil {
		s.sub.stream.end()
	}
	s.sub.stream = s
	s.sub.seen = -1
	s.sub.notify(slices.Collect(maps.Keys(s.sub.wants))...)
	return s
}

// Close ends the stream.
func (s *Stream) Close() {
	s.end()
	if s.watch.Do(func() {}); s.watcher != nil {
		s.watcher.Close()
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.sub.stream == s {
		s.sub.stream, s.sub.ended = nil, time.Now()
		s.hub.remove(s.sub.Session, func(string) bool { return s.sub.Listen != nil })
	}
}

// Serve sends notifications of changes until ctx or the stream ends, or sending fails.
func (s *Stream) Serve(ctx context.Context, send func(mcp.JSONRPCNotification) error) error {
	defer context.AfterFunc(ctx, s.end)()
	for {
		select {
		case <-s.sub.wake:
		case <-s.ctx.Done():
			return nil
		}
		if s.ctx.Err() != nil {
			board.Signal(s.sub.wake) // leave the signal to the next stream
			return nil
		}
		s.watch.Do(s.beginToWatch)
		for _, uri := range s.due() {
			params := mcp.NotificationParams{AdditionalFields: map[string]any{"uri": uri}}
			if s.sub.Listen != nil {
				params.Meta = map[string]any{mcp.MetaKeySubscriptionID: s.sub.Listen}
			}
			if err := send(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION,
				Notification: mcp.Notification{Method: mcp.MethodNotificationResourceUpdated, Params: params}}); err != nil {
				return err
			}
		}
	}
}

func (s *Stream) beginToWatch() {
	s.watcher = s.hub.Board.For(s.sub.Identity).Watch(func(l todo.Snapshot) bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		// Any list may have become a conversation's current one, perhaps in another process.
		s.sub.notify(Current, All, One+l.List.ID)
		return false // so that the watcher keeps nothing
	})
}

// due returns the URIs that the client is to be notified of now. [Current] is among them only if the current list has
// changed since it was last read, or cannot be read.
func (s *Stream) due() (uris []string) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.sub.wants[Current] {
		s.sub.wants[Current] = false
		client := s.sub.Client
		s.hub.mu.Unlock()
		seq, err := s.hub.current(s.ctx, client)
		s.hub.mu.Lock()
		if s.ctx.Err() != nil {
			return nil // the next stream sends the notifications
		}
		if err != nil || seq != s.sub.seen {
			uris = append(uris, Current)
		}
		s.sub.seen = seq
	}
	for uri, isDue := range s.sub.wants {
		if isDue && uri != Current {
			s.sub.wants[uri] = false
			uris = append(uris, uri)
		}
	}
	slices.Sort(uris)
	return uris
}

// current reads the Seq of the current list of a client's conversation, 0 for none. It fails after [readTimeout].
func (r *Hub) current(ctx context.Context, c Client) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	list, err := r.Board.For(c.Identity).Current(ctx, board.Target{Conversation: c.Conversation})
	return list.Seq, board.PassOver(err)
}
