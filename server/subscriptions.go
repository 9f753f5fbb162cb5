package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
)

// subscriptions sends resources/updated to subscribers in both protocol eras;
// mcp-go only acknowledges the requests. Each subscriber has its own watcher and
// goroutine, so that a slow one delays nobody and skips to the newest revision.
type subscriptions struct {
	server *Server
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	shared *shared // nil where no other server shares the store

	mu       sync.Mutex
	sessions map[string]*subscriber // by sessionKey; without streams of subscriptions/listen
	all      map[*subscriber]struct{}
	held     int // the subscriptions of all subscribers
}

// subscriber is a session (2025-11-25 and older) or a stream of
// subscriptions/listen (2026-07-28).
type subscriber struct {
	meta map[string]any // _meta of each notification: the subscription's id

	mu   sync.Mutex
	peer Peer // of the session's stream
	// principal is whose lists it subscribed to, and lists are these; set with its
	// first subscription.
	principal string
	lists     todo.Lists
	// conversations are those that subscribed to their list, by key. A session may
	// carry several.
	conversations map[string]holding
	uris          map[string]bool
	out           chan<- mcp.JSONRPCNotification // nil while no stream is open
	outChanged    chan struct{}                  // closed and replaced when out changes
	stop          context.CancelFunc             // stops watching; nil before the first subscription
	gone          bool                           // it no longer watches
	expire        *time.Timer                    // removes a session; nil for a listen stream
}

// holding is a conversation and the list that it holds, as far as known.
type holding struct {
	who  todo.Conversation
	list string
}

func newSubscriptions(s *Server) *subscriptions {
	ctx, stop := context.WithCancel(context.Background())
	subs := &subscriptions{server: s, ctx: ctx, stop: stop, sessions: make(map[string]*subscriber), all: make(map[*subscriber]struct{})}
	if s.Subscriptions != nil {
		subs.shared = &shared{store: s.Subscriptions, unread: make(map[string]struct{})}
		subs.work.Go(func() { subs.shared.run(ctx, subs) })
	}
	return subs
}

func (s *subscriptions) close() {
	s.stop()
	s.work.Wait()
}

// hook registers the hooks through which mcp-go reports sessions and requests.
func (s *subscriptions) hook(h *mcpserver.Hooks) {
	h.AddOnRequestInitialization(s.admit)
	h.AddOnRegisterSession(func(ctx context.Context, session mcpserver.ClientSession) {
		key := sessionKey(session)
		s.session(key).attach(session.NotificationChannel(), peerOf(ctx))
		if s.shared != nil && peerOf(ctx).Session != "" {
			s.shared.load(ctx, s, key)
		}
	})
	h.AddOnUnregisterSession(func(_ context.Context, session mcpserver.ClientSession) { s.detach(sessionKey(session)) })
	h.AddAfterSubscribe(func(ctx context.Context, _ any, r *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		if session := mcpserver.ClientSessionFromContext(ctx); session != nil {
			who := s.server.caller(s.server.newRequest(ctx, peerOf(ctx).Meta)).who
			s.subscribe(ctx, sessionKey(session), r.Params.URI, who)
		}
	})
	h.AddAfterUnsubscribe(func(ctx context.Context, _ any, r *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		if session := mcpserver.ClientSessionFromContext(ctx); session != nil {
			s.unsubscribe(sessionKey(session), r.Params.URI)
			s.unshare(ctx, sessionKey(session), r.Params.URI)
		}
	})
	h.AddBeforeSubscriptionsListen(s.listen)
	h.AddAfterSubscriptionsListen(func(ctx context.Context, id any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		if l, ok := ctx.Value(listening{}).(Listening); ok {
			l.Acknowledged(ctx, id)
		}
	})
}

// maxURI is how many bytes the URI of a resource of ours may have.
const maxURI = 200

// isOurs reports whether a URI is that of a resource of this server; the list
// need not exist yet.
func isOurs(uri string) bool {
	id, one := strings.CutPrefix(uri, listURI)
	return uri == currentURI || uri == listsURI || one && id != "" && len(uri) <= maxURI
}

