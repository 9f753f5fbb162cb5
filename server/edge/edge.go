// Package edge serves HTTP: all routes share one check of Host and Origin, one set of limits and timeouts, and one
// way to report failures.
//
// A request with a foreign Host or Origin reaches no handler (BAD-INPUT 1 and 2). With sign-in, nor does a request of
// an unknown sender (BAD-INPUT 29). A handler reads and writes lists as the identity that sent the request, through
// [Request.Lists]. The edge answers a handler's error with a fitting status and text, and logs it in one line when
// the server is at fault. A request that is not a stream ends within a timeout, whatever the store does.
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

	"golang.org/x/time/rate"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/signed"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

// Config configures an [Edge]. Board is required.
type Config struct {
	Board *board.Board
	// Hosts are the names, in lower case and without port, that a Host header may have besides the loopback names.
	// Origins are the origins that may send requests besides the server's own.
	Hosts, Origins []string
	// PublicURL is where clients reach the server, without a slash at the end: https://host, or https://host/path below
	// a proxy, which may remove the path or not. If it is empty, each request's Host is the address.
	PublicURL string
	// Tokens and Issuer identify senders; if both are nil, everybody has the server's identity.
	Tokens auth.Tokens
	Issuer *auth.Issuer
	Key    func() []byte // the secret that signs cookies of signed-in people; read once
	// MaxRate is how many requests a second one identity may send, with bursts of twice as many; 0 means no limit.
	MaxRate        int
	TrustedProxies []netip.Prefix // networks of proxies whose X-Forwarded-For is believed
	TLS            *tls.Config    // nil serves without TLS
	Log            *slog.Logger   // of the server's own failures, without any list's content; nil discards them
	Timeout        time.Duration  // of a request that is not a stream; 0 means 10 s
	// ClientTimeout is how long a client may take to send a header or a body, or to read a piece of an answer, of at
	// most 256 kB; 0 means 10 s (BAD-INPUT 10 and 61).
	ClientTimeout time.Duration
	// MaxStreams is how many streams may be open; 0 means 4096. One client address, and one user, may have half of
	// them, but at least one (BAD-INPUT 63).
	MaxStreams int
	// KeepAlive is how often a stream gets a comment and its token is checked again; 0 means 4 s, so that an open
	// page notices within 15 s that it is not live.
	KeepAlive time.Duration
	Now       func() time.Time // the clock of sign-in and rates; nil means time.Now
	Ready     func() error     // returns why /readyz fails although the store works; nil: never
	Warn      func() string    // warnings for /readyz and the board while calls still work; may be nil
	Metrics   http.Handler     // answers /metrics; nil means that there is none
	// Observe gets the duration of each answered request that is no stream. The labels are its method ("_OTHER" if not
	// among methods), its status, and its route (empty if none matched). Observe may be nil.
	Observe func(took time.Duration, labels ...string)
	Drain   time.Duration // how long [Edge.Serve] continues after it was told to stop
}

const (
	// ClientTimeout is the default of [Config.ClientTimeout]: a telephone sends the largest message, a megabyte,
	// within it.
	ClientTimeout = 10 * time.Second
	// stopTimeout is how long requests in progress may take when the server stops (BAD-INPUT 58): two seconds less than
	// the ten after which service managers and container engines kill a process.
	stopTimeout = 8 * time.Second
	// ServerName is the header Server of every answer. It lets another process on this machine recognise this server on
	// a port.
	ServerName = "todo-mcp"
)

