// Package edge is where HTTP enters and leaves: every route stands behind one
// guard, one set of limits and time bounds, and one way of saying what failed.
//
// It promises that a request with a foreign Host or Origin reaches no handler
// (BAD-INPUT 1–6); that a handler reads and writes lists as the principal who
// asks, through [Request.Lists]; that whatever a handler fails with is answered
// with a status and a text that fit, and logged in one line when the failure is
// ours; and that a request which is no stream ends within a bound, whatever the
// store does.
package edge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server/sse"
)

// Config is what an edge needs.
type Config struct {
	Board *todo.Board
	// Hosts are the names, without port, that a Host header may have beside
	// the loopback ones.
	Hosts []string
	// Origins are the origins, as browsers send them, allowed beside our own.
	Origins []string
	// Log receives our own failures; never any list's content. Nil discards.
	Log *slog.Logger
	// Timeout bounds a request that is no stream; 0 is 10 s.
	Timeout time.Duration
	// BodyTimeout bounds how long a body may take to arrive; 0 is 30 s
	// (BAD-INPUT 11).
	BodyTimeout time.Duration
	// MaxStreams is how many streams may be open at once; 0 is 4096.
	MaxStreams int
	// Streams bounds each of them in time.
	Streams sse.Limits
}

// Edge serves all routes. It is safe for concurrent use once they are added.
type Edge struct {
	config  Config
	mux     *http.ServeMux
	guard   *guard
	closing context.Context // ends when streams must
	close   context.CancelFunc
	open    atomic.Int64 // streams
}

// New returns an edge with the probes /livez and /readyz. An origin that is
// none is an error.
func New(c Config) (*Edge, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, 30*time.Second)
	c.MaxStreams = cmp.Or(c.MaxStreams, 4096)
	g, err := newGuard(c.Hosts, c.Origins)
	if err != nil {
		return nil, err
	}
	e := &Edge{config: c, mux: http.NewServeMux(), guard: g}
	e.closing, e.close = context.WithCancel(context.Background())
	e.Handle("GET /livez", Text, live)
	e.Handle("GET /readyz", Text, ready)
	return e, nil
}

// Close ends streams; requests in hand go on.
func (e *Edge) Close() { e.close() }

// Timeout bounds a request that is no stream, and each read of one that is.
func (e *Edge) Timeout() time.Duration { return e.config.Timeout }

// ServeHTTP implements http.Handler.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := e.guard.check(r); err != nil {
		e.fail(w, r, Text, err)
		return
	}
	e.mux.ServeHTTP(w, r)
}

// Request is a request that passed the guard.
type Request struct {
	*http.Request
	// Principal is who asks; the empty one is the server's own.
	Principal string
	// Lists are the principal's.
	Lists todo.Lists

	edge *Edge
}

// Handler answers a request. An error it returns is worded, answered and logged
// by the edge; then it must not have written anything.
type Handler func(w http.ResponseWriter, r *Request) error

// Handle adds a route whose requests end within the timeout. format writes its
// failures.
func (e *Edge) Handle(pattern string, format Format, h Handler) {
	e.HandleUnbounded(pattern, format, func(w http.ResponseWriter, r *Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), e.config.Timeout)
		defer cancel()
		r.Request = r.WithContext(ctx)
		return h(w, r)
	})
}

// HandleUnbounded adds a route whose requests may go on; the handler bounds what
// does not.
func (e *Edge) HandleUnbounded(pattern string, format Format, h Handler) {
	e.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		defer e.recover(w, r, format)
		request := e.identify(r)
		if err := h(w, request); err != nil {
			e.fail(w, request.Request, format, err)
		}
	})
}

// identify says who asks. Without authentication everybody is the server's own
// principal.
func (e *Edge) identify(r *http.Request) *Request {
	const principal = ""
	return &Request{Request: r, Principal: principal, Lists: e.config.Board.As(principal), edge: e}
}

// Stream begins to look after the answer as a stream, which the caller closes.
// It fails when there is no place for another (BAD-INPUT 13).
func (r *Request) Stream(w http.ResponseWriter) (stream *sse.Stream, closeStream func(), err error) {
	e := r.edge
	if e.open.Add(1) > int64(e.config.MaxStreams) {
		e.open.Add(-1)
		w.Header().Set("Retry-After", "10")
		return nil, nil, &Error{http.StatusTooManyRequests, "too many open streams"}
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(e.closing, cancel)
	stream = sse.Open(ctx, w, e.config.Streams)
	return stream, func() {
		stream.Close()
		stop()
		cancel()
		e.open.Add(-1)
	}, nil
}

func live(w http.ResponseWriter, _ *Request) error {
	fmt.Fprintln(w, "ok")
	return nil
}

func ready(w http.ResponseWriter, r *Request) error {
	if _, err := r.Lists.Find(r.Context(), todo.Query{Limit: 1}); err != nil {
		return err
	}
	fmt.Fprintln(w, "ok")
	return nil
}
