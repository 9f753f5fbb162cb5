package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/auth"
)

// Error is a failure with its HTTP status and the text that the caller reads.
type Error struct {
	Status int
	Text   string
	Cause  error // is logged and not told; nil if Text says all
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

// Internal returns an error for a fault of the server's own, which is not the
// store's: its callers learn no more than that, and the log has the cause.
func Internal(cause error) *Error {
	return &Error{http.StatusInternalServerError, "the server failed; its log says why", cause}
}

// Format writes a failure in the form that the callers of a route expect.
type Format func(w http.ResponseWriter, status int, text string)

// Text writes a failure as plain text, for pages and probes.
func Text(w http.ResponseWriter, status int, text string) { http.Error(w, text, status) }

// JSON writes a failure as {"error": …}.
func JSON(w http.ResponseWriter, status int, text string) {
	_ = WriteJSON(w, status, map[string]string{"error": text})
}

// WriteJSON answers with a status and a value as JSON. It returns an error when
// the value cannot be encoded; then nothing was written.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return Internal(fmt.Errorf("encode answer: %w", err))
	}
	return Write(w, status, "application/json", append(data, '\n'))
}

// describe returns the status and the text of a failure. The text reveals the cause of
// a caller's mistake alone.
func describe(err error) *Error {
	if answer, ok := errors.AsType[*Error](err); ok {
		return answer
	}
	if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
		return &Error{Status: refusal.Status, Text: refusal.Text}
	}
	switch board.KindOf(err) {
	case board.KindInvalid:
		if input, ok := errors.AsType[*todo.InputError](err); ok {
			return newError(http.StatusUnprocessableEntity, "%s", input)
		}
	case board.KindFull:
		if full, ok := errors.AsType[*board.FullError](err); ok {
			return newError(http.StatusInsufficientStorage, "%s", full)
		}
	case board.KindMissing:
		return newError(http.StatusNotFound, "no such list")
	case board.KindItemGone:
		return newError(http.StatusConflict, "%s", todo.ErrItemGone)
	case board.KindMirrored:
		return newError(http.StatusConflict, "%s", todo.ErrMirrored)
	case board.KindReadOnly:
		return newError(http.StatusForbidden, "you may see these lists, not change them: the scope %s is missing", auth.ScopeWrite)
	case board.KindTooNew:
		return newError(http.StatusServiceUnavailable, "%s", board.ErrTooNew)
	case board.KindUnknown:
		return newError(http.StatusServiceUnavailable, "it is not known whether the change was saved: look before you repeat it")
	case board.KindLate:
		return newError(http.StatusServiceUnavailable, "the store did not answer in time (see --request-timeout)")
	}
	if errors.Is(err, board.ErrDamaged) {
		return newError(http.StatusServiceUnavailable, "the list is damaged in the store: `todo-mcp restore` brings an earlier revision of it back")
	}
	return newError(http.StatusServiceUnavailable, "the store failed; the server's log says why")
}

// fail answers a failure, and logs it in one line when the server is at fault; a quota that
// is reached is a warning, since the caller can make room. A browser
// of somebody unknown that visits a page is led to the one for signing in. When the caller
// has disconnected it does nothing. r must be the request that came in: the context of a
// handler also ends at its timeout.
func (e *Edge) fail(w http.ResponseWriter, r *http.Request, format Format, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	answer := describe(err)
	_, isRefusal := errors.AsType[*auth.Refusal](err)
	visits := r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
	switch {
	case answer.Status == http.StatusUnauthorized && visits:
		e.redirect(w, r, e.signInAddress(r))
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
