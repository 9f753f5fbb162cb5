package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/auth"
)

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