// subscribing is a request that may subscribe.
type subscribing struct {
	Method string
	Params struct {
		URI           string
		Notifications struct{ ResourceSubscriptions []string }
		Meta          struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
}

// admit refuses a request that would subscribe to what is not ours, or to more
// than the limits allow (BAD-INPUT 64). mcp-go calls it before any request; the
// hooks after it can refuse nothing.
func (s *subscriptions) admit(ctx context.Context, _ any, message any) error {
	raw, ok := message.(json.RawMessage)
	// Most messages need not be read for this; a method may be written with
	// escapes.
	if !ok || !bytes.Contains(raw, []byte("subscri")) && !bytes.Contains(raw, []byte(`\u`)) {
		return nil
	}
	var m subscribing
	if json.Unmarshal(raw, &m) != nil {
		return nil // mcp-go refuses it
	}
	if m.Method == string(mcp.MethodResourcesSubscribe) && m.Params.Meta.Version != "" {
		return nil // the sessionless era has no such method, and mcp-go says so
	}
	uris, sub, session := s.wanted(ctx, m)
	for _, uri := range uris {
		if !isOurs(uri) {
			return errors.New("no such resource: subscribe to " + currentURI + ", " + listsURI + " or " + listURI + "{id}")
		}
	}
	if len(uris) == 0 {
		return nil
	}
	who := s.server.caller(s.server.newRequest(ctx, peerOf(ctx).Meta)).who
	if sub.full(who.Key, s.server.MaxSubscriptions) {
		return fmt.Errorf("in one connection %d conversations may subscribe (see --max-subscriptions)", s.server.MaxSubscriptions)
	}
	if err := s.room(sub, uris); err != nil || session == "" {
		return err
	}
	return s.share(ctx, todo.Subscription{Session: session, URI: m.Params.URI, Conversation: who})
}

// wanted returns what a message subscribes to, and for whom: a stream's own
// subscriber, or a session's, with its key.
func (s *subscriptions) wanted(ctx context.Context, m subscribing) (uris []string, sub *subscriber, session string) {
	sub = newSubscriber()
	switch client := mcpserver.ClientSessionFromContext(ctx); {
	case m.Method == string(mcp.MethodSubscriptionsListen):
		uris = m.Params.Notifications.ResourceSubscriptions
	case m.Method == string(mcp.MethodResourcesSubscribe) && client != nil:
		uris, session = []string{m.Params.URI}, sessionKey(client)
		s.mu.Lock()
		defer s.mu.Unlock()
		if known := s.sessions[session]; known != nil {
			sub = known
		}
	}
	return uris, sub, session
}

// full reports whether a conversation is one too many for a subscriber.
func (s *subscriber) full(conversation string, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.conversations[conversation]
	return !known && len(s.conversations) >= most
}

// room returns an error unless a subscriber may have URIs in addition to those
// that it has.
func (s *subscriptions) room(sub *subscriber, uris []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub.mu.Lock()
	defer sub.mu.Unlock()
	added := make(map[string]bool)
	for _, uri := range uris {
		if !sub.uris[uri] {
			added[uri] = true
		}
	}
	switch most := s.server.MaxSubscriptions; {
	case len(uris) == 0:
	case len(sub.uris)+len(added) > most:
		return s.tooMany()
	case len(added) > 0 && s.held+len(added) > s.server.MaxAllSubscriptions:
		return fmt.Errorf("all connections together may have %d subscriptions (see --max-all-subscriptions)", s.server.MaxAllSubscriptions)
	}
	return nil
}

func (s *subscriptions) tooMany() error {
	return fmt.Errorf("one connection may have %d subscriptions (see --max-subscriptions)", s.server.MaxSubscriptions)
}

// add adds a resource to those of a subscriber, if there is room.
func (s *subscriptions) add(sub *subscriber, uri string) bool {
	if s.room(sub, []string{uri}) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.gone {
		return false
	}
	if !sub.uris[uri] {
		sub.uris[uri] = true
		s.held++
	}
	return true
}

// unsubscribe removes a resource of a session. A session that has none left, and
// no stream, is dropped.
func (s *subscriptions) unsubscribe(id, uri string) {
	s.mu.Lock()
	sub := s.sessions[id]
	if sub == nil {
		s.mu.Unlock()
		return
	}
	sub.mu.Lock()
	if sub.uris[uri] {
		delete(sub.uris, uri)
		s.held--
	}
	idle := len(sub.uris) == 0 && sub.out == nil
	sub.mu.Unlock()
	s.mu.Unlock()
	if idle {
		s.drop(id)
	}
}

// subscribe adds a resource to the subscriptions of a session and of one of its
// conversations; with the first one, the session begins to watch.
func (s *subscriptions) subscribe(ctx context.Context, id, uri string, who todo.Conversation) {
	sub := s.session(id)
	if !s.add(sub, uri) {
		return // between admit and here others took the last place
	}
	sub.mu.Lock()
	first := sub.stop == nil
	var watching context.Context
	if first {
		watching, sub.stop = context.WithCancel(s.ctx)
	}
	sub.mu.Unlock()
	s.identify(ctx, sub, who)
	if first {
		s.follow(watching, sub)
	}
}

// identify adds the conversation that subscribes to those of a subscriber, with
// the list that it holds. If that cannot be read now, the first call of the
// conversation says it.
func (s *subscriptions) identify(ctx context.Context, sub *subscriber, who todo.Conversation) {
	lists := s.server.lists(ctx)
	held, _ := lists.Held(ctx, todo.Target{Conversation: who})
	sub.mu.Lock()
	sub.principal, sub.lists = peerOf(ctx).Principal, lists
	if _, known := sub.conversations[who.Key]; known || len(sub.conversations) < s.server.MaxSubscriptions { // see admit
		sub.conversations[who.Key] = holding{who, held.List.ID}
	}
	sub.mu.Unlock()
	s.mu.Lock()
	s.all[sub] = struct{}{}
	s.mu.Unlock()
}

// holds records which list a conversation holds after a call, and notifies its
// subscribers if that is another one than before.
func (s *subscriptions) holds(ctx context.Context, who todo.Conversation, list string) {
	principal := peerOf(ctx).Principal
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		sub.setHeld(principal, who, list)
	}
}

