// Package mcphttp serves MCP over streamable HTTP, in both protocol eras, decided
// per request.
//
// It promises that a session's id holds after a restart and on every replica with
// the same key, and cannot be forged; that an abandoned session costs no memory;
// and that one client's messages never act on another's calls (BAD-INPUT 22).
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
	"todo-mcp/server/edge"
	"todo-mcp/server/jsonrpc"
)

// Config is what MCP over HTTP needs.
type Config struct {
	// SessionKey returns the key that signs session ids. It is called once,
	// when the first is needed.
	SessionKey func() []byte
}

// Handler serves MCP at one address, in both protocol eras.
type Handler struct {
	server   *server.Server
	sessions *sessions
	mcp      *mcpserver.StreamableHTTPServer

	mu      sync.Mutex
	streams map[string]*getStream // by session id
}

// New returns a server's MCP over HTTP.
func New(s *server.Server, c Config) *Handler {
	h := &Handler{server: s, sessions: newSessions(c.SessionKey), streams: make(map[string]*getStream)}
	h.mcp = mcpserver.NewStreamableHTTPServer(s.MCP(),
		mcpserver.WithSessionIdManagerResolver(h.sessions),
		// The edge checks Host and Origin, on every route and address.
		mcpserver.WithDisableLocalhostProtection(true),
		// It logs every answer to a client that has gone as an error.
		mcpserver.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	return h
}

// Route adds the address to an edge.
func (h *Handler) Route(e *edge.Edge) { e.HandleUnbounded("/mcp", jsonRPC, h.serve) }

// jsonRPC writes a failure of the edge's as JSON-RPC has it.
func jsonRPC(w http.ResponseWriter, status int, text string) {
	refuse(w, status, nil, jsonrpc.Refuse(mcp.INVALID_REQUEST, "%s", text))
}

// exchange is one request with what is known of it.
type exchange struct {
	*edge.Request
	message jsonrpc.Message
	list    string // the list that the URL or header names
}

type exchangeKey struct{}

// serve closes mcp-go's gaps before and behind its handler.
func (h *Handler) serve(w http.ResponseWriter, r *edge.Request) error {
	x := &exchange{Request: r, list: cmp.Or(r.URL.Query().Get("list"), r.Header.Get("Todo-List"))}
	switch r.Method {
	case http.MethodPost:
		return h.post(w, x)
	case http.MethodGet:
		return h.get(w, x)
	case http.MethodDelete:
		h.delete(w, x)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return &edge.Error{Status: http.StatusMethodNotAllowed, Text: "method not allowed"}
	}
	return nil
}

// pass lets mcp-go answer, and tells our handlers behind it who asks.
func (h *Handler) pass(ctx context.Context, w http.ResponseWriter, x *exchange) {
	claims := claimsOf(x.session())
	peer := server.Peer{
		Principal: x.Principal, List: x.list, Session: x.session(), Apps: claims.Apps,
		Client: mcp.Implementation{Name: claims.Client, Version: claims.Version},
	}
	ctx = context.WithValue(server.WithPeer(ctx, peer), exchangeKey{}, x)
	h.mcp.ServeHTTP(w, x.Request.WithContext(ctx))
}

func (x *exchange) session() string { return x.Header.Get(mcpserver.HeaderKeySessionID) }

// check refuses what is wrong with the address and the headers, and reports
// whether the request may go on.
func (x *exchange) check(w http.ResponseWriter) bool {
	if x.list != "" {
		if err := todo.CheckName(x.list); err != nil {
			refuse(w, http.StatusBadRequest, x.message.ID, jsonrpc.Refuse(mcp.INVALID_PARAMS, "%s", err))
			return false
		}
	}
	version := x.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || slices.Contains(mcp.ValidProtocolVersions, version) {
		return true
	}
	// The error says which versions there are (BAD-INPUT 23).
	detail := mcp.UnsupportedProtocolVersionError{Version: todo.Cut(version, 32), Supported: mcp.ValidProtocolVersions}.JSONRPCError()
	detail.ID = jsonrpc.RequestID(x.message.ID)
	_ = edge.WriteJSON(w, http.StatusBadRequest, detail)
	return false
}

// modern reports whether a request is one of the protocol without sessions.
func (x *exchange) modern() bool {
	return x.message.Modern || mcp.IsModernProtocol(x.Header.Get(mcp.HeaderProtocolVersion))
}

func (h *Handler) post(w http.ResponseWriter, x *exchange) error {
	raw, err := x.ReadJSON(w)
	if err != nil {
		return err
	}
	var bad *jsonrpc.Error
	if x.message, bad = jsonrpc.Read(raw); bad != nil {
		refuse(w, http.StatusBadRequest, x.message.ID, bad)
		return nil
	}
	if !x.check(w) {
		return nil
	}
	initialize := x.message.Method == string(mcp.MethodInitialize) && !x.modern()
	switch {
	case x.modern() && x.message.Method == string(mcp.MethodNotificationCancelled):
		// A cancellation without a session would hit whichever client's call
		// has that id (BAD-INPUT 22). Closing the request cancels it.
		w.WriteHeader(http.StatusAccepted)
		return nil
	case !x.modern() && !initialize && !h.checkSession(w, x):
		return nil
	}
	x.Body = io.NopCloser(bytes.NewReader(raw))
	if x.message.Method == string(mcp.MethodSubscriptionsListen) {
		ctx, cancel := context.WithCancel(x.Context())
		defer cancel()
		return h.stream(ctx, w, x)
	}
	if initialize {
		h.initialize(w, x)
	} else {
		h.pass(x.Context(), w, x)
	}
	return nil
}

// stream lets mcp-go serve a stream, whose end is also the edge's to call.
func (h *Handler) stream(ctx context.Context, w http.ResponseWriter, x *exchange) error {
	stream, closeStream, err := x.Stream(w)
	if err != nil {
		return err
	}
	defer closeStream()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(stream.Context(), cancel)()
	h.pass(ctx, stream, x)
	return nil
}

// checkSession refuses a session id we did not make or that has ended: 404
// tells the client to begin a new session.
func (h *Handler) checkSession(w http.ResponseWriter, x *exchange) bool {
	id := x.session()
	if id == "" {
		refuse(w, http.StatusBadRequest, x.message.ID, jsonrpc.Refuse(mcp.INVALID_REQUEST,
			"the %s header is missing: send initialize first, or name protocol version %s in _meta", mcpserver.HeaderKeySessionID, mcp.ProtocolVersion20260728))
		return false
	}
	if ended, err := h.sessions.check(id); err != nil || ended {
		refuse(w, http.StatusNotFound, x.message.ID, jsonrpc.Refuse(mcp.INVALID_REQUEST, "unknown or ended session: send initialize again"))
		return false
	}
	return true
}

// initialize lets mcp-go answer and then forget the session: the id carries all
// there is to know, and abandoned sessions cost nothing. The answer waits until
// then, so that the session's next request meets a settled state.
func (h *Handler) initialize(w http.ResponseWriter, x *exchange) {
	held := &heldAnswer{header: http.Header{}, status: http.StatusOK}
	h.pass(x.Context(), held, x)
	if id := held.header.Get(mcpserver.HeaderKeySessionID); id != "" {
		h.forget(x.Context(), id)
	}
	for key, values := range held.header {
		w.Header()[key] = values
	}
	w.WriteHeader(held.status)
	_, _ = w.Write(held.body.Bytes())
}

// forget makes mcp-go drop what it keeps of a session.
func (h *Handler) forget(ctx context.Context, id string) {
	h.mcp.Handle(&discard{}, &mcpserver.HTTPRequest{Method: http.MethodDelete, Context: ctx,
		Header: http.Header{http.CanonicalHeaderKey(mcpserver.HeaderKeySessionID): {id}}})
}

// getStream is a session's open GET stream.
type getStream struct {
	end  context.CancelFunc
	gone chan struct{}
}

// get serves a session's stream.
func (h *Handler) get(w http.ResponseWriter, x *exchange) error {
	if !x.check(w) {
		return nil
	}
	if x.modern() {
		h.pass(x.Context(), w, x) // says that there are no such streams
		return nil
	}
	if !h.checkSession(w, x) {
		return nil
	}
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	defer h.replaceStream(x.session(), cancel)()
	return h.stream(ctx, w, x)
}

// replaceStream makes a stream a session's only one, and ends the older one,
// which the client may have lost without our noticing: mcp-go would let the two
// share a queue, and silence both when the first ends. remove undoes it.
func (h *Handler) replaceStream(id string, end context.CancelFunc) (remove func()) {
	mine := &getStream{end: end, gone: make(chan struct{})}
	h.mu.Lock()
	old := h.streams[id]
	h.streams[id] = mine
	h.mu.Unlock()
	if old != nil {
		old.end()
		<-old.gone
	}
	return func() {
		h.mu.Lock()
		if h.streams[id] == mine {
			delete(h.streams, id)
		}
		h.mu.Unlock()
		close(mine.gone)
	}
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, x *exchange) {
	if !x.check(w) {
		return
	}
	if x.modern() {
		h.pass(x.Context(), w, x)
		return
	}
	if !h.checkSession(w, x) {
		return
	}
	id := x.session()
	h.sessions.end(id)
	h.mu.Lock()
	if stream := h.streams[id]; stream != nil {
		stream.end()
	}
	h.mu.Unlock()
	h.server.EndSession(id)
	h.pass(x.Context(), w, x)
}

// refuse answers the request with an id, raw, with a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, err *jsonrpc.Error) {
	_ = edge.WriteJSON(w, status, err.Answer(id))
}

// heldAnswer keeps a small answer until it may go out.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *heldAnswer) Header() http.Header         { return a.header }
func (a *heldAnswer) WriteHeader(status int)      { a.status = status }
func (a *heldAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }

// discard takes an answer nobody asked for.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (*discard) WriteHeader(int)             {}
func (*discard) Write(p []byte) (int, error) { return len(p), nil }
func (*discard) Flush()                      {}
func (*discard) CanStream() bool             { return false }
