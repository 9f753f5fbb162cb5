package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
)

// bodyTimeout bounds how long a request's body may take to arrive (BAD-INPUT 11).
const bodyTimeout = 30 * time.Second

// HTTPConfig is what the HTTP side needs beyond [Config].
type HTTPConfig struct {
	// Hosts are the names, without port, that a Host header may have beside
	// the loopback ones.
	Hosts []string
	// Origins are the origins, as browsers send them, allowed beside our own.
	Origins []string
	// SessionKey returns the key that signs session ids. It is called once,
	// when the first is needed.
	SessionKey func() []byte
	// KeepAlive is how often an idle stream gets a comment, WriteTimeout how
	// long a reader may take for what is written, MaxStreams how many streams
	// may be open at once. 0 is 15 s, 10 s and 4096.
	KeepAlive    time.Duration
	WriteTimeout time.Duration
	MaxStreams   int
}

// HTTP is the server's HTTP side: /mcp, and what people and probes ask for.
type HTTP struct {
	server   *Server
	config   HTTPConfig
	sessions *sessions
	mcp      *mcpserver.StreamableHTTPServer
	mux      *http.ServeMux
	panel    *panel
	closing  context.Context // ends when streams must
	close    context.CancelFunc
	open     atomic.Int64 // streams

	mu      sync.Mutex
	streams map[string]*getStream // by session id
}

// Handler returns the HTTP side. [HTTP.Close] ends its streams.
func (s *Server) Handler(c HTTPConfig) (*HTTP, error) {
	c.KeepAlive = cmp.Or(c.KeepAlive, defaultKeepAlive)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, defaultWriteTimeout)
	c.MaxStreams = cmp.Or(c.MaxStreams, defaultMaxStreams)
	h := &HTTP{server: s, config: c, sessions: newSessions(c.SessionKey), mux: http.NewServeMux(), streams: make(map[string]*getStream)}
	h.closing, h.close = context.WithCancel(context.Background())
	h.mcp = mcpserver.NewStreamableHTTPServer(s.mcp,
		mcpserver.WithSessionIdManagerResolver(h.sessions),
		// Host and Origin are ours to check, on every route and address.
		mcpserver.WithDisableLocalhostProtection(true),
		// It logs every answer to a client that has gone as an error.
		mcpserver.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	h.mux.HandleFunc("/mcp", h.serveMCP)
	h.mux.HandleFunc("GET /livez", h.live)
	h.mux.HandleFunc("GET /readyz", h.ready)
	h.routeAPI()
	return h, h.routePanel()
}

// Close ends streams; calls in hand go on.
func (h *HTTP) Close() { h.close() }

// ServeHTTP implements http.Handler: every route behind the same guard.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := h.guard(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	h.mux.ServeHTTP(w, r)
}

func (h *HTTP) live(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "ok")
}

