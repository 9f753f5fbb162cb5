package edge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/auth"
)

// Request is a request that passed the check of Host and Origin.
type Request struct {
	*http.Request
	board.Identity             // who sent it
	Lists          board.Lists // the lists of that identity
	edge           *Edge
}

// ReadTimeout returns how long a stream's read of the store may take: as long as a whole request that is no stream.
func (r *Request) ReadTimeout() time.Duration { return r.edge.config.Timeout }

// Warning returns the text of [Config.Warn]; empty for none.
func (r *Request) Warning() string {
	if r.edge.config.Warn == nil {
		return ""
	}
	return r.edge.config.Warn()
}

// Site returns where the sender reaches the server, as https://host or https://host/path.
func (r *Request) Site() string { return r.edge.origin(r.Request) + r.edge.path }

// Root returns the beginning of links to the site, with a slash at the end: the path of the public URL if it has one,
// else a path relative to the request's, since a proxy may serve the site below a path that is not known here.
func (r *Request) Root() string {
	if path := r.edge.path; path != "" {
		return path + "/"
	}
	return cmp.Or(strings.Repeat("../", max(0, strings.Count(r.URL.EscapedPath(), "/")-1)), "./")
}

// redirect answers a request with a redirect to a path of the site.
func (e *Edge) redirect(w http.ResponseWriter, r *http.Request, to string) {
	at := Request{Request: r, edge: e}
	w.Header().Set("Location", at.Root()+strings.TrimPrefix(to, "/"))
	w.WriteHeader(http.StatusSeeOther)
}

// origin returns the address at which the sender reaches the server, without a path: from [Config.PublicURL], else from
// the request's Host, which [Edge.guard] checks.
func (e *Edge) origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return cmp.Or(strings.TrimSuffix(e.config.PublicURL, e.path), scheme+"://"+r.Host)
}

// InTurn calls read and returns its results. Only two reads run at once, since each may hold very many lists in memory;
// writing an answer needs no turn. If no turn comes in time, it returns the context's error.
func InTurn[T any](r *Request, read func() (T, error)) (none T, err error) {
	select {
	case r.edge.turns <- struct{}{}:
		defer func() { <-r.edge.turns }()
		return read()
	case <-r.Context().Done():
		return none, r.Context().Err()
	}
}

// Greet notes the name of a client that connected.
func (r *Request) Greet(client string) { r.edge.greeted.Store(r.Principal, todo.Cut(client, 100)) }

// Greeted returns the name of the principal's client that connected to this process last, and whether there is one.
func (r *Request) Greeted() (client string, any bool) {
	name, any := r.edge.greeted.Load(r.Principal)
	client, _ = name.(string)
	return client, any
}

// ResumeAfter returns the Seq after which a stream resumes, from Last-Event-ID or ?after=, and whether either is set.
// Anything but a whole number, 0 or more, is an [*Error].
func (r *Request) ResumeAfter() (after int64, resumes bool, err error) {
	after, err = number("Last-Event-ID or ?after=", cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")), -1)
	return after, after >= 0, err
}

// QueryNumber returns the number in a query parameter, or def without that parameter. Anything but a whole number, 0 or
// more, is an [*Error].
func (r *Request) QueryNumber(name string, def int64) (int64, error) {
	return number(name, r.URL.Query().Get(name), def)
}

func number(name, text string, def int64) (int64, error) {
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, BadRequest("%s must be a whole number, 0 or more", name)
	}
	return n, nil
}

// maxDrained is the size in bytes up to which a body that is too large is still read: a client that is cut off while
// it sends may not see the answer.
const maxDrained = 8 << 20

