package server

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/server/subscriptions"
)

// Notify notifies the session of a context's peer, on its new stream, of changes to what
// it subscribed to, until ctx ends.
func (s *Server) Notify(ctx context.Context, out chan<- mcp.JSONRPCNotification) {
	s.subscriptions.Open(ctx, s.subscriber(ctx, todo.Conversation{}), out)
}

// addSubscriptions adds the hooks through which mcp-go reports requests that subscribe.
func (s *Server) addSubscriptions(h *mcpserver.Hooks) {
	h.AddOnRequestInitialization(s.subscribe)
	h.AddBeforeSubscriptionsListen(func(ctx context.Context, id any, r *mcp.SubscriptionsListenRequest) {
		if begun := PeerOf(ctx).ListenBegun; begun != nil {
			begun()
		}
		session, uris := mcpserver.ClientSessionFromContext(ctx), r.Params.Notifications.ResourceSubscriptions
		if session != nil && len(uris) > 0 {
			who := s.caller(s.newRequest(ctx, r.Params.Meta)).who
			s.subscriptions.Listen(ctx, s.subscriber(ctx, who), id, uris, session.NotificationChannel())
		}
	})
	h.AddAfterSubscriptionsListen(func(ctx context.Context, id any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		if acknowledged := PeerOf(ctx).ListenAcknowledged; acknowledged != nil {
			acknowledged(ctx, id)
		}
	})
}

// sessionKey is what a peer's session is known by to other servers: a digest of its
// id, with which nobody can call.
func sessionKey(p Peer) string { return digest(p.Session) }

// subscriber returns the client of a request that subscribes.
func (s *Server) subscriber(ctx context.Context, who todo.Conversation) subscriptions.Client {
	p := PeerOf(ctx)
	return subscriptions.Client{Identity: p.Identity, Session: sessionKey(p), Conversation: who}
}

// subscribe subscribes or unsubscribes a session, and refuses a request that would
// subscribe to what is not ours or to more than the limits allow (BAD-INPUT 64), or that
// cannot be stored. mcp-go calls it before any request; the hooks after it can refuse
// nothing.
func (s *Server) subscribe(ctx context.Context, _ any, message any) error {
	raw, ok := message.(json.RawMessage)
	// Most messages need not be read for this; a method may be written with
	// escapes.
	if !ok || !bytes.Contains(raw, []byte("subscri")) && !bytes.Contains(raw, []byte(`\u`)) {
		return nil
	}
	var m struct {
		Method string
		Params struct {
			URI           string
			Notifications struct{ ResourceSubscriptions []string }
			Meta          *mcp.Meta `json:"_meta"` // which mcp-go drops in a subscribe request
		}
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil // mcp-go refuses it
	}
	r := s.newRequest(ctx, m.Params.Meta)
	switch isModern := mcp.IsModernProtocol(r.text(mcp.MetaKeyProtocolVersion)); {
	case m.Method == string(mcp.MethodSubscriptionsListen):
		return s.subscriptions.Reserve(ctx, m.Params.Notifications.ResourceSubscriptions)
	case isModern: // this era has no other such method, and mcp-go says so
	case m.Method == string(mcp.MethodResourcesSubscribe):
		return s.subscriptions.Subscribe(ctx, s.subscriber(ctx, s.caller(r).who), m.Params.URI)
	case m.Method == string(mcp.MethodResourcesUnsubscribe) && m.Params.URI != "": // mcp-go refuses it without
		return s.subscriptions.Unsubscribe(ctx, sessionKey(PeerOf(ctx)), m.Params.URI)
	}
	return nil
}
