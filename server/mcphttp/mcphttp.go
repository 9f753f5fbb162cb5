// Package mcphttp serves MCP over streamable HTTP. The protocol era is decided
// for each request.
//
// A session id stays valid after a restart and on every replica with the same
// key, and cannot be forged. An abandoned session uses no memory. A message of
// one client never affects the calls of another (BAD-INPUT 22).
package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/card"
	"todo-mcp/server/edge"
	"todo-mcp/server/jsonrpc"
	"todo-mcp/server/sse"
)

// Handler serves MCP on the route /mcp.
type Handler struct {
	server      *server.Server
	sessions    *sessions
	mcp         *mcpserver.MCPServer            // for messages of sessions
	sessionless *mcpserver.StreamableHTTPServer // for the protocol without them

	mu      sync.Mutex
	streams map[string]*getStream // by session id
}

// New returns a handler that passes messages to a server.
func New(s *server.Server) *Handler {
	h := &Handler{server: s, mcp: s.MCP(), sessions: newSessions(s.SessionKey), streams: make(map[string]*getStream)}
	h.sessionless = mcpserver.NewStreamableHTTPServer(s.MCP(),
		mcpserver.WithSessionIdManager(noSessions{}),
		// The edge checks Host and Origin on every route.
		mcpserver.WithDisableLocalhostProtection(true),
		// mcp-go would log each answer to a disconnected client as an error.
		mcpserver.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	return h
}

// Route adds /mcp to an edge.
func (h *Handler) Route(e *edge.Edge) { e.Handle("/mcp", jsonRPC, h.serve, edge.Stream) }

// jsonRPC is the [edge.Format] that writes a failure as a JSON-RPC error.
func jsonRPC(w http.ResponseWriter, status int, text string) {
	refuse(w, status, nil, jsonrpc.Refuse(mcp.INVALID_REQUEST, "%s", text))
}

// exchange is one HTTP request and the message in its body.
type exchange struct {
	*edge.Request
	message jsonrpc.Message // zero except for POST
	peer    server.Peer     // with the session once it was checked
	modern  bool            // it uses the sessionless protocol
}

// serve answers a request: it makes the checks that mcp-go lacks and then passes a
// message of a session to mcp-go, or a sessionless request.
func (h *Handler) serve(w http.ResponseWriter, r *edge.Request) error {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	x := &exchange{Request: r, modern: mcp.IsModernProtocol(version), peer: server.Peer{Identity: r.Identity,
		List: cmp.Or(r.URL.Query().Get("list"), r.Header.Get("Todo-List")), Protocol: version}}
	switch r.Method {
	case http.MethodPost:
		return h.post(w, x)
	case http.MethodGet, http.MethodDelete:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return &edge.Error{Status: http.StatusMethodNotAllowed, Text: "method not allowed"}
	}
	switch {
	case !x.check(w):
	case x.modern: // mcp-go answers that there are no such streams and sessions
		h.passToMCP(r.Context(), w, x)
	case !h.checkSession(w, x):
	case r.Method == http.MethodGet:
		return h.get(w, x)
	default:
		h.delete(x)
	}
	return nil
}

// passToMCP lets mcp-go answer a sessionless request, with its sender in the context.
func (h *Handler) passToMCP(ctx context.Context, w http.ResponseWriter, x *exchange) {
	x.Body = io.NopCloser(bytes.NewReader(x.message.Brief))
	h.sessionless.ServeHTTP(w, x.Request.WithContext(server.WithPeer(ctx, x.peer)))
}

// check answers a request with an invalid list name or an unknown protocol
// version with an error. It reports whether the request is valid.
func (x *exchange) check(w http.ResponseWriter) bool {
	if x.peer.List != "" {
		if err := todo.CheckName(x.peer.List); err != nil {
			refuse(w, http.StatusBadRequest, x.message.ID, jsonrpc.Refuse(mcp.INVALID_PARAMS, "%s", err))
			return false
		}
	}
	version := x.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || slices.Contains(mcp.ValidProtocolVersions, version) {
		return true
	}
	// The error lists the supported versions (BAD-INPUT 23).
	detail := mcp.UnsupportedProtocolVersionError{Version: todo.Cut(version, 32), Supported: mcp.ValidProtocolVersions}.JSONRPCError()
	detail.ID = jsonrpc.RequestID(x.message.ID)
	_ = edge.WriteJSON(w, http.StatusBadRequest, detail)
	return false
}

// post answers a POST request, which carries one message.
func (h *Handler) post(w http.ResponseWriter, x *exchange) error {
	raw, unread := x.ReadJSON(w, x.scan)
	if unread != nil {
		refuse(w, unread.Status, x.message.ID, jsonrpc.Refuse(mcp.INVALID_REQUEST, "%s", unread.Text))
		return nil
	}
	m, bad := jsonrpc.Read(raw)
	if bad != nil {
		refuse(w, http.StatusBadRequest, m.ID, bad)
		return nil
	}
	x.message, x.modern, x.peer.Arguments = m, x.modern || m.Modern, m.Arguments
	if !x.check(w) {
		return nil
	}
	switch {
	case x.modern && m.Method == string(mcp.MethodNotificationCancelled):
		// Without a session mcp-go would cancel the call of any client that
		// has this id (BAD-INPUT 22). A sessionless client cancels a call by
		// closing its request.
		w.WriteHeader(http.StatusAccepted)
		return nil
	case m.Method == string(mcp.MethodInitialize):
		x.peer.Client, x.peer.Apps = m.Client, card.ShownBy(m.Extensions)
	case !x.modern && !h.checkSession(w, x):
		return nil
	}
	if x.ReadOnly && h.server.Writes(m.Method, raw) {
		refusal := x.Forbid(w)
		refuse(w, refusal.Status, m.ID, jsonrpc.Refuse(mcp.INVALID_REQUEST, "%s", refusal.Text))
		return nil
	}
	switch {
	case !x.modern:
		return h.answer(w, x)
	case m.Method == string(mcp.MethodSubscriptionsListen):
		return h.stream(w, x)
	default:
		h.passToMCP(x.Context(), w, x)
	}
	return nil
}

// answer answers a message of a session, or the one that begins it. Of mcp-go's own
// transport nothing is used here: the id of a session carries everything, so that
// nothing is kept of one.
func (h *Handler) answer(w http.ResponseWriter, x *exchange) error {
	var answer mcp.JSONRPCMessage
	if x.message.Method != "" { // a response answers nothing: the server sends no requests
		ctx := h.mcp.WithContext(server.WithPeer(x.Context(), x.peer), session(x.peer.Session))
		answer = h.mcp.HandleMessage(ctx, x.message.Brief)
	}
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if _, ok := answer.(mcp.JSONRPCResponse); ok && x.message.Method == string(mcp.MethodInitialize) {
		w.Header().Set(mcpserver.HeaderKeySessionID, h.sessions.begin(x.Identity, x.peer.Client, x.peer.Apps))
	}
	return edge.WriteJSON(w, http.StatusOK, answer)
}

// scan sets the message to what a scanner finds in a body that is too large. It
// sets nothing when the body cannot be read whole: it might have a second id.
func (x *exchange) scan(body io.Reader) {
	var s jsonrpc.Scanner
	if _, err := io.Copy(&s, body); err == nil {
		x.message = s.Message()
	}
}

// stream lets mcp-go serve a stream, which also ends with the request and the edge.
func (h *Handler) stream(w http.ResponseWriter, x *exchange) error {
	return x.Stream(w, func(stream *sse.Stream) error {
		acknowledged, written := context.WithCancel(context.Background())
		defer written()
		x.peer.ListenAcknowledged = func(ctx context.Context, _ any) {
			select {
			case <-acknowledged.Done():
			case <-ctx.Done():
			}
		}
		h.passToMCP(stream.Context(), &firstWrite{stream, written}, x)
		return nil
	})
}

// firstWrite is a stream that says when something was written to it.
type firstWrite struct {
	*sse.Stream
	written func()
}

// Write implements http.ResponseWriter.
func (f *firstWrite) Write(p []byte) (int, error) {
	defer f.written()
	return f.Stream.Write(p)
}

// checkSession answers a request without a session id, or with a forged or
// ended one, with an error, and reports whether the id is valid. Status 404
// makes a client begin a new session.
func (h *Handler) checkSession(w http.ResponseWriter, x *exchange) bool {
	id := x.Header.Get(mcpserver.HeaderKeySessionID)
	if id == "" {
		refuse(w, http.StatusBadRequest, x.message.ID, jsonrpc.Refuse(mcp.INVALID_REQUEST,
			"the %s header is missing: send initialize first, or name protocol version %s in _meta", mcpserver.HeaderKeySessionID, mcp.ProtocolVersion20260728))
		return false
	}
	claims, ended, err := h.sessions.check(id, x.Identity)
	if err != nil || ended {
		refuse(w, http.StatusNotFound, x.message.ID, jsonrpc.Refuse(mcp.INVALID_REQUEST, "unknown or ended session: send initialize again"))
		return false
	}
	x.peer.Session, x.peer.Apps, x.peer.Client = id, claims.Apps, mcp.Implementation{Name: claims.Client, Version: claims.Version}
	return true
}

// getStream is a session's open GET stream.
type getStream struct {
	end   context.CancelFunc
	ended chan struct{}
}

// get answers a GET request, which opens the stream of a session.
func (h *Handler) get(w http.ResponseWriter, x *exchange) error {
	ctx, cancel := context.WithCancel(server.WithPeer(x.Context(), x.peer))
	defer h.replaceStream(x.peer.Session, cancel)()
	var attending sync.WaitGroup
	defer attending.Wait()
	defer cancel()
	attending.Go(h.server.Attend(ctx))
	return x.Stream(w, func(stream *sse.Stream) error {
		defer context.AfterFunc(ctx, stream.End)()
		return h.listen(x, stream)
	})
}

// listen sends the notifications of a session on its stream until that ends.
//
// mcp-go's own stream is not used: the answers to other requests of the session
// read from the same queue, so that a notification may go with one of them, or is
// lost if that answer is just complete.
//
// Every message has an id, and where the protocol allows it the stream begins with
// one: a client that has seen none may give up its session after it has opened the
// stream again a few times, as the official SDK for Go does after five.
func (h *Handler) listen(x *exchange, stream *sse.Stream) error {
	notifications := make(chan mcp.JSONRPCNotification, 16)
	h.server.Notify(server.WithPeer(stream.Context(), x.peer), notifications)
	if stream.Begin() != nil {
		return nil // the client is gone
	}
	if x.Header.Get(mcp.HeaderProtocolVersion) >= primedSince {
		if err := stream.Prime(h.server.Now().UnixNano()); err != nil {
			return nil // the client is gone
		}
	}
	for {
		select {
		case n := <-notifications:
			if err := stream.Send(sse.Event{ID: h.server.Now().UnixNano(), Name: "message", Data: n}); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

// primedSince is the first protocol version whose clients accept an event without data
// (SEP-1699).
const primedSince = "2025-11-25"

// session is the id of a session, as mcp-go takes a session.
type session string

var _ mcpserver.ClientSession = session("")

func (s session) SessionID() string                                 { return string(s) }
func (session) Initialize()                                         {}
func (session) Initialized() bool                                   { return true }
func (session) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// replaceStream registers a session's new stream, and ends the old one and
// waits for its end: a session has one stream, and the client may have lost the
// old one without the server noticing. The caller must call remove when the new
// stream has ended.
func (h *Handler) replaceStream(id string, end context.CancelFunc) (remove func()) {
	stream := &getStream{end: end, ended: make(chan struct{})}
	h.mu.Lock()
	old := h.streams[id]
	h.streams[id] = stream
	h.mu.Unlock()
	if old != nil {
		old.end()
		<-old.ended
	}
	return func() {
		h.mu.Lock()
		if h.streams[id] == stream {
			delete(h.streams, id)
		}
		h.mu.Unlock()
		close(stream.ended)
	}
}

// delete answers a DELETE request, which ends a session.
func (h *Handler) delete(x *exchange) {
	id := x.peer.Session
	h.sessions.end(id, x.Identity)
	h.mu.Lock()
	if stream := h.streams[id]; stream != nil {
		stream.end()
	}
	h.mu.Unlock()
	h.server.EndSession(server.WithPeer(x.Context(), x.peer))
}

// refuse answers the request with an id (as JSON; nil is sent as null) with a
// JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, err *jsonrpc.Error) {
	_ = edge.WriteJSON(w, status, err.Answer(id))
}
