package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/server/card"
	"todo-mcp/server/jsonrpc"
	"todo-mcp/server/subscriptions"
)

// Peer describes the sender of one message, as its transport knows it.
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
}

// Introduce sets what the peer says of itself in an initialize request, and reports
// whether it can be asked for its roots.
func (p *Peer) Introduce(initialize jsonrpc.Message) (hasRoots bool) {
	var says mcp.InitializeParams
	initialize.Decode(&says)
	p.Client, p.Apps = says.ClientInfo, card.ShownBy(says.Capabilities.Extensions)
	return says.Capabilities.Roots != nil
}

// session is a message and its sender, as mcp-go takes the session of a client.
type session struct {
	Peer
	server  *Server
	ctx     context.Context // of the message
	message jsonrpc.Message

	// What its handling found:
	tool       string // the tool that it calls
	toolFailed bool   // the result says that the model made a mistake
	readOnly   bool   // it would have changed a list that its sender may only read

	client *subscriptions.Client // nil until the message subscribes
	// Of subscriptions/listen alone:
	stream          string                       // what it is known by to the subscriptions
	listens         bool                         // it subscribed to something
	acknowledgement chan mcp.JSONRPCNotification // has one when mcp-go has acknowledged it
}

var _ mcpserver.SessionWithResourceSubscriptionsErr = (*session)(nil)

// newSession returns a message of a peer, with a context for its handling.
func (s *Server) newSession(ctx context.Context, p Peer, m jsonrpc.Message) *session {
	session := &session{Peer: p, server: s, message: m}
	session.ctx = s.mcp.WithContext(ctx, session)
	return session
}

// sessionOf returns the message that a context belongs to.
func sessionOf(ctx context.Context) *session {
	return mcpserver.ClientSessionFromContext(ctx).(*session)
}

// gone reports whether the sender left before the message was answered.
func (s *session) gone() bool { return errors.Is(s.ctx.Err(), context.Canceled) }

// Handle answers a message within the timeout of a request; the answer to a notification
// or a response is nil. A panic ends the message alone. The error is [todo.ErrReadOnly] if
// the message would have changed a list that its sender may only read; the answer then
// says so to the model.
func (s *Server) Handle(ctx context.Context, p Peer, m jsonrpc.Message) (answer mcp.JSONRPCMessage, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	session := s.newSession(ctx, p, m)
	defer func() {
		if v := recover(); v != nil {
			s.Log.Error("request failed", "panic", v, "stack", string(debug.Stack()))
			answer = jsonrpc.Refuse(mcp.INTERNAL_ERROR, "the server failed; its log says why").Answer(m.ID)
		}
		session.observe(answer, time.Since(began))
	}()
	if m.Modern && m.ID != nil {
		answer = session.question()
	}
	if answer == nil {
		answer = s.mcp.HandleMessage(session.ctx, m.Brief)
	}
	if refused, ok := answer.(mcp.JSONRPCError); ok && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		refused.Error.Message += fmt.Sprintf(" after %s (see --request-timeout)", s.Timeout)
		answer = refused
	}
	if session.readOnly {
		return answer, todo.ErrReadOnly
	}
	return answer, nil
}

// Listen serves the request subscriptions/listen, which has an id, until ctx ends: it
// sends the acknowledgement, notifications and then the answer. One that is refused is
// sent the answer alone.
func (s *Server) Listen(ctx context.Context, p Peer, m jsonrpc.Message, send func(mcp.JSONRPCMessage) error) {
	began := time.Now()
	session := s.newSession(ctx, p, m)
	session.stream, session.acknowledgement = rand.Text(), make(chan mcp.JSONRPCNotification, 1)
	stream := s.subscriptions.Open(session.subscriber())
	defer stream.Close()
	ended, end := context.WithCancel(session.ctx)
	end() // else mcp-go would wait for the end, and keep the whole request
	answer := s.mcp.HandleMessage(ended, m.Brief)
	session.message.Brief, session.message.Params = nil, nil
	select {
	case acknowledgement := <-session.acknowledgement:
		if send(acknowledgement) == nil && session.listens {
			_ = stream.Serve(ctx, func(n mcp.JSONRPCNotification) error { return send(n) })
		}
	default: // it is refused
	}
	session.observe(answer, time.Since(began))
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
	r := s.newRequest(s.newSession(ctx, p, jsonrpc.Message{}).ctx, nil)
	who := s.caller(r).who
	stay := func() {
		ctx, cancel := context.WithTimeout(ctx, attendTimeout)
		defer cancel()
		if err := r.lists.Stay(ctx, who); err != nil && !errors.Is(err, context.Canceled) {
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
	session := s.newSession(ctx, p, jsonrpc.Message{})
	s.subscriptions.Unsubscribe(sessionKey(p), "")
	r := s.newRequest(session.ctx, nil)
	who := s.caller(r).who
	if who.Shared {
		return // it is not the conversation that has ended
	}
	if err := r.lists.Leave(ctx, who); err != nil {
		s.Log.Warn("a session that ended still counts as there for a while", "error", err)
	}
}

// sessionKey is what a peer's session is known by to the subscriptions: a digest of its
// id, with which nobody can call.
func sessionKey(p Peer) string { return digest(p.Session) }

// subscriber returns who subscribes with the message, perhaps to thousands of resources.
func (s *session) subscriber() subscriptions.Client {
	if s.client != nil {
		return *s.client
	}
	var params struct {
		Meta *mcp.Meta `json:"_meta"` // which mcp-go drops in a subscribe request
	}
	s.message.Decode(&params)
	who := s.server.caller(s.server.newRequest(s.ctx, params.Meta)).who
	c := subscriptions.Client{Identity: s.Identity, Session: sessionKey(s.Peer), Conversation: who}
	if s.stream != "" {
		c.Session, c.Listen = s.stream, s.message.ID
	}
	s.client = &c
	return c
}

// SessionID implements mcpserver.ClientSession.
func (s *session) SessionID() string {
	if s.Process {
		return "stdio"
	}
	return s.Peer.Session
}

// SubscribeToResourceErr implements mcpserver.SessionWithResourceSubscriptionsErr.
func (s *session) SubscribeToResourceErr(uri string) error {
	s.listens = true
	return s.server.subscriptions.Subscribe(s.ctx, s.subscriber(), uri)
}

// UnsubscribeFromResource implements mcpserver.SessionWithResourceSubscriptions. What a
// stream of subscriptions/listen wants ends with it.
func (s *session) UnsubscribeFromResource(uri string) {
	if s.stream == "" {
		s.server.subscriptions.Unsubscribe(sessionKey(s.Peer), uri)
	}
}

// NotificationChannel implements mcpserver.ClientSession.
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.acknowledgement }

// What mcp-go would have of a session that it keeps.
func (*session) Initialize()                        {}
func (*session) Initialized() bool                  { return true }
func (*session) SubscribeToResource(string)         {}
func (*session) SubscribedResources() []string      { return nil }
func (*session) IsSubscribedToResource(string) bool { return false }
