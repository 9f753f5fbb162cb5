// Package mcphttp serves MCP over streamable HTTP. Each request says whether it uses the protocol with sessions or
// the one without.
//
// A session id stays valid after a restart and on every replica with the same key, and cannot be forged. An abandoned
// session uses no memory. A message of one client never affects the calls of another (BAD-INPUT 22).
package mcphttp

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/signed"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

type handler struct {
	server *server.Server
	key    signed.Key // signs session ids

	mu    sync.Mutex
	ended map[string]bool // session ids that clients ended, in this process
}

// maxEnded is how many ended sessions are remembered. At that number all are forgotten, and their ids are valid again.
const maxEnded = 10_000

// Route adds /mcp to an edge, and also /mcp/, which some people write: clients do not follow a redirect of a POST.
func Route(e *edge.Edge, s *server.Server) {
	h := &handler{server: s, key: sync.OnceValue(s.SessionKey), ended: make(map[string]bool)}
	e.Handle("/mcp", jsonRPC, h.serve, edge.Stream)
	e.Handle("/mcp/{$}", jsonRPC, h.serve, edge.Stream)
}

// jsonRPC is the [edge.Format] that writes a failure as a JSON-RPC error.
func jsonRPC(w http.ResponseWriter, status int, text string) {
	_ = new(exchange).refuse(w, status, jsonrpc.Refuse(mcp.INVALID_REQUEST, "%s", text))
}

// exchange is one HTTP request and the message in its body.
type exchange struct {
	*edge.Request
	message jsonrpc.Message // zero except for POST
	peer    server.Peer     // [handler.check] sets its session
	purpose string          // what a session id is signed for: a session of this principal and subject
	modern  bool            // the request uses the sessionless protocol
}

// serve answers a request: it makes the checks that mcp-go lacks and passes the message to the server.
func (h *handler) serve(w http.ResponseWriter, r *edge.Request) error {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	x := &exchange{Request: r, modern: mcp.IsModernProtocol(version), purpose: "session of " + r.Principal + "\x00" + r.Subject,
		peer: server.Peer{Identity: r.Identity, Protocol: version, List: cmp.Or(r.URL.Query().Get("list"), r.Header.Get("Todo-List"))}}
	if folder := r.Header.Get("Todo-Folder"); folder != "" {
		x.peer.Folder = server.HeaderFolder(folder)
	}
	switch r.Method {
	case http.MethodPost:
		raw, unread := x.ReadJSON(w)
		if unread != nil {
			return x.refuse(w, unread.Status, jsonrpc.Refuse(mcp.INVALID_REQUEST, "%s", unread.Text))
		}
		var bad *jsonrpc.Error
		if x.message, bad = jsonrpc.Read(raw); bad != nil {
			return x.refuse(w, http.StatusBadRequest, bad)
		}
		x.modern = x.modern || x.message.Modern
	case http.MethodGet, http.MethodDelete:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return &edge.Error{Status: http.StatusMethodNotAllowed, Text: "method not allowed"}
	}
	switch status, err := h.check(x); {
	case err != nil:
		return x.refuse(w, status, err)
	case r.Method == http.MethodPost:
		return h.post(w, x)
	case x.modern:
		w.Header().Set("Allow", http.MethodPost)
		return &edge.Error{Status: http.StatusMethodNotAllowed, Text: "this protocol version has no sessions: POST subscriptions/listen"}
	case r.Method == http.MethodGet:
		return h.get(w, x)
	default:
		h.mu.Lock()
		if len(h.ended) >= maxEnded {
			clear(h.ended)
		}
		h.ended[x.peer.Session] = true
		h.mu.Unlock()
		h.server.EndSession(x.Context(), x.peer)
	}
	return nil
}

// refuse answers a request with an error, which has the message's id.
func (x *exchange) refuse(w http.ResponseWriter, status int, err *jsonrpc.Error) error {
	return edge.WriteJSON(w, status, err.Answer(x.message.ID))
}

// check checks a request's list name, protocol version and session. It returns the status and the error of a refusal;
// the error is nil if all are valid. It sets the session in the peer.
func (h *handler) check(x *exchange) (status int, refused *jsonrpc.Error) {
	if x.peer.List != "" {
		if err := todo.CheckName(x.peer.List); err != nil {
			return http.StatusBadRequest, jsonrpc.Refuse(mcp.INVALID_PARAMS, "%s", err)
		}
	}
	if v := x.peer.Protocol; v != "" && !slices.Contains(mcp.ValidProtocolVersions, v) {
		// The error lists the supported versions (BAD-INPUT 23).
		e := mcp.UnsupportedProtocolVersionError{Version: todo.Cut(v, 32), Supported: mcp.ValidProtocolVersions}.JSONRPCError().Error
		return http.StatusBadRequest, (*jsonrpc.Error)(&e)
	}
	switch {
	case x.modern:
		return http.StatusBadRequest, x.checkModern()
	case x.message.Method == string(mcp.MethodInitialize):
		x.peer.Introduce(x.message)
		return http.StatusOK, nil
	}
	id := x.Header.Get(mcpserver.HeaderKeySessionID)
	if id == "" {
		return http.StatusBadRequest, jsonrpc.Refuse(mcp.INVALID_REQUEST, "the %s header is missing: send initialize first, or name protocol version %s in _meta",
			mcpserver.HeaderKeySessionID, mcp.ProtocolVersion20260728)
	}
	var says claims
	h.mu.Lock()
	hasEnded := h.ended[id]
	h.mu.Unlock()
	if hasEnded || !h.key.Open(x.purpose, id, &says) { // status 404 makes a client begin a new session
		return http.StatusNotFound, jsonrpc.Refuse(mcp.INVALID_REQUEST, "unknown or ended session: send initialize again")
	}
	x.peer.Session, x.peer.Apps, x.peer.Client = id, says.Apps, mcp.Implementation{Name: says.Client, Version: says.Version}
	return http.StatusOK, nil
}

