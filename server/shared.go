package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
)

// shared keeps the subscriptions of sessions in a store, for other servers: a
// session's stream may be at another one than its requests, or go on there. From the
// store it also learns which lists conversations came to hold at others.
type shared struct {
	store todo.Subscriptions
	// The Seq up to which the subscriptions of all sessions are known here; of run.
	subscribed int64

	mu     sync.Mutex
	unread map[string]struct{} // sessions with a stream here whose own could not be read
}

// sessionKey is what a session is known by here and in a store: a digest of its id,
// with which nobody can call.
func sessionKey(session mcpserver.ClientSession) string { return sessionIDKey(session.SessionID()) }

func sessionIDKey(id string) string { return digest(id) }

// sharedInterval is how often subscriptions are read without a hint.
const sharedInterval = 4 * time.Second

// learnInterval is the least time between two times that it is read which lists
// conversations hold.
const learnInterval = 200 * time.Millisecond

// run adds to the sessions that have a stream here what they subscribe to elsewhere,
// and to all subscribers which lists their conversations came to hold there, until ctx
// ends.
func (h *shared) run(ctx context.Context, s *subscriptions) {
	hints := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		for ctx.Err() == nil {
			_ = h.store.WatchSubscriptions(ctx, func() { // the clock below hints while it fails
				select {
				case hints <- struct{}{}:
				default:
				}
			})
			select {
			case <-time.After(sharedInterval):
			case <-ctx.Done():
			}
		}
	})
	poll := time.NewTicker(sharedInterval)
	defer poll.Stop()
	h.skip(ctx, s)
	var learn <-chan time.Time
	var learnt time.Time
	for {
		select {
		case <-hints:
		case <-poll.C:
		case <-learn:
			s.learnHeld(ctx)
			learn, learnt = nil, time.Now()
			continue
		case <-ctx.Done():
			return
		}
		h.pull(ctx, s)
		if learn == nil {
			learn = time.After(learnInterval - time.Since(learnt))
		}
	}
}

// skip passes over what is stored by now, unless somebody is here: it is read as they
// come.
func (h *shared) skip(ctx context.Context, s *subscriptions) {
	ctx, cancel := context.WithTimeout(ctx, sharedInterval)
	defer cancel()
	if position, err := h.store.Position(ctx); err == nil && !s.anybody() {
		h.subscribed = position
	}
}

// pull reads what is new, and what could not be read before.
func (h *shared) pull(ctx context.Context, s *subscriptions) {
	if !s.anybody() {
		h.skip(ctx, s)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sharedInterval)
	defer cancel()
	h.retry(ctx, s)
	for {
		page, err := h.store.SubscriptionsAfter(ctx, h.subscribed)
		if err != nil || len(page) == 0 {
			return // the next time
		}
		for _, one := range page {
			if peer, here := s.streaming(one.Session); one.Ended || here && !s.knows(one) {
				s.apply(WithPeer(ctx, peer), one)
			}
		}
		h.subscribed = page[len(page)-1].Seq
	}
}

// load adds to a session, whose stream has just begun, what it subscribed to before.
// That its client hangs up meanwhile is no failure of the store.
func (h *shared) load(ctx context.Context, s *subscriptions, session string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedInterval)
	defer cancel()
	if !h.read(ctx, s, session) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.unread[session] = struct{}{}
	}
}

// read adds to a session what is stored for it, and reports whether it could be read.
func (h *shared) read(ctx context.Context, s *subscriptions, session string) bool {
	all, err := h.store.SubscriptionsOf(ctx, session)
	for _, one := range all {
		s.apply(ctx, one)
	}
	return err == nil
}

// retry reads those of the sessions for which that failed, until it fails again.
// Those without a stream here need it no more.
func (h *shared) retry(ctx context.Context, s *subscriptions) {
	h.mu.Lock()
	sessions := slices.Collect(maps.Keys(h.unread))
	h.mu.Unlock()
	for _, session := range sessions {
		peer, here := s.streaming(session)
		if here && !h.read(WithPeer(ctx, peer), s, session) {
			return
		}
		h.mu.Lock()
		delete(h.unread, session)
		h.mu.Unlock()
	}
}

// apply does here what a session did at another server. The resource may have changed
// since, so that the client is told to read it.
func (s *subscriptions) apply(ctx context.Context, one todo.Subscription) {
	if one.Ended {
		s.unsubscribe(one.Session, one.URI)
		return
	}
	s.subscribe(ctx, one.Session, one.URI, one.Conversation)
	sub := s.session(one.Session)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.offer(one.URI)
}

// anybody reports whether there is a session or a subscriber here.
func (s *subscriptions) anybody() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)+len(s.all) > 0
}

// learnHeld reads which lists the conversations of the subscribers here hold.
func (s *subscriptions) learnHeld(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sharedInterval)
	defer cancel()
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	for _, sub := range all {
		sub.learnHeld(ctx)
	}
}

// learnHeld reads which lists the subscriber's conversations hold, if it subscribes to
// those. One that cannot be read now is known the next time.
func (s *subscriber) learnHeld(ctx context.Context) {
	s.mu.Lock()
	principal, lists, whose := s.principal, s.lists, maps.Clone(s.conversations)
	if !s.uris[currentURI] {
		whose = nil
	}
	s.mu.Unlock()
	for _, h := range whose {
		held, err := lists.Held(ctx, todo.Target{Conversation: h.who})
		if err == nil || errors.Is(err, todo.ErrNotFound) {
			s.setHeld(principal, h.who, held.List.ID)
		}
	}
}

// streaming reports whether a session has a stream here, and whose it is.
func (s *subscriptions) streaming(session string) (peer Peer, here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.sessions[session]
	if sub == nil {
		return Peer{}, false
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.peer, sub.out != nil
}

// knows reports whether a subscription is one that a session has here, of a
// conversation that is known here.
func (s *subscriptions) knows(one todo.Subscription) bool {
	sub := s.session(one.Session)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	_, known := sub.conversations[one.Conversation.Key]
	return known && sub.uris[one.URI]
}

// share stores for other servers what a session subscribes to. It returns an error
// when the session has as many subscriptions as it may have on all servers together.
func (s *subscriptions) share(ctx context.Context, one todo.Subscription) error {
	return s.tell(ctx, func(ctx context.Context, store todo.Subscriptions) error {
		return store.Subscribe(ctx, one, s.server.MaxSubscriptions)
	})
}

// unshare stores for other servers that a session no longer subscribes to a resource,
// or to any when uri is empty.
func (s *subscriptions) unshare(ctx context.Context, session, uri string) {
	_ = s.tell(ctx, func(ctx context.Context, store todo.Subscriptions) error { return store.Unsubscribe(ctx, session, uri) }) // the end is never too many
}

// tell stores something for other servers. That the store cannot do it is no error:
// here the subscription works.
func (s *subscriptions) tell(ctx context.Context, store func(context.Context, todo.Subscriptions) error) error {
	if s.shared == nil || peerOf(ctx).Session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sharedInterval)
	defer cancel()
	switch err := store(ctx, s.shared.store); {
	case errors.Is(err, todo.ErrTooManySubscriptions):
		return s.tooMany()
	case err != nil:
		s.server.Log.Warn("other servers do not know of a subscription", "error", err)
	}
	return nil
}
