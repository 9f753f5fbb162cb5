package subscriptions

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Stream sends a client its notifications.
type Stream struct {
	hub *Hub
	sub *subscriber
	ctx context.Context // ends with the stream
	end context.CancelFunc

	watch   sync.Once // starts watcher with the first subscription; most clients have none
	watcher *board.Watcher
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
	for _, c := range s.sub.wants {
		c.pending, c.seen = true, -1
		board.Signal(s.sub.wake)
	}
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
		s.hub.remove(s.sub.Session, func(want) bool { return s.sub.Listen != nil })
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
			board.Signal(s.sub.wake) // the signal was for the next stream
			return nil
		}
		s.watch.Do(s.beginToWatch)
		for _, uri := range s.due() {
			if err := send(s.notification(uri)); err != nil {
				return err
			}
		}
	}
}

// beginToWatch begins to watch the client's lists.
func (s *Stream) beginToWatch() {
	s.watcher = s.hub.Board.For(s.sub.Identity).WatchRevisions(func(l todo.Snapshot) bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		s.sub.changed(l.List)
		return false // so that the watcher keeps nothing
	})
}

// changed marks the resources that a change of a list affects. The caller must hold the hub's mu. Any list may have
// become a conversation's current one, perhaps in another process.
func (s *subscriber) changed(list todo.List) {
	for w, c := range s.wants {
		if w.uri == Current || w.uri == All || w.uri == One+list.ID {
			c.pending = true
			board.Signal(s.wake)
		}
	}
}

// due returns the URIs that the client is to be notified of now. Of [Current] it reads whether the list has changed,
// and tries again the next time if that fails.
func (s *Stream) due() (uris []string) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	for w, c := range maps.Clone(s.sub.wants) {
		if !c.pending || s.ctx.Err() != nil {
			continue
		}
		c.pending = false
		if w.uri == Current {
			s.hub.mu.Unlock()
			seq, err := s.hub.current(s.ctx, s.sub.Client, c.who)
			s.hub.mu.Lock()
			if s.ctx.Err() != nil {
				return nil // the next stream sends them
			}
			isNews := c.seen < 0 || err == nil && seq != c.seen
			if c.pending = c.pending || err != nil; !isNews {
				continue
			}
			c.seen = seq
		}
		uris = append(uris, w.uri)
	}
	slices.Sort(uris)
	return slices.Compact(uris) // several conversations may want the same
}

// current reads the Seq of a conversation's current list, 0 for none, when it is its turn. It fails after
// [readTimeout].
func (r *Hub) current(ctx context.Context, c Client, who board.Conversation) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	list, err := r.Board.For(c.Identity).Current(ctx, board.Target{Conversation: who})
	return list.Seq, board.PassOver(err)
}

func (s *Stream) notification(uri string) mcp.JSONRPCNotification {
	params := mcp.NotificationParams{AdditionalFields: map[string]any{"uri": uri}}
	if s.sub.Listen != nil {
		params.Meta = map[string]any{mcp.MetaKeySubscriptionID: s.sub.Listen}
	}
	return mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{Method: mcp.MethodNotificationResourceUpdated, Params: params}}
}