var tooLarge = newError(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", todo.MaxRequest)

// ReadJSON reads the body of a request. It must be JSON, have at most [todo.MaxRequest] bytes and arrive within the
// client timeout (BAD-INPUT 8 and 10).
func (r *Request) ReadJSON(w http.ResponseWriter) ([]byte, *Error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, newError(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, newError(http.StatusUnsupportedMediaType, "compressed bodies are not taken: leave out Content-Encoding")
	}
	if r.ContentLength > maxDrained {
		return nil, tooLarge
	}
	a := w.(*answer)
	body := http.MaxBytesReader(a.ResponseWriter, r.Body, maxDrained) // a larger body closes the response's connection
	raw, err := io.ReadAll(io.LimitReader(body, todo.MaxRequest+1))
	if len(raw) > todo.MaxRequest {
		_, _ = io.Copy(io.Discard, body)
		return nil, tooLarge
	}
	if err != nil {
		return nil, BadRequest("the body did not arrive whole within %s", r.edge.config.ClientTimeout)
	}
	// The deadline is for the body alone: the answer may be a stream. If the body is refused, the deadline stays for
	// the rest of the body, which the HTTP server reads.
	_ = a.control.SetReadDeadline(time.Time{})
	return raw, nil
}

const (
	pieceSize = 256 << 10 // bytes that a client must read within the client timeout: 26 kB/s is enough
	// maxUnsent is how many bytes of large answers clients may leave unread: sixteen of the largest pages of lists. One
	// client may leave half of that.
	maxUnsent   = 128 << 20
	smallAnswer = 16 << 10 // the size in bytes from which an answer is large
)

// answer is a response that its client must read in time. Else the connection is closed and the answer's memory freed
// (BAD-INPUT 61).
//
// A deadline is set only while something is written: in HTTP/2 a deadline ends the answer when it passes, even while
// the handler waits for the store.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	edge    *Edge
	status  int      // 0 means 200
	stream  bool     // the answer became a [sse.Stream]
	request *Request // nil until the sender is known
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.status = cmp.Or(a.status, status)
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (written int, err error) {
	if a.stream && len(p) >= smallAnswer {
		sent, err := a.edge.unsent.take(a.request, &p[0], len(p), maxUnsent)
		if err != nil {
			return 0, err
		}
		defer sent()
	}
	defer a.within(0)
	for {
		piece := p[:min(len(p), pieceSize)]
		a.within(a.edge.config.ClientTimeout)
		n, err := a.ResponseWriter.Write(piece)
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.edge.config.Log.Info("answer dropped: its client does not read it", "stream", a.stream)
			}
			return written, err
		}
		if p = p[n:]; len(p) == 0 {
			return written, nil
		}
	}
}

// within sets the deadline of writes to timeout from now; 0 means none. If setting it fails, the next write fails too.
func (a *answer) within(timeout time.Duration) {
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	_ = a.control.SetWriteDeadline(deadline)
}

// FlushError is called by http.ResponseController.
func (a *answer) FlushError() error {
	a.within(a.edge.config.ClientTimeout)
	defer a.within(0)
	return a.control.Flush()
}

// Unwrap is called by http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write answers with a status and a whole body. w must be the one that the handler got. If clients leave too much
// unread, Write writes nothing and returns an [*Error] with status 429.
func Write(w http.ResponseWriter, status int, mediaType string, body []byte) error {
	if len(body) >= smallAnswer {
		a := w.(*answer)
		sent, err := a.edge.unsent.take(a.request, &body[0], len(body), maxUnsent)
		if err != nil {
			return err
		}
		defer sent()
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

// WritePage is [Write] for a page in HTML with a Content-Security-Policy.
func WritePage(w http.ResponseWriter, status int, policy, page string) error {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "same-origin")
	return Write(w, status, "text/html; charset=utf-8", []byte(page))
}

// Static returns a handler that answers with content. Browsers keep it, and ask before each use whether it changed.
func Static(mediaType, content string) Handler {
	tag := strconv.Quote(todo.Digest(content)[:12])
	return func(w http.ResponseWriter, r *Request) error {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r.Request, "", time.Time{}, strings.NewReader(content))
		return nil
	}
}

// Error is a failure with its HTTP status and the text that the caller reads.
type Error struct {
	Status int
	Text   string
	Cause  error // for the log alone; nil if Text says all
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Cause.Error()
	}
	return e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func newError(status int, format string, args ...any) *Error {
	return &Error{Status: status, Text: fmt.Sprintf(format, args...)}
}

// BadRequest returns an error with status 400.
func BadRequest(format string, args ...any) *Error {
	return newError(http.StatusBadRequest, format, args...)
}

