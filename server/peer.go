package server

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
)

// Peer is what the transport knows of who sent a message. Transports put it into
// the context that mcp-go hands to our handlers; it holds for one message.
type Peer struct {
	// Principal is who is authenticated; empty is the server's own.
	Principal string
	// Client is who the session's client says it is. A request of 2026-07-28
	// says it itself, which counts more.
	Client mcp.Implementation
	// Apps says that the session's client shows MCP Apps.
	Apps bool
	// List is the list that the address names; empty for none.
	List string
	// Session is the HTTP session's id; empty when there is none.
	Session string
	// Process says that the client has this process to itself, as on stdio.
	Process bool
	// Folder is the first folder of the client's roots; empty when it told none.
	Folder string
}

type peerKey struct{}

// WithPeer returns a context that carries who sent a message.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// peerOf returns who sent the message that a context belongs to; the zero Peer
// when no transport said.
func peerOf(ctx context.Context) Peer {
	p, _ := ctx.Value(peerKey{}).(Peer)
	return p
}