// Listening is what a transport does for a subscriptions/listen request.
type Listening struct {
	// Begun is called as soon as notifications/cancelled can end the request; nil
	// where nobody waits for that.
	Begun func()
	// Acknowledged returns when the acknowledgement of the request with an id is
	// written, or when it cannot be any more. mcp-go puts that into a queue which the answer does not
	// wait for, and the answer comes at once where nothing is subscribed to: it
	// must not overtake the acknowledgement, which is the first message of a stream.
	Acknowledged func(ctx context.Context, id any)
}

// listening is the context key of [WithListening].
type listening struct{}

// WithListening returns a context for a subscriptions/listen request.
func WithListening(ctx context.Context, l Listening) context.Context {
	return context.WithValue(ctx, listening{}, l)
}

// listen serves one stream of subscriptions/listen until its request ends.
func (s *subscriptions) listen(ctx context.Context, id any, r *mcp.SubscriptionsListenRequest) {
	if l, ok := ctx.Value(listening{}).(Listening); ok && l.Begun != nil {
		l.Begun()
	}
	session := mcpserver.ClientSessionFromContext(ctx)
	wanted := r.Params.Notifications.ResourceSubscriptions
	if session == nil || len(wanted) == 0 {
		return
	}
	sub := newSubscriber()
	s.identify(ctx, sub, s.server.caller(s.server.newRequest(ctx, r.Params.Meta)).who)
	sub.meta = map[string]any{mcp.MetaKeySubscriptionID: id}
	sub.out = session.NotificationChannel()
	for _, uri := range wanted {
		s.add(sub, uri)
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
		sub.expire = time.AfterFunc(s.server.SubscriptionLinger, func() { s.drop(id) })
		s.sessions[id] = sub
	}
	return sub
}