func (h *HTTP) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	if _, err := h.server.lists().Find(ctx, todo.Query{Limit: 1}); err != nil {
		http.Error(w, "the store cannot be read", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// httpCall is what a request's context tells the steps of [Server.caller].
type httpCall struct {
	list    string // the list the URL or header names
	message message
}

type httpCallKey struct{}

// httpRequest is the HTTP request a context belongs to; nil on stdio.
func httpRequest(ctx context.Context) *httpCall {
	call, _ := ctx.Value(httpCallKey{}).(*httpCall)
	return call
}

// askedList is the list that ?list= or the Todo-List header names.
func askedList(ctx context.Context) string {
	if call := httpRequest(ctx); call != nil {
		return call.list
	}
	return ""
}

// serveMCP closes mcp-go's gaps before and behind its handler.
func (h *HTTP) serveMCP(w http.ResponseWriter, r *http.Request) {
	call := &httpCall{list: r.URL.Query().Get("list")}
	if call.list == "" {
		call.list = r.Header.Get("Todo-List")
	}
	if call.list != "" {
		if err := todo.CheckName(call.list); err != nil {
			refuse(w, http.StatusBadRequest, nil, refused(mcp.INVALID_PARAMS, "%s", err))
			return
		}
	}
	r = r.WithContext(context.WithValue(r.Context(), httpCallKey{}, call))
	if !h.checkVersion(w, r) {
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r, call)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// checkVersion refuses a protocol version nobody knows, and says which are
// known (BAD-INPUT 23).
func (h *HTTP) checkVersion(w http.ResponseWriter, r *http.Request) bool {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || slices.Contains(mcp.ValidProtocolVersions, version) {
		return true
	}
	unsupported := mcp.UnsupportedProtocolVersionError{Version: cutRunes(version, 32), Supported: mcp.ValidProtocolVersions}.JSONRPCError()
	writeJSON(w, http.StatusBadRequest, unsupported)
	return false
}

func (h *HTTP) post(w http.ResponseWriter, r *http.Request, call *httpCall) {
	raw, status, err := body(w, r)
	if err == nil {
		var bad *messageError
		if call.message, bad = readMessage(raw); bad != nil {
			status, err = http.StatusBadRequest, bad
		}
	}
	if err != nil {
		refuse(w, status, nil, err)
		return
	}
	modern := call.message.Modern || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	initialize := call.message.Method == string(mcp.MethodInitialize) && !modern
	switch {
	case modern && call.message.Method == string(mcp.MethodNotificationCancelled):
		// A cancellation without a session would hit whichever client's call
		// has that id (BAD-INPUT 22). Closing the request cancels it.
		w.WriteHeader(http.StatusAccepted)
		return
	case !modern && !initialize && !h.checkSession(w, r):
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	switch {
	case initialize:
		h.initialize(w, r)
	case call.message.Method == string(mcp.MethodSubscriptionsListen):
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		h.stream(w, r.WithContext(ctx), cancel)
	default:
		h.mcp.ServeHTTP(w, r)
	}
}

// stream lets mcp-go serve a long-lived stream, whose end is also ours to call.
func (h *HTTP) stream(w http.ResponseWriter, r *http.Request, end context.CancelFunc) {
	leave, ok := h.admit(w)
	if !ok {
		return
	}
	defer leave()
	defer context.AfterFunc(h.closing, end)()
	live := h.keepLive(w)
	defer live.end()
	h.mcp.ServeHTTP(live, r)
}

// body reads a request's body within its limits (BAD-INPUT 7–9, 11).
func body(w http.ResponseWriter, r *http.Request) (raw []byte, status int, err error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, http.StatusUnsupportedMediaType, refused(mcp.INVALID_REQUEST, "Content-Type must be application/json")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, http.StatusUnsupportedMediaType, refused(mcp.INVALID_REQUEST, "compressed bodies are not taken: leave out Content-Encoding")
	}
	tooLarge := refused(mcp.INVALID_REQUEST, "the body is larger than %d bytes", MaxMessage)
	if r.ContentLength > MaxMessage {
		w.Header().Set("Connection", "close")
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	}
	// Only for the body: an answer may stream for as long as it likes.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	_ = control.SetReadDeadline(time.Time{})
	if limit := (*http.MaxBytesError)(nil); errors.As(err, &limit) {
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	}
	if err != nil {
		return nil, http.StatusBadRequest, refused(mcp.INVALID_REQUEST, "the body did not arrive whole within %s", bodyTimeout)
	}
	return raw, 0, nil
}

// checkSession refuses a session id we did not make or that has ended: 404
// tells the client to begin a new session.
func (h *HTTP) checkSession(w http.ResponseWriter, r *http.Request) bool {
	id := r.Header.Get(mcpserver.HeaderKeySessionID)
	if id == "" {
		refuse(w, http.StatusBadRequest, nil, refused(mcp.INVALID_REQUEST,
			"the %s header is missing: send initialize first, or name protocol version %s in _meta", mcpserver.HeaderKeySessionID, mcp.ProtocolVersion20260728))
		return false
	}
	if ended, err := h.sessions.check(id); err != nil || ended {
		refuse(w, http.StatusNotFound, nil, refused(mcp.INVALID_REQUEST, "unknown or ended session: send initialize again"))
		return false
	}
	return true
}

// initialize lets mcp-go answer and then forget the session: the id carries all
// there is to know, and abandoned sessions cost nothing. The answer is held
// until then, so that the session's next request meets a settled state.
func (h *HTTP) initialize(w http.ResponseWriter, r *http.Request) {
	held := &heldAnswer{header: http.Header{}, status: http.StatusOK}
	h.mcp.ServeHTTP(held, r)
	if id := held.header.Get(mcpserver.HeaderKeySessionID); id != "" {
		h.forget(r, id)
	}
	for key, values := range held.header {
		w.Header()[key] = values
	}
	w.WriteHeader(held.status)
	_, _ = w.Write(held.body.Bytes())
}

// forget makes mcp-go drop what it keeps of a session.
func (h *HTTP) forget(r *http.Request, id string) {
	h.mcp.Handle(&discard{}, &mcpserver.HTTPRequest{Method: http.MethodDelete, Context: r.Context(),
		Header: http.Header{http.CanonicalHeaderKey(mcpserver.HeaderKeySessionID): {id}}})
}

// getStream is a session's open GET stream.
type getStream struct {
	end  context.CancelFunc
	gone chan struct{}
}

// get serves a session's stream. A new one takes the place of an older one that
// the client may have lost without our noticing: mcp-go would let the two share
// a queue, and silence both when the first ends.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		h.mcp.ServeHTTP(w, r) // says that there are no such streams
		return
	}
	if !h.checkSession(w, r) {
		return
	}
	id := r.Header.Get(mcpserver.HeaderKeySessionID)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	mine := &getStream{end: cancel, gone: make(chan struct{})}
	defer close(mine.gone)
	h.mu.Lock()
	old := h.streams[id]
	h.streams[id] = mine
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.streams[id] == mine {
			delete(h.streams, id)
		}
	}()
	if old != nil {
		old.end()
		<-old.gone
	}
	h.stream(w, r.WithContext(ctx), cancel)
}

// delete ends a session.
func (h *HTTP) delete(w http.ResponseWriter, r *http.Request) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		h.mcp.ServeHTTP(w, r)
		return
	}
	if !h.checkSession(w, r) {
		return
	}
	id := r.Header.Get(mcpserver.HeaderKeySessionID)
	h.sessions.end(id)
	h.mu.Lock()
	if stream := h.streams[id]; stream != nil {
		stream.end()
	}
	h.mu.Unlock()
	h.server.subscriptions.drop(id)
	h.mcp.ServeHTTP(w, r)
}

// refuse answers with a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id any, err error) {
	code := mcp.INVALID_REQUEST
	if bad := (*messageError)(nil); errors.As(err, &bad) {
		code = bad.code
	}
	writeJSON(w, status, mcp.NewJSONRPCError(mcp.NewRequestId(id), code, err.Error(), nil))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
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

// ours reports whether a host, with or without port, is a loopback name or one
// of those configured.
func (h *HTTP) ours(hostport string) bool {
	host := strings.ToLower(hostOf(hostport))
	return isLoopback(host) || slices.Contains(h.config.Hosts, host)
}
