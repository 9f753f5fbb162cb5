// Package edge is where HTTP enters and leaves: all routes share one check of
// Host and Origin, one set of limits and timeouts, and one way to report
// failures.
//
// A request with a foreign Host or Origin reaches no handler (BAD-INPUT 1 and 2), and
// with sign-in none of somebody unknown (BAD-INPUT 29). A handler reads and writes
// lists as the identity that sent the request, through [Request.Lists]. An error that
// it returns is answered with a fitting status and text, and logged in one line when
// the server is at fault. A request that is not a stream ends within a timeout,
// whatever the store does.
package edge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/signed"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

// Config configures an [Edge]. Board is required.
type Config struct {
	Board *board.Board
	// Hosts are the names, in lower case and without port, that a Host header
	// may have besides the loopback names.
	Hosts []string
	// Origins are the origins that may send requests besides the server's own,
	// in the form browsers send them.
	Origins []string
	// PublicURL is where clients reach the server, as https://host, or https://host/path where
	// a proxy serves it below a path, which it may leave in requests or not; empty is what
	// each request says. It has no slash at its end.
	PublicURL string
	// Tokens and Issuer say who sends a request; without either everybody is let in as
	// the server itself.
	Tokens *auth.Tokens
	Issuer *auth.Issuer
	// Key returns the secret that signs cookies, which are only there with sign-in; see
	// [signed.NewKey].
	Key func() []byte
	// MaxRate is how many requests a second one identity may send, and twice as
	// many at once; 0 is any number.
	MaxRate int
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is
	// believed.
	TrustedProxies []netip.Prefix
	// TLS has the certificate; nil serves without TLS.
	TLS *tls.Config
	// Log receives the server's own failures, never any list's content; nil
	// discards them.
	Log *slog.Logger
	// Timeout limits a request that is not a stream; 0 means 10 s.
	Timeout time.Duration
	// ClientTimeout is how long a client may take to send a header or a body, and to
	// read a piece of an answer, of at most 256 kB; 0 means 10 s (BAD-INPUT 10 and 61).
	ClientTimeout time.Duration
	// MaxStreams is how many streams may be open at once; 0 means 4096. One client
	// address, and one user, may have half of them, but at least one (BAD-INPUT 63).
	MaxStreams int
	// KeepAlive is how often a stream gets a comment, and how often it is checked
	// that the token of a stream is still good; 0 means 4 s, by which an open page knows
	// within 15 s that it is not live.
	KeepAlive time.Duration
	// Now is the clock of sign-in, rates and the probe /readyz; nil means time.Now.
	Now func() time.Time
	// Ready returns why the server is not ready although its store works, for
	// /readyz; nil if it is. Nil means that it always is.
	Ready func() error
	// Warn returns what is wrong although calls are answered, a line each, for /readyz
	// and the board; empty for nothing. Nil means that nothing is.
	Warn func() string
	// Metrics answers /metrics, which is not there when it is nil.
	Metrics http.Handler
	// Observe is told of each request that is no stream and was answered how long it took, its
	// method, status and route, which is empty when it reached none; nil is not called. A
	// method that is none of HTTP is "_OTHER": a client may send any word.
	Observe func(took time.Duration, labels ...string)
	// Drain is how long [Edge.Serve] goes on after it was told to stop.
	Drain time.Duration
}

const (
	// ClientTimeout is enough for a header, which is a packet or two on any network, and
	// for a body: a telephone sends a message of the largest size, a megabyte, in it.
	ClientTimeout = 10 * time.Second
	// stopTimeout is how long requests in progress may take after the server begins to
	// stop (BAD-INPUT 58). It leaves two seconds of the ten after which service managers
	// and container engines kill.
	stopTimeout = 8 * time.Second
)

// ServerName is the header Server of every answer, by which another process on
// this machine recognises who holds a port.
const ServerName = "todo-mcp"