// detach records that a session's stream ended. The subscriptions remain for
// SubscriptionLinger, in case the client opens another stream.
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
	sub.expire.Reset(s.server.SubscriptionLinger)
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
	sub.mu.Lock()
	lists := sub.lists
	sub.mu.Unlock()
	watcher := lists.Watch(func(snapshot todo.Snapshot) bool {
		_, may := sub.mayHold(snapshot.List)
		return may || len(sub.matching(snapshot)) > 0
	})
	s.work.Go(func() {
		defer s.forget(sub)
		defer watcher.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		for {
			changed, err := watcher.Next(ctx)
			if err != nil {
				return
			}
			refresh(ctx, lists, sub, changed)
			for uri := range sub.touched(changed) {
				if !sub.send(ctx, uri) {
					return
				}
			}
		}
	})
}

// refresh finds out which list a conversation holds, where a list changed that it
// began, or that has its name, and that it is not known to hold: another process
// or conversation may have begun that one.
func refresh(ctx context.Context, lists todo.Lists, sub *subscriber, changed []todo.Snapshot) {
	for _, snapshot := range changed {
		h, may := sub.mayHold(snapshot.List)
		if !may || h.list == snapshot.List.ID {
			continue
		}
		if held, err := lists.Held(ctx, todo.Target{Conversation: h.who}); err == nil {
			sub.mu.Lock()
			sub.conversations[h.who.Key] = holding{h.who, held.List.ID}
			sub.mu.Unlock()
		}
	}
}

// forget removes a subscriber that no longer watches.
func (s *subscriptions) forget(sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sub)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	s.held -= len(sub.uris)
	clear(sub.uris)
	sub.gone = true
}

func newSubscriber() *subscriber {
	return &subscriber{conversations: make(map[string]holding), uris: make(map[string]bool), outChanged: make(chan struct{})}
}

// attach sends the notifications of a session to a new stream from now on.
func (s *subscriber) attach(out chan<- mcp.JSONRPCNotification, peer Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peer = peer
	s.expire.Stop()
	s.setOut(out)
}

// setOut replaces the channel of the notifications. The caller must lock mu.
func (s *subscriber) setOut(out chan<- mcp.JSONRPCNotification) {
	s.out = out
	close(s.outChanged)
	s.outChanged = make(chan struct{})
}

// matching returns the URIs of the subscribed resources that a snapshot changes.
func (s *subscriber) matching(snapshot todo.Snapshot) (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.uris {
		id, one := strings.CutPrefix(uri, listURI)
		switch {
		case uri == listsURI, one && id == snapshot.List.ID,
			uri == currentURI && s.isHeld(snapshot.List.ID):
			uris = append(uris, uri)
		}
	}
	return uris
}

// isHeld reports whether a conversation of the subscriber holds a list. The
// caller must hold s.mu.
func (s *subscriber) isHeld(list string) bool {
	for _, h := range s.conversations {
		if h.list == list {
			return true
		}
	}
	return false
}

// mayHold returns a conversation of the subscriber that began a list or was given
// the list's name.
func (s *subscriber) mayHold(list todo.List) (h holding, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.conversations[list.Conversation]; ok {
		return h, true
	}
	for _, h := range s.conversations {
		if h.who.Name != "" && h.who.Name == list.Name {
			return h, true
		}
	}
	return holding{}, false
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
	n := s.notification(uri)
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

// setHeld records the list that a principal's conversation holds, if it is the
// subscriber's.
// If that is another list than before, it notifies the subscriber without
// waiting for it.
func (s *subscriber) setHeld(principal string, who todo.Conversation, list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, known := s.conversations[who.Key]
	if !known || h.list == list || principal != s.principal {
		return
	}
	s.conversations[who.Key] = holding{h.who, list}
	if s.uris[currentURI] {
		s.offer(currentURI)
	}
}

// offer notifies the subscriber without waiting for it. The caller must lock mu.
func (s *subscriber) offer(uri string) {
	select {
	case s.out <- s.notification(uri): // a nil channel is never ready
	default:
	}
}

func (s *subscriber) notification(uri string) mcp.JSONRPCNotification {
	return mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourceUpdated,
		Params: mcp.NotificationParams{Meta: s.meta, AdditionalFields: map[string]any{"uri": uri}},
	}}
}