// checkModern returns why a sessionless message is refused: its headers must agree with its body as read by mcp-go.
func (x *exchange) checkModern() *jsonrpc.Error {
	if x.Method != http.MethodPost {
		return nil
	}
	var params struct {
		Meta *mcp.Meta `json:"_meta"`
	}
	x.message.Decode(&params)
	switch version := params.Meta.ProtocolVersion(); {
	case version == "" && x.message.ID == nil: // the official Go SDK's notifications name no version
	case version == "":
		return jsonrpc.Refuse(mcp.INVALID_PARAMS, "missing or invalid _meta field %s", mcp.MetaKeyProtocolVersion)
	case version != x.peer.Protocol:
		return jsonrpc.Refuse(mcp.HEADER_MISMATCH, "the header %s is %q, and %s in _meta %q",
			mcp.HeaderProtocolVersion, x.peer.Protocol, mcp.MetaKeyProtocolVersion, todo.Cut(version, 32))
	case x.message.ID != nil:
		if err := mcp.ValidateStandardHeaders(x.Header.Get, version, mcp.MCPMethod(x.message.Method), x.message.Params); err != nil {
			return jsonrpc.Refuse(mcp.HEADER_MISMATCH, "%s", err)
		}
	}
	return nil
}

func (h *handler) post(w http.ResponseWriter, x *exchange) error {
	switch method := x.message.Method; {
	case method == "", // a response: the server sends no requests
		// Without a session mcp-go would cancel any client's call with this id (BAD-INPUT 22). A sessionless client
		// cancels a call by closing its request.
		x.modern && method == string(mcp.MethodNotificationCancelled):
		w.WriteHeader(http.StatusAccepted)
		return nil
	case x.modern && method == string(mcp.MethodSubscriptionsListen) && x.message.ID != nil:
		return h.listen(w, x)
	}
	answer, err := h.server.Handle(x.Context(), x.peer, x.message)
	refused, isRefused := answer.(mcp.JSONRPCError)
	switch {
	case errors.Is(err, board.ErrReadOnly):
		forbidden := x.Forbid(w)
		return x.refuse(w, forbidden.Status, jsonrpc.Refuse(mcp.INVALID_REQUEST, "%s", forbidden.Text))
	case answer == nil:
		w.WriteHeader(http.StatusAccepted)
		return nil
	case isRefused && x.modern:
		return edge.WriteJSON(w, statusOf(refused), answer)
	case !isRefused && x.message.Method == string(mcp.MethodInitialize):
		x.Greet(x.peer.Client.Name)
		says := claims{Nonce: rand.Text(), Client: todo.Cut(x.peer.Client.Name, 64), Version: todo.Cut(x.peer.Client.Version, 32), Apps: x.peer.Apps}
		w.Header().Set(mcpserver.HeaderKeySessionID, h.key.Sign(x.purpose, says))
	}
	return edge.WriteJSON(w, http.StatusOK, answer)
}

// statusOf returns the HTTP status of an error in the sessionless protocol.
func statusOf(refused mcp.JSONRPCError) int {
	switch refused.Error.Code {
	case mcp.INTERNAL_ERROR:
		return http.StatusOK
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

func (h *handler) listen(w http.ResponseWriter, x *exchange) error {
	return x.Stream(w, func(stream *sse.Stream) error {
		h.server.Listen(stream.Context(), x.peer, x.message, func(m mcp.JSONRPCMessage) error {
			if refused, ok := m.(mcp.JSONRPCError); ok && statusOf(refused) != http.StatusOK {
				return edge.WriteJSON(w, statusOf(refused), m)
			}
			return stream.Send(sse.Event{Name: "message", Data: m})
		})
		return nil
	})
}

// get answers a GET request with the stream of a session.
//
// Each message has an id. Where the protocol allows it, the stream begins with an event that has only an id (SEP-1699):
// clients that have seen no id may give up the session after a few reconnections, the official Go SDK after five.
func (h *handler) get(w http.ResponseWriter, x *exchange) error {
	h.server.Attend(x.Context(), x.peer)
	return x.Stream(w, func(stream *sse.Stream) error {
		notifications := h.server.Notifications(x.peer)
		defer notifications.Close()
		if stream.Begin() != nil {
			return nil // the client is gone
		}
		isAllowed := x.peer.Protocol >= "2025-11-25"
		if isAllowed && stream.SendEncoded(fmt.Appendf(nil, "id: %d\ndata:\n\n", time.Now().UnixNano())) != nil {
			return nil
		}
		return notifications.Serve(stream.Context(), func(n mcp.JSONRPCNotification) error {
			return stream.Send(sse.Event{ID: time.Now().UnixNano(), Name: "message", Data: n})
		})
	})
}

// claims are the content of a session id. The id is signed for its [exchange.purpose]. So it stays valid after a
// restart and on every replica with the same key, needs no memory and cannot be forged.
type claims struct {
	Nonce   string `json:"n"`
	Client  string `json:"c,omitempty"`
	Version string `json:"v,omitempty"`
	Apps    bool   `json:"a,omitempty"` // the client shows MCP Apps
}