// Edge serves all routes. It is safe for concurrent use once they are added.
type Edge struct {
	config      Config
	mux         *http.ServeMux
	path        string          // of the public URL, without a slash at its end
	routes      []string        // the patterns
	closing     context.Context // ends with [Edge.Close]
	close       context.CancelFunc
	stopping    atomic.Bool // see [Edge.Serve]
	crossOrigin *http.CrossOriginProtection
	signsIn     bool       // whether clients must sign in
	key         signed.Key // of cookies
	streams     *shares
	unsent      *shares // bytes of answers that clients have not read
	probe       writeProbe
	turns       chan struct{} // see [InTurn]
	greeted     sync.Map      // the client that connected last, by principal
	rates       *rates        // of requests, by identity
	refusals    *rates        // of failed sign-ins, by address
}

// New returns an edge with the probes /livez and /readyz, and what Metrics and sign-in
// answer. It returns an error for an invalid origin.
func New(c Config) (*Edge, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.ClientTimeout = cmp.Or(c.ClientTimeout, ClientTimeout)
	c.MaxStreams = cmp.Or(c.MaxStreams, 4096)
	c.KeepAlive = cmp.Or(c.KeepAlive, 4*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	crossOrigin, err := Trust(c.Origins)
	if err != nil {
		return nil, err
	}
	public, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("public URL: %w", err)
	}
	e := &Edge{config: c, mux: http.NewServeMux(), path: public.EscapedPath(), crossOrigin: crossOrigin,
		streams: &shares{what: "open streams", limit: "--max-streams", held: make(map[share]int)},
		unsent:  &shares{what: "bytes of unread answers", limit: "128 MB", held: make(map[share]int)},
		turns:   make(chan struct{}, 2),
		signsIn: c.Tokens != nil || c.Issuer != nil, key: signed.NewKey(c.Key),
		rates: &rates{perSecond: c.MaxRate, now: c.Now}, refusals: &rates{perSecond: maxRefusals, now: c.Now}}
	e.closing, e.close = context.WithCancel(context.Background())
	e.Handle("GET /livez", Text, static("text/plain; charset=utf-8", "ok\n"), Public, Direct)
	e.Handle("GET /readyz", Text, ready, Public, Direct)
	if c.Metrics != nil {
		e.Handle("GET /metrics", Text, func(w http.ResponseWriter, r *Request) error {
			c.Metrics.ServeHTTP(w, r.Request)
			return nil
		})
	}
	if e.signsIn {
		e.routeSignIn()
	}
	return e, nil
}

// Close ends all streams. Other requests in progress continue.
func (e *Edge) Close() { e.close() }

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodPut, http.MethodPatch}

// ServeHTTP implements http.Handler.
func (e *Edge) ServeHTTP(response http.ResponseWriter, r *http.Request) {
	began := time.Now()
	w := &answer{ResponseWriter: response, control: http.NewResponseController(response), edge: e}
	_ = w.control.SetWriteDeadline(time.Time{}) // that of the request before stays with the connection
	if e.path != "" {
		r = e.atRoot(r)
	}
	defer func() {
		// The HTTP server still reads the rest of the request's body, and then writes what it
		// has buffered. From now on nothing else touches the response.
		_ = w.control.SetWriteDeadline(time.Now().Add(2 * e.config.ClientTimeout))
		if e.config.Observe == nil || w.stream {
			return
		}
		method := r.Method
		if !slices.Contains(methods, method) {
			method = "_OTHER"
		}
		e.config.Observe(time.Since(began), method, strconv.Itoa(cmp.Or(w.status, http.StatusOK)), r.Pattern[strings.IndexByte(r.Pattern, ' ')+1:])
	}()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Server", ServerName)
	w.Header().Set("Cache-Control", "no-store") // lists are private; what is not says so
	if e.stopping.Load() {
		w.Header().Set("Connection", "close") // a proxy sends the next request elsewhere
	}
	if r.TLS != nil || e.config.PublicURL != "" {
		// Beside a port of its own the host may have others, without TLS.
		if host, ok := strings.CutPrefix(e.origin(r), "https://"); ok && !strings.Contains(host, ":") {
			w.Header().Set("Strict-Transport-Security", "max-age=15552000")
		}
	}
	// The bound holds for every request, also when no handler reads the body:
	// the HTTP server then reads the rest itself. ReadJSON lifts it.
	if r.Body != http.NoBody {
		_ = w.control.SetReadDeadline(time.Now().Add(e.config.ClientTimeout))
	}
	e.mux.ServeHTTP(w, r)
}