// Internal returns an error for a fault of the server's own; only the log has the cause.
func Internal(cause error) *Error {
	return &Error{http.StatusInternalServerError, "the server failed; its log says why", cause}
}

// Format writes a failure in the form that a route's callers expect.
type Format func(w http.ResponseWriter, status int, text string)

// Text writes a failure as plain text, for pages and probes.
func Text(w http.ResponseWriter, status int, text string) { http.Error(w, text, status) }

// JSON writes a failure as {"error": …}.
func JSON(w http.ResponseWriter, status int, text string) {
	_ = WriteJSON(w, status, map[string]string{"error": text})
}

// WriteJSON answers with a status and a value as JSON. If it returns an error, it has written nothing.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return Internal(fmt.Errorf("encode answer: %w", err))
	}
	return Write(w, status, "application/json", append(data, '\n'))
}

// kinds are the answers to errors of the board.
var kinds = map[board.Kind]Error{
	board.KindMissing:  {Status: http.StatusNotFound, Text: "no such list"},
	board.KindItemGone: {Status: http.StatusConflict, Text: todo.ErrItemGone.Error()},
	board.KindMirrored: {Status: http.StatusConflict, Text: todo.ErrMirrored.Error()},
	board.KindReadOnly: {Status: http.StatusForbidden, Text: "you may see these lists, not change them: the scope " + auth.ScopeWrite + " is missing"},
	board.KindTooNew:   {Status: http.StatusServiceUnavailable, Text: board.ErrTooNew.Error()},
	board.KindUnknown:  {Status: http.StatusServiceUnavailable, Text: "it is not known whether the change was saved: look before you repeat it"},
	board.KindLate:     {Status: http.StatusServiceUnavailable, Text: "the store did not answer in time (see --request-timeout)"},
}

// describe returns the status and the text of a failure. The text contains the cause only if the caller made a mistake.
func describe(err error) *Error {
	if answer, ok := errors.AsType[*Error](err); ok {
		return answer
	}
	if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
		return &Error{Status: refusal.Status, Text: refusal.Text}
	}
	if answer, ok := kinds[board.KindOf(err)]; ok {
		return &answer
	}
	if input, ok := errors.AsType[*todo.InputError](err); ok {
		return BadRequest("%s", input)
	}
	if full, ok := errors.AsType[*board.FullError](err); ok {
		return newError(http.StatusInsufficientStorage, "%s", full)
	}
	if errors.Is(err, board.ErrDamaged) {
		return newError(http.StatusServiceUnavailable, "the list is damaged in the store: `todo-mcp restore` brings an earlier revision of it back")
	}
	return newError(http.StatusServiceUnavailable, "the store failed; the server's log says why")
}

// fail answers a failure, and logs it in one line when the server is at fault; a reached quota, for which the caller
// can make room, is a warning. A browser that is not signed in is redirected from a page to the page for signing in. If
// the caller has disconnected, fail does nothing. r must be the incoming request: a handler's context ends at its
// timeout.
func (e *Edge) fail(w http.ResponseWriter, r *http.Request, format Format, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	answer := describe(err)
	_, isRefusal := errors.AsType[*auth.Refusal](err)
	visits := r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
	switch {
	case answer.Status == http.StatusUnauthorized && visits:
		e.redirect(w, r, signInPath+"?"+url.Values{"to": {r.URL.RequestURI()}}.Encode())
		return
	case isRefusal || errors.Is(err, board.ErrReadOnly):
		e.challenge(w, r, answer)
	case answer.Status >= http.StatusInternalServerError:
		level := slog.LevelError
		if board.KindOf(err) == board.KindFull {
			level = slog.LevelWarn
		}
		if answer.Status == http.StatusServiceUnavailable && !errors.Is(err, board.ErrDamaged) {
			w.Header().Set("Retry-After", "2")
		}
		e.config.Log.Log(r.Context(), level, "request failed", "method", r.Method, "route", r.Pattern, "status", answer.Status, "error", err)
	case answer.Status == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "":
		w.Header().Set("Retry-After", "1")
	}
	format(w, answer.Status, answer.Text)
}
