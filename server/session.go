package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
)

// Peer describes the sender of one message, as its transport knows it.
type Peer struct {
	// Identity is who sent it.
	board.Identity
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
	// Folder is the path of the folder that the client works in: that of its header
	// Todo-Folder, else of the first of its roots; empty when it has sent neither.
	Folder string
}

// Introduce sets what the peer says of itself in an initialize request, and reports
// whether it can be asked for its roots.
func (p *Peer) Introduce(initialize jsonrpc.Message) (hasRoots bool) {
	var says mcp.InitializeParams
	initialize.Decode(&says)
	p.Client, p.Apps = says.ClientInfo, card.ShownBy(says.Capabilities.Extensions)
	return says.Capabilities.Roots != nil
}

// request is a message and its sender, as mcp-go takes the session of a client.
type request struct {
	Peer
	server  *Server
	message jsonrpc.Message
	came    context.Context // of the message
	ctx     context.Context // the same, or mcp-go's for the handler, which a cancellation ends
	misread error           // why mcp-go could not read the params; nil if it could

	// What [identified] found:
	lists  board.Lists        // those that the sender may read and write: of its principal
	said   map[string]string  // the texts in _meta
	ended  bool               // it is a sub-agent's last call
	client mcp.Implementation // what the message itself says, else its session
	// host is the chat that makes this call, as a hook of the host said; the zero Chat for most.
	host   todo.Chat
	who    board.Conversation
	agent  string // the sub-agent; empty for the main agent
	parent string // the key of a sub-agent's main conversation

	// Of a tool call:
	arguments json.RawMessage
	tool      string // the tool that it calls
	errorType string // see [Config.Observe]; empty also where the JSON-RPC error says it

	left todo.Snapshot // what an earlier session left open, where the call finds no list

	// Of a subscription:
	subscriber      *subscriptions.Client        // nil until the message subscribes
	stream          string                       // what subscriptions/listen is known by; empty for others
	listens         bool                         // it subscribed to something
	acknowledgement chan mcp.JSONRPCNotification // has one when mcp-go has acknowledged that
}

var _ mcpserver.SessionWithResourceSubscriptionsErr = (*request)(nil)

// Handle answers a message within the timeout of a request; the answer to a notification
// or a response is nil. A panic ends the message alone. The error is [board.ErrReadOnly] if
// the message would have changed a list that its sender may only read; the answer then
// says so to the model.
func (s *Server) Handle(ctx context.Context, p Peer, m jsonrpc.Message) (answer mcp.JSONRPCMessage, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	r := &request{Peer: p, server: s, message: m}
	r.came = s.mcp.WithContext(ctx, r)
	r.ctx = r.came
	defer func() {
		if v := recover(); v != nil {
			s.Log.Error("request failed", "panic", v, "stack", string(debug.Stack()))
			answer = jsonrpc.Refuse(mcp.INTERNAL_ERROR, "the server failed; its log says why").Answer(m.ID)
		}
		r.observe(answer, time.Since(began))
	}()
	if m.Modern && m.ID != nil {
		answer = r.question()
	}
	if answer == nil {
		answer = s.mcp.HandleMessage(r.ctx, m.Brief)
	}
	if refused, ok := answer.(mcp.JSONRPCError); ok {
		answer = r.refusal(refused)
	}
	if r.errorType == errorReadOnly {
		return answer, board.ErrReadOnly
	}
	return answer, nil
}

// Listen serves the request subscriptions/listen, which has an id, until ctx ends: it
// sends the acknowledgement, notifications and then the answer. One that is refused is
// sent the answer alone.
func (s *Server) Listen(ctx context.Context, p Peer, m jsonrpc.Message, send func(mcp.JSONRPCMessage) error) {
	began := time.Now()
	r := &request{Peer: p, server: s, message: m}
	r.came = s.mcp.WithContext(ctx, r)
	r.stream, r.acknowledgement = rand.Text(), make(chan mcp.JSONRPCNotification, 1)
	stream := s.subscriptions.Open(r.subscribes())
	defer stream.Close()
	ended, end := context.WithCancel(r.came)
	end() // else mcp-go would wait for the end, and keep the whole request
	answer := s.mcp.HandleMessage(ended, m.Brief)
	if refused, ok := answer.(mcp.JSONRPCError); ok {
		answer = r.refusal(refused)
	}
	r.message.Brief, r.message.Params, r.said, r.client = nil, nil, nil, mcp.Implementation{} // not for a stream's life
	select {
	case acknowledgement := <-r.acknowledgement:
		if send(acknowledgement) == nil && r.listens {
			_ = stream.Serve(ctx, func(n mcp.JSONRPCNotification) error { return send(n) })
		}
	default: // it is refused
	}
	r.observe(answer, time.Since(began))
	_ = send(answer)
}

