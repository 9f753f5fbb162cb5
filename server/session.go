package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
)

// Peer describes the sender of one message, as its transport knows it.
type Peer struct {
	board.Identity
	Client   mcp.Implementation // the session's clientInfo; for a request of 2026-07-28, [identified] sets it
	Apps     bool               // the session's client shows MCP Apps
	List     string             // the name of the list, from the URL or the Todo-List header; may be empty
	Session  string             // the HTTP session's id; empty for none
	Protocol string             // the protocol version that a session's client names with the message; may be empty
	Process  bool               // the client is the only one of this process, as on stdio
	Folder   string             // the path in its Todo-Folder header, else of its first root; empty for neither
}

// Introduce sets p.Client and p.Apps from an initialize request, and reports whether the client can be asked for its
// roots.
func (p *Peer) Introduce(initialize jsonrpc.Message) (hasRoots bool) {
	var says mcp.InitializeParams
	initialize.Decode(&says)
	p.Client, p.Apps = says.ClientInfo, card.ShownBy(says.Capabilities.Extensions)
	return says.Capabilities.Roots != nil
}

// request is a message and its sender. To mcp-go it is a client session.
type request struct {
	Peer
	server  *Server
	message jsonrpc.Message
	came    context.Context // the context of the message
	ctx     context.Context // came, or the context of mcp-go's handler, which a cancellation ends
	misread error           // why mcp-go could not read the params; nil if it could

	// Set by [identified]:
	lists board.Lists       // of the sender's principal
	said  map[string]string // the texts in _meta
	ended bool              // it is a sub-agent's last call
	host  todo.Chat         // the chat that makes this call, as a hook said; zero for most calls
	who   board.Conversation

	// Of a tool call:
	arguments json.RawMessage
	tool      string        // its name
	errorType string        // see [Config.Observe]; if empty, the code of a JSON-RPC error counts
	left      todo.Snapshot // an earlier session's open list, if the caller had no list

	// Of a subscription:
	subscriber      *subscriptions.Client        // nil until the message subscribes
	stream          string                       // a random id for subscriptions/listen, else empty
	listens         bool                         // the message subscribed to something
	acknowledgement chan mcp.JSONRPCNotification // receives mcp-go's acknowledgement of the request
}

// Handle answers a message within the timeout; the answer to a notification or a response is nil. A panic ends only the
// handling of its message. The error is [board.ErrReadOnly] if the sender may only read the list that the message would
// change; the answer then says so to the model.
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

// Listen serves the request subscriptions/listen until ctx ends: it sends the acknowledgement, notifications and then
// the answer. If the request is refused, it sends the answer alone.
func (s *Server) Listen(ctx context.Context, p Peer, m jsonrpc.Message, send func(mcp.JSONRPCMessage) error) {
	began := time.Now()
	r := &request{Peer: p, server: s, message: m}
	r.came = s.mcp.WithContext(ctx, r)
	r.stream, r.acknowledgement = rand.Text(), make(chan mcp.JSONRPCNotification, 1)
	stream := s.subscriptions.Open(r.subscribes())
	defer stream.Close()
	ended, end := context.WithCancel(r.came)
	end() // else mcp-go waits until the stream ends, and keeps the whole request
	answer := s.mcp.HandleMessage(ended, m.Brief)
	if refused, ok := answer.(mcp.JSONRPCError); ok {
		answer = r.refusal(refused)
	}
	r.message.Brief, r.message.Params, r.said, r.Client = nil, nil, nil, mcp.Implementation{} // free them while the stream is open
	select {
	case acknowledgement := <-r.acknowledgement:
		if send(acknowledgement) == nil && r.listens {
			_ = stream.Serve(ctx, func(n mcp.JSONRPCNotification) error { return send(n) })
		}
	default: // the request was refused
	}
	r.observe(answer, time.Since(began))
	_ = send(answer)
}

// Notifications opens the stream of changes that a peer's session subscribed to, and ends the session's previous one.
// The stream must be closed.
func (s *Server) Notifications(p Peer) *subscriptions.Stream {
	return s.subscriptions.Open(subscriptions.Client{Identity: p.Identity, Session: sessionKey(p)})
}