// atRoot returns a request without the path of the public URL, if that has one, which some
// proxies leave in it.
func (e *Edge) atRoot(r *http.Request) *http.Request {
	rest, isBelow := strings.CutPrefix(r.URL.EscapedPath(), e.path)
	if !isBelow || rest != "" && rest[0] != '/' {
		return r
	}
	at, address := *r, *r.URL
	path, err := url.PathUnescape(rest)
	if err != nil {
		return r
	}
	address.Path, address.RawPath, at.URL = cmp.Or(path, "/"), rest, &address
	return &at
}

// Handler answers a request. The edge answers and logs an error that it
// returns; a handler that returns an error must not have written anything.
type Handler func(w http.ResponseWriter, r *Request) error

// Trait is what sets a route apart.
type Trait int

const (
	// Public: it needs no sign-in. Its requests have the identity of the server
	// itself, so the handler must show no list.
	Public Trait = iota
	// Page: a link on another site may lead a person there.
	Page
	// Direct: it also answers who reaches the server past its proxy.
	Direct
	// Stream: it may be one, so that its requests do not end at the timeout. The
	// handler must limit its own reads of the store.
	Stream
)

// Handle adds a route. format writes its failures.
func (e *Edge) Handle(pattern string, format Format, h Handler, traits ...Trait) {
	e.routes = append(e.routes, pattern)
	e.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil { // it ends its request alone
				e.fail(w, r, format, Internal(fmt.Errorf("panic: %v\n%s", cause, debug.Stack())))
			}
		}()
		a, isAnswer := w.(*answer) // not on the address for operators, which has a guard of its own
		if err := e.guard(r, slices.Contains(traits, Page), !isAnswer); err != nil {
			e.fail(w, r, Text, err)
			return
		}
		var id board.Identity
		var err error
		if len(e.config.TrustedProxies) > 0 && !slices.Contains(traits, Direct) && !e.isPrivate(r) {
			err = newError(http.StatusForbidden, "come by the proxy: others could read along here (see --trusted-proxies)")
		}
		if err == nil && e.signsIn && !slices.Contains(traits, Public) {
			id, err = e.signIn(r)
		}
		if err != nil {
			e.fail(w, r, format, err)
			return
		}
		request := &Request{Request: r, Identity: id, Lists: e.config.Board.For(id), edge: e}
		if isAnswer {
			a.request = request
		}
		if !slices.Contains(traits, Stream) {
			ctx, cancel := context.WithTimeout(r.Context(), e.config.Timeout)
			defer cancel()
			request.Request = r.WithContext(ctx)
		}
		if err := h(w, request); err != nil {
			e.fail(w, r, format, err)
		}
	})
}

// Routes returns the patterns of all routes.
func (e *Edge) Routes() []string { return slices.Clone(e.routes) }

// Stream turns the answer into a stream, calls serve and closes the stream when
// serve returns. The stream also ends with the request, with the edge and with what
// signs the client in. An error that serve returns is logged, since it can no longer be
// answered; an error after the end of the stream is not. Stream returns an [*Error]
// with status 429 when as many streams are open as the edge allows, in all or of this
// client (BAD-INPUT 63). HEAD is answered with the header alone. w must be what the
// handler was given.
func (r *Request) Stream(w http.ResponseWriter, serve func(*sse.Stream) error) error {
	if r.Method == http.MethodHead { // there is nothing to wait for (BAD-INPUT 62)
		sse.WriteHeader(w)
		return nil
	}
	e := r.edge
	closed, err := e.streams.take(r, new(byte), 1, e.config.MaxStreams)
	if err != nil {
		w.Header().Set("Retry-After", "10")
		return err
	}
	defer closed()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(e.closing, cancel)()
	w.(*answer).stream = true // it is what [Edge.ServeHTTP] gives to every handler
	stream := sse.Open(ctx, w, e.config.KeepAlive, r.isStillSignedIn)
	defer stream.Close()
	err = serve(stream)
	if e.closing.Err() != nil {
		stream.Comment("the server stops; connect again")
	}
	// ErrClosed: the board closes when the program stops.
	if err != nil && stream.Context().Err() == nil && !errors.Is(err, board.ErrClosed) {
		e.config.Log.Error("stream failed", "method", r.Method, "route", r.Pattern, "error", err)
	}
	return nil
}