// Edge serves all routes. It is safe for concurrent use once they are added.
type Edge struct {
	config      Config
	mux         *http.ServeMux
	path        string          // of the public URL, without a slash at its end
	routes      []string        // patterns
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

// New returns an edge with the routes of probes, metrics and sign-in.
func New(c Config) *Edge {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.ClientTimeout = cmp.Or(c.ClientTimeout, ClientTimeout)
	c.MaxStreams = cmp.Or(c.MaxStreams, 4096)
	c.KeepAlive = cmp.Or(c.KeepAlive, 4*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	public, _ := url.Parse(c.PublicURL) // the settings have checked it, and the origins
	crossOrigin := http.NewCrossOriginProtection()
	for _, origin := range c.Origins {
		_ = crossOrigin.AddTrustedOrigin(origin)
	}
	e := &Edge{config: c, mux: http.NewServeMux(), path: public.EscapedPath(), crossOrigin: crossOrigin,
		streams: &shares{what: "open streams", limit: "--max-streams", held: make(map[share]int)},
		unsent:  &shares{what: "bytes of unread answers", limit: "128 MB", held: make(map[share]int)},
		probe:   writeProbe{seldom: rate.Sometimes{Interval: probeAge}},
		turns:   make(chan struct{}, 2),
		signsIn: c.Tokens != nil || c.Issuer != nil, key: sync.OnceValue(c.Key),
		rates: &rates{perSecond: c.MaxRate, now: c.Now}, refusals: &rates{perSecond: maxRefusals, now: c.Now}}
	e.closing, e.close = context.WithCancel(context.Background())
	e.Handle("GET /livez", Text, Static("text/plain; charset=utf-8", "ok\n"), Public, Direct)
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
	return e
}

// Close ends all streams. Other requests in progress continue.
func (e *Edge) Close() { e.close() }

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodPut, http.MethodPatch}

// ServeHTTP implements http.Handler.
func (e *Edge) ServeHTTP(response http.ResponseWriter, r *http.Request) {
	began := time.Now()
	w := &answer{ResponseWriter: response, control: http.NewResponseController(response), edge: e}
	w.within(0) // the connection keeps the deadline of its previous request
	if e.path != "" {
		r = e.atRoot(r)
	}
	defer func() {
		// From now on only the HTTP server touches the response: it reads the rest of the body and writes what it has
		// buffered.
		w.within(2 * e.config.ClientTimeout)
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
	w.Header().Set("Cache-Control", "no-store") // lists are private; public answers replace it
	if e.stopping.Load() {
		w.Header().Set("Connection", "close") // so that a proxy sends the next request elsewhere
	}
	// Strict-Transport-Security covers all ports of a host. If the URL has a port, another port may serve without TLS.
	if host, ok := strings.CutPrefix(e.origin(r), "https://"); ok && !strings.Contains(host, ":") {
		w.Header().Set("Strict-Transport-Security", "max-age=15552000")
	}
	// This deadline is for all bodies, as the HTTP server reads those that no handler reads. ReadJSON removes it.
	if r.Body != http.NoBody {
		_ = w.control.SetReadDeadline(time.Now().Add(e.config.ClientTimeout))
	}
	e.mux.ServeHTTP(w, r)
}

// atRoot returns a request without the path of the public URL, which some proxies leave in it.
func (e *Edge) atRoot(r *http.Request) *http.Request {
	rest, isBelow := strings.CutPrefix(r.URL.EscapedPath(), e.path)
	if !isBelow || rest != "" && rest[0] != '/' {
		return r
	}
	at, address := *r, *r.URL
	address.Path, _ = url.PathUnescape(cmp.Or(rest, "/")) // cannot fail: the URL escaped it
	address.RawPath, at.URL = rest, &address
	return &at
}

// Handler answers a request. If it returns an error, which the edge answers and logs, it must not have written
// anything.
type Handler func(w http.ResponseWriter, r *Request) error

// Trait is a special property of a route.
type Trait int

const (
	Public Trait = iota // needs no sign-in: requests have the server's identity, so the handler must show no list
	Page                // links on other sites may lead here
	Direct              // also answers senders that bypass the proxy
	Stream              // has no timeout, so the handler must limit its reads of the store
)

// Handle adds a route. Its failures are written in the given format.
func (e *Edge) Handle(pattern string, format Format, h Handler, traits ...Trait) {
	e.routes = append(e.routes, pattern)
	e.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil { // a panic ends its request alone
				e.fail(w, r, format, Internal(fmt.Errorf("panic: %v\n%s", cause, debug.Stack())))
			}
		}()
		a, isAnswer := w.(*answer) // false for [Edge.Admin], which calls guard itself
		if err := e.guard(r, slices.Contains(traits, Page), !isAnswer); err != nil {
			e.fail(w, r, Text, err)
			return
		}
		var id board.Identity
		var err error
		if len(e.config.TrustedProxies) > 0 && !slices.Contains(traits, Direct) {
			// Nobody can have read a request on its way if it came over TLS, from a trusted proxy or from this machine.
			if from := hostOf(r.RemoteAddr); r.TLS == nil && !IsLoopback(from) && !e.isTrusted(from) {
				err = newError(http.StatusForbidden, "connect through the proxy: this address is not encrypted (see --trusted-proxies)")
			}
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

// Stream turns the answer into a stream, calls serve, and closes the stream when serve returns. w must be the one that
// the handler got. The stream also ends with the request, when the edge closes, and when the client is no longer signed
// in. An error of serve is logged unless the stream has ended. Stream returns an [*Error] with status 429 when too many
// streams are open, in total or for this client (BAD-INPUT 63). HEAD is answered with the header alone.
func (r *Request) Stream(w http.ResponseWriter, serve func(*sse.Stream) error) error {
	if r.Method == http.MethodHead { // BAD-INPUT 62
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
	w.(*answer).stream = true
	stream := sse.Open(ctx, w, e.config.KeepAlive, r.isStillSignedIn)
	defer stream.Close()
	err = serve(stream)
	if e.closing.Err() != nil {
		stream.Comment("the server stops; connect again")
	}
	// ErrClosed is normal: the board closes when the program stops.
	if err != nil && stream.Context().Err() == nil && !errors.Is(err, board.ErrClosed) {
		e.config.Log.Error("stream failed", "method", r.Method, "route", r.Pattern, "error", err)
	}
	return nil
}
