package server

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/todo"
)

// Peer describes the sender of one message. A transport puts it into the context
// of the message with [WithPeer].
type Peer struct {
	// Identity is who sent it.
	todo.Identity
	// Client is what the session's client sent as its clientInfo. A request of
	// 2026-07-28 may carry its own clientInfo, which takes precedence.
	Client mcp.Implementation
	// Apps is true when the session's client shows MCP Apps.
	Apps bool
	// List is the name of the list from the URL or the Todo-List header; empty
	// for none.
	List string
	// Session is the HTTP session's id; empty when there is none.
	Session string
	// Protocol is the protocol version that a session's client names with the message;
	// empty for none.
	Protocol string
	// Process is true when the client is the only one of this process, as on
	// stdio.
	Process bool
	// Folder is the path of the first of the client's roots; empty when the
	// client has sent none.
	Folder string
	// Arguments of a tools/call request that mcp-go gets without them; nil when it
	// has them.
	Arguments json.RawMessage
	// ListenBegun is called as soon as notifications/cancelled can end a
	// subscriptions/listen request; nil where nobody waits for that.
	ListenBegun func()
	// ListenAcknowledged returns when the acknowledgement of a subscriptions/listen
	// request with an id is written, or when it cannot be any more. mcp-go puts that
	// into a queue which the answer does not wait for, and the answer comes at once
	// where nothing is subscribed to: it must not overtake the acknowledgement, which
	// is the first message of a stream.
	ListenAcknowledged func(ctx context.Context, id any)
}

type peerKey struct{}

// WithPeer returns a context that carries the sender of a message.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf returns the sender of the message that a context belongs to; the zero
// Peer when no transport set one.
func PeerOf(ctx context.Context) Peer {
	p, _ := ctx.Value(peerKey{}).(Peer)
	return p
}
