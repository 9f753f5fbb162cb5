// Package subscriptions tells MCP clients of changes to the resources that they
// subscribed to, in both protocol eras; mcp-go only acknowledges the requests.
//
// A slow client delays nobody and skips to the newest revision: each stream has its
// own watcher and goroutine. What is refused uses no memory (BAD-INPUT 64). A stream
// begins with a notification of all that its session subscribed to before, since each
// may have changed meanwhile.
package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/todo"
)

// The URIs of the resources. That of one list is One with the list's id behind it.
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
	// Session is what the session is known by here and in a store: nobody can call
	// with it.
	Session string
	// Conversation is the one whose list todo://list is.
	Conversation todo.Conversation
}

// Room has all subscriptions. It is safe for concurrent use.
type Room struct {
	Config
	ctx     context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
	reading chan struct{} // has an element for each read of a current list

	mu       sync.Mutex // guards also the subscribers; under it no watcher is begun or closed
	sessions map[string]*subscriber
	watching map[*subscriber]bool // those with a stream that subscribed to anything
	reserved int                  // subscriptions of streams of subscriptions/listen
}

// maxReading is how many current lists are read at once. A hint makes all that are
// subscribed to be read, by as many goroutines as there are streams, and a store has
// few connections.
const maxReading = 2

// New returns a room without subscriptions. [Room.Close] must be called.
func New(c Config) *Room {
	r := &Room{Config: c, sessions: make(map[string]*subscriber), watching: make(map[*subscriber]bool),
		reading: make(chan struct{}, maxReading)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	if c.Store != nil {
		r.work.Go(r.follow)
	}
	return r
}

// Close ends all subscriptions and waits for their goroutines.
func (r *Room) Close() {
	r.stop()
	r.work.Wait()
}

// Open notifies a session of changes on its new stream, until ctx ends.
func (r *Room) Open(ctx context.Context, c Client, out chan<- mcp.JSONRPCNotification) {
	r.mu.Lock()
	sub := r.session(c)
	r.endStream(sub)
	sub.out = out
	for w, c := range sub.wants {
		sub.pending[w.uri], c.stale = true, true
	}
	r.mu.Unlock()
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if sub.out == out {
			r.endStream(sub)
			r.remove(c.Session, func(want) bool { return false })
		}
	})
	if r.Store != nil {
		// That its client hangs up meanwhile is no failure of the store.
		r.read(context.WithoutCancel(ctx), c.Session)
	}
	r.watch(sub)
}

// Subscribe adds a resource to what a session wants, or returns why that is refused.
func (r *Room) Subscribe(ctx context.Context, c Client, uri string) error {
	if err := checkURIs(uri); err != nil {
		return err
	}
	w, who := wantOf(uri, c.Conversation)
	r.mu.Lock()
	sub := r.session(c)
	isNew := sub.wants[w] == nil
	err := r.add(sub, w, who)
	r.mu.Unlock()
	if err == nil {
		err = r.inStore(ctx, "stored", func(ctx context.Context) error {
			return r.Store.Subscribe(ctx, todo.Subscription{Session: c.Session, URI: uri, Conversation: who}, r.Max)
		})
	}
	if err == nil {
		r.watch(sub)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c.Session, func(have want) bool { return isNew && have == w })
	return err
}

// Unsubscribe removes a resource of a session, or all when uri is empty, also at other
// servers. With an error it removes none.
func (r *Room) Unsubscribe(ctx context.Context, session, uri string) error {
	err := r.inStore(ctx, "removed", func(ctx context.Context) error { return r.Store.Unsubscribe(ctx, session, uri) })
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.remove(session, func(w want) bool { return uri == "" || w.uri == uri })
	}
	return err
}