// Attend keeps a session's conversation present, even without calls, until ctx ends.
func (s *Server) Attend(ctx context.Context, p Peer) {
	r := identified(s.mcp.WithContext(ctx, &request{Peer: p, server: s}), nil)
	stay := func() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := r.lists.Stay(ctx, r.who); err != nil && !errors.Is(err, context.Canceled) {
			s.Log.Warn("a session with a stream may count as gone", "error", err)
		}
	}
	stay()
	go func() {
		for again := time.Tick(sessionLasts / 3); ; stay() {
			select {
			case <-again:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// EndSession removes a session's subscriptions, ends its stream, and marks its unshared conversation as gone.
func (s *Server) EndSession(ctx context.Context, p Peer) {
	s.subscriptions.Unsubscribe(sessionKey(p), "")
	r := identified(s.mcp.WithContext(ctx, &request{Peer: p, server: s}), nil)
	if r.who.Shared {
		return // other sessions may share the conversation
	}
	if err := r.lists.Leave(ctx, r.who); err != nil {
		s.Log.Warn("a session that ended still counts as present for a while", "error", err)
	}
}

// sessionKey identifies a session in subscriptions. It is a digest, so that it cannot be used as a session id.
func sessionKey(p Peer) string { return todo.Digest(p.Session) }

// subscribes returns the client that the message subscribes. It is computed once, as a message may name thousands of
// resources.
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
func (r *request) SessionID() string { return r.Session }

// SubscribeToResourceErr implements mcpserver.SessionWithResourceSubscriptionsErr.
func (r *request) SubscribeToResourceErr(uri string) error {
	r.listens = true
	return r.server.subscriptions.Subscribe(r.came, r.subscribes(), uri)
}

// UnsubscribeFromResource implements mcpserver.SessionWithResourceSubscriptions. The subscriptions of
// subscriptions/listen end with their stream.
func (r *request) UnsubscribeFromResource(uri string) {
	if r.stream == "" {
		r.server.subscriptions.Unsubscribe(sessionKey(r.Peer), uri)
	}
}

// NotificationChannel implements mcpserver.ClientSession.
func (r *request) NotificationChannel() chan<- mcp.JSONRPCNotification { return r.acknowledgement }

// mcp-go needs these methods only for sessions that it keeps itself.
func (*request) Initialize()                        {}
func (*request) Initialized() bool                  { return true }
func (*request) SubscribeToResource(string)         {}
func (*request) SubscribedResources() []string      { return nil }
func (*request) IsSubscribedToResource(string) bool { return false }

// Error types for [Config.Observe] that are not JSON-RPC codes.
const errorTool, errorCancelled, errorReadOnly = "tool_error", "cancelled", "read_only"

var methods = []mcp.MCPMethod{
	mcp.MethodInitialize, mcp.MethodPing, mcp.MethodServerDiscover, mcp.MethodSetLogLevel, mcp.MethodCompletionComplete,
	mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodPromptsList, mcp.MethodPromptsGet,
	mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead,
	mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodSubscriptionsListen,
}

// observe reports an answered message to [Config.Observe] if it was a request.
func (r *request) observe(answer mcp.JSONRPCMessage, took time.Duration) {
	if r.server.Observe == nil || r.message.ID == nil {
		return
	}
	method, protocol, transport, errorType := r.message.Method, r.Protocol, "tcp", r.errorType
	if !slices.Contains(methods, mcp.MCPMethod(method)) {
		method = "_OTHER"
	}
	if r.message.Modern {
		protocol = r.message.Protocol
	}
	if !slices.Contains(mcp.ValidProtocolVersions, protocol) {
		protocol = ""
	}
	if r.Process {
		transport = "pipe"
	}
	refused, isRefused := answer.(mcp.JSONRPCError)
	switch {
	case isRefused && errors.Is(r.came.Err(), context.Canceled):
		errorType = errorCancelled
	case isRefused && errorType == "":
		errorType = strconv.Itoa(refused.Error.Code)
	}
	r.server.Observe(took, errorType, r.tool, method, protocol, transport)
}
