package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
)

// detachedFor is how long a session keeps its subscriptions without a stream.
const detachedFor = 10 * time.Minute

// subscriptions sends resources/updated to subscribers in both protocol eras;
// mcp-go only acknowledges the requests. Each subscriber has its own watcher and
// goroutine, so that a slow one delays nobody and skips to the newest revision.
type subscriptions struct {
	server *Server
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*subscriber // by session id; without streams of subscriptions/listen
}

// subscriber is a session (2025-11-25 and older) or a stream of
// subscriptions/listen (2026-07-28).
type subscriber struct {
	scope todo.Scope
	meta  map[string]any // _meta of each notification: the subscription's id

	mu         sync.Mutex
	uris       map[string]bool
	out        chan<- mcp.JSONRPCNotification // nil while no stream is open
	outChanged chan struct{}                  // closed and replaced when out changes
	stop       context.CancelFunc             // stops watching; nil before the first subscription
	expire     *time.Timer                    // removes a session; nil for a listen stream
}

func newSubscriptions(s *Server) *subscriptions {
	ctx, stop := context.WithCancel(context.Background())
	return &subscriptions{server: s, ctx: ctx, stop: stop, sessions: make(map[string]*subscriber)}
}

func (s *subscriptions) close() {
	s.stop()
	s.work.Wait()
}

// hook registers the hooks through which mcp-go reports sessions and requests.
func (s *subscriptions) hook(h *mcpserver.Hooks) {
	h.AddOnRegisterSession(func(_ context.Context, session mcpserver.ClientSession) {
		s.session(session.SessionID()).attach(session.NotificationChannel())
	})
	h.AddOnUnregisterSession(func(_ context.Context, session mcpserver.ClientSession) { s.detach(session.SessionID()) })
	h.AddAfterSubscribe(func(ctx context.Context, _ any, r *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		s.subscribe(ctx, r)
	})
	h.AddAfterUnsubscribe(func(ctx context.Context, _ any, r *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		if session := mcpserver.ClientSessionFromContext(ctx); session != nil {
			s.session(session.SessionID()).remove(r.Params.URI)
		}
	})
	h.AddBeforeSubscriptionsListen(s.listen)
}

// subscribe adds a resource to a session's subscriptions; with the first one,
// the session begins to watch.
func (s *subscriptions) subscribe(ctx context.Context, r *mcp.SubscribeRequest) {
	session := mcpserver.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	sub := s.session(session.SessionID())
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.uris[r.Params.URI] = true
	if sub.stop == nil {
		sub.scope = s.server.caller(newRequest(ctx, nil)).scope
		var watching context.Context
		watching, sub.stop = context.WithCancel(s.ctx)
		s.follow(watching, sub)
	}
}

// listenBegun is the context key of [WithListenBegun].
type listenBegun struct{}

// WithListenBegun returns a context for a subscriptions/listen request. The
// server calls begun as soon as notifications/cancelled can end the request.
func WithListenBegun(ctx context.Context, begun context.CancelFunc) context.Context {
	return context.WithValue(ctx, listenBegun{}, begun)
}

// listen serves one stream of subscriptions/listen until its request ends.
func (s *subscriptions) listen(ctx context.Context, id any, r *mcp.SubscriptionsListenRequest) {
	if begun, ok := ctx.Value(listenBegun{}).(context.CancelFunc); ok {
		begun()
	}
	session := mcpserver.ClientSessionFromContext(ctx)
	wanted := r.Params.Notifications.ResourceSubscriptions
	if session == nil || len(wanted) == 0 {
		return
	}
	sub := newSubscriber()
	sub.scope = s.server.caller(newRequest(ctx, nil)).scope
	sub.meta = map[string]any{mcp.MetaKeySubscriptionID: id}
	sub.out = session.NotificationChannel()
	for _, uri := range wanted {
		sub.uris[uri] = true
	}
	s.follow(ctx, sub)
}

// session returns the subscriber of a session and creates it if necessary.
func (s *subscriptions) session(id string) *subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.sessions[id]
	if sub == nil {
		sub = newSubscriber()
		sub.expire = time.AfterFunc(detachedFor, func() { s.drop(id) })
		s.sessions[id] = sub
	}
	return sub
}

// detach records that a session's stream ended. The subscriptions remain for
// detachedFor, in case the client opens another stream.
func (s *subscriptions) detach(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.sessions[id]
	if sub == nil {
		return
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.stop == nil { // no subscriptions to keep
		sub.expire.Stop()
		delete(s.sessions, id)
		return
	}
	sub.setOut(nil)
	sub.expire.Reset(detachedFor)
}

// drop removes a session and its subscriptions.
func (s *subscriptions) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.sessions[id]
	if sub == nil {
		return
	}
	delete(s.sessions, id)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.expire.Stop()
	if sub.stop != nil {
		sub.stop()
	}
}

// follow starts a goroutine that watches lists and notifies a subscriber, until
// ctx ends or all subscriptions are closed.
func (s *subscriptions) follow(ctx context.Context, sub *subscriber) {
	watcher := s.server.lists(ctx).Watch(func(snapshot todo.Snapshot) bool { return len(sub.matching(snapshot)) > 0 })
	s.work.Go(func() {
		defer watcher.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		for {
			changed, err := watcher.Next(ctx)
			if err != nil {
				return
			}
			for uri := range sub.touched(changed) {
				if !sub.send(ctx, uri) {
					return
				}
			}
		}
	})
}

func newSubscriber() *subscriber {
	return &subscriber{uris: make(map[string]bool), outChanged: make(chan struct{})}
}

// attach sends the notifications of a session to a new stream from now on.
func (s *subscriber) attach(out chan<- mcp.JSONRPCNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire.Stop()
	s.setOut(out)
}

// setOut replaces the channel of the notifications. The caller must lock mu.
func (s *subscriber) setOut(out chan<- mcp.JSONRPCNotification) {
	s.out = out
	close(s.outChanged)
	s.outChanged = make(chan struct{})
}

func (s *subscriber) remove(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uris, uri)
}

// matching returns the URIs of the subscribed resources that a snapshot changes.
func (s *subscriber) matching(snapshot todo.Snapshot) (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.uris {
		id, one := strings.CutPrefix(uri, listURI)
		if one && id == snapshot.List.ID || uri == currentURI && s.scope.Key() == snapshot.List.Scope.Key() {
			uris = append(uris, uri)
		}
	}
	return uris
}

// touched returns the URIs of the subscribed resources that any of the snapshots
// changes.
func (s *subscriber) touched(changed []todo.Snapshot) map[string]bool {
	uris := make(map[string]bool)
	for _, snapshot := range changed {
		for _, uri := range s.matching(snapshot) {
			uris[uri] = true
		}
	}
	return uris
}

// send waits until the subscriber's stream accepts a notification, and reports
// false when ctx ended first. The watcher merges changes that come in between.
func (s *subscriber) send(ctx context.Context, uri string) bool {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourceUpdated,
		Params: mcp.NotificationParams{Meta: s.meta, AdditionalFields: map[string]any{"uri": uri}},
	}}
	for {
		s.mu.Lock()
		out, outChanged := s.out, s.outChanged
		s.mu.Unlock()
		select {
		case out <- n: // a nil channel blocks
			return true
		case <-outChanged:
		case <-ctx.Done():
			return false
		}
	}
}