// Reserve refuses a stream of subscriptions/listen for URIs, or keeps the room for
// them until ctx ends, which must be when the request was answered.
func (r *Room) Reserve(ctx context.Context, uris []string) error {
	if err := checkURIs(uris...); err != nil {
		return err
	}
	n := len(slices.Compact(slices.Sorted(slices.Values(uris)))) // Listen has each once
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fits(n, n); err != nil {
		return err
	}
	r.reserved += n
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reserved -= n
	})
	return nil
}

// Listen notifies a stream of subscriptions/listen, which has an id, of changes until
// ctx ends. There must be room for it, see [Room.Reserve].
func (r *Room) Listen(ctx context.Context, c Client, id any, uris []string, out chan<- mcp.JSONRPCNotification) {
	sub := r.subscriber(c)
	sub.out, sub.meta = out, map[string]any{mcp.MetaKeySubscriptionID: id}
	for _, uri := range uris {
		w, who := wantOf(uri, c.Conversation)
		sub.wants[w] = &current{who: who, stale: true}
	}
	r.watch(sub)
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.endStream(sub)
	})
}

// SetCurrent says which list is a conversation's current one after a call. If that is
// another one than before, its subscribers are notified.
func (r *Room) SetCurrent(of todo.Identity, conversation, list string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for sub := range r.watching {
		c := sub.wants[want{Current, conversation}]
		if c != nil && sub.principal == of.Principal && c.list != list {
			*c = current{who: c.who, list: list, known: true}
			sub.pending[Current] = true
			sub.signal()
		}
	}
}

// checkURIs returns an error unless all URIs name resources of this server;
// the lists need not exist yet.
func checkURIs(uris ...string) error {
	for _, uri := range uris {
		id, one := strings.CutPrefix(uri, One)
		if uri != Current && uri != All && (!one || id == "" || len(uri) > maxURI) {
			return errors.New("no such resource: subscribe to " + Current + ", " + All + " or " + One + "{id}")
		}
	}
	return nil
}

// fits returns an error unless a subscriber may have many subscriptions, more of them
// than before. The caller must lock mu, as for all that follows.
func (r *Room) fits(many, more int) error {
	all := r.reserved
	for _, sub := range r.sessions {
		all += len(sub.wants)
	}
	switch {
	case many > r.Max:
		return fmt.Errorf(tooMany, r.Max)
	case more > 0 && all+more > r.MaxAll:
		return fmt.Errorf("all connections together may have %d subscriptions", r.MaxAll)
	}
	return nil
}

const tooMany = "one connection may have %d subscriptions"

// add adds what a subscriber wants, if there is room.
func (r *Room) add(sub *subscriber, w want, who todo.Conversation) error {
	if sub.wants[w] != nil {
		return nil
	}
	err := r.fits(len(sub.wants)+1, 1)
	if err == nil {
		sub.wants[w] = &current{who: who, stale: true}
	}
	return err
}

// remove removes what a session wants and which says, and the session if it then wants
// nothing and has no stream.
func (r *Room) remove(session string, which func(want) bool) {
	sub := r.sessions[session]
	if sub == nil {
		return
	}
	maps.DeleteFunc(sub.wants, func(w want, _ *current) bool { return which(w) })
	if sub.out == nil && len(sub.wants) == 0 {
		delete(r.sessions, session)
	}
}

// session returns the subscriber of a session and creates it if necessary. Those that
// have had no stream for too long are forgotten.
func (r *Room) session(c Client) *subscriber {
	maps.DeleteFunc(r.sessions, func(session string, sub *subscriber) bool {
		return sub.out == nil && session != c.Session && time.Since(sub.ended) > r.Linger
	})
	if r.sessions[c.Session] == nil {
		r.sessions[c.Session] = r.subscriber(c)
	}
	return r.sessions[c.Session]
}

func (r *Room) subscriber(c Client) *subscriber {
	return &subscriber{principal: c.Principal, lists: r.Board.For(c.Identity), ended: time.Now(),
		wants: make(map[want]*current), pending: make(map[string]bool)}
}