// Notifications opens the stream of what changes of what a peer's session subscribed to,
// which ends the session's stream before. It must be closed.
func (s *Server) Notifications(p Peer) *subscriptions.Stream {
	return s.subscriptions.Open(subscriptions.Client{Identity: p.Identity, Session: sessionKey(p)})
}

// attendTimeout is how long Attend waits for the store.
const attendTimeout = time.Second

// Attend says that the conversation of a peer's session is there, although it makes no
// call, until leave is called.
func (s *Server) Attend(ctx context.Context, p Peer) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	r := identified(s.mcp.WithContext(ctx, &request{Peer: p, server: s}), nil)
	stay := func() {
		ctx, cancel := context.WithTimeout(ctx, attendTimeout)
		defer cancel()
		if err := r.lists.Stay(ctx, r.who); err != nil && !errors.Is(err, context.Canceled) {
			s.Log.Warn("a session with a stream may count as gone", "error", err)
		}
	}
	stay()
	var staying sync.WaitGroup
	staying.Go(func() {
		for again := time.Tick(sessionLasts / 3); ; stay() {
			select {
			case <-again:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		staying.Wait()
	}
}

// EndSession removes the subscriptions of a peer's session that has ended, and ends its
// stream; its conversation counts as gone.
func (s *Server) EndSession(ctx context.Context, p Peer) {
	s.subscriptions.Unsubscribe(sessionKey(p), "")
	r := identified(s.mcp.WithContext(ctx, &request{Peer: p, server: s}), nil)
	if r.who.Shared {
		return // it is not the conversation that has ended
	}
	if err := r.lists.Leave(ctx, r.who); err != nil {
		s.Log.Warn("a session that ended still counts as there for a while", "error", err)
	}
}

// sessionKey is what a peer's session is known by to the subscriptions: a digest of its
// id, with which nobody can call.
func sessionKey(p Peer) string { return todo.Digest(p.Session) }

// subscribes returns who subscribes with the message, perhaps to thousands of resources.
func (r *request) subscribes() subscriptions.Client {
	if r.subscriber != nil {
		return *r.subscriber
	}
	var params struct {
		Meta *mcp.Meta `json:"_meta"` // which mcp-go drops in a subscribe request
	}
	r.message.Decode(&params)
	identified(r.came, params.Meta)
	c := subscriptions.Client{Identity: r.Identity, Session: sessionKey(r.Peer), Conversation: r.who}
	if r.stream != "" {
		c.Session, c.Listen = r.stream, r.message.ID
	}
	r.subscriber = &c
	return c
}

// SessionID implements mcpserver.ClientSession.
func (r *request) SessionID() string {
	if r.Process {
		return "stdio"
	}
	return r.Session
}

// SubscribeToResourceErr implements mcpserver.SessionWithResourceSubscriptionsErr.
func (r *request) SubscribeToResourceErr(uri string) error {
	r.listens = true
	return r.server.subscriptions.Subscribe(r.came, r.subscribes(), uri)
}

// UnsubscribeFromResource implements mcpserver.SessionWithResourceSubscriptions. What a
// stream of subscriptions/listen wants ends with it.
func (r *request) UnsubscribeFromResource(uri string) {
	if r.stream == "" {
		r.server.subscriptions.Unsubscribe(sessionKey(r.Peer), uri)
	}
}

// NotificationChannel implements mcpserver.ClientSession.
func (r *request) NotificationChannel() chan<- mcp.JSONRPCNotification { return r.acknowledgement }

// What mcp-go would have of a session that it keeps.
func (*request) Initialize()                        {}
func (*request) Initialized() bool                  { return true }
func (*request) SubscribeToResource(string)         {}
func (*request) SubscribedResources() []string      { return nil }
func (*request) IsSubscribedToResource(string) bool { return false }
