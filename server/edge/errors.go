package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"todo-mcp/internal/todo"
)

// Error is a failure with its HTTP status and the text that the caller reads.
type Error struct {
	Status int
	Text   string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// BadRequest returns an error with status 400.
func BadRequest(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, args...)}
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
	return nil
}

// Internal returns an error for a fault of the server's own, which is not the
// store's: its callers learn no more than that, and the log has the cause.
func Internal(cause error) error { return &internalError{cause} }

type internalError struct{ cause error }

func (e *internalError) Error() string { return e.cause.Error() }
func (e *internalError) Unwrap() error { return e.cause }

// answers says what the kinds of errors are to a caller; where there is no text, the
// error's own says it. Any other kind is the store's fault.
func answers() map[todo.Kind]Error {
	return map[todo.Kind]Error{
		todo.KindInvalid:  {http.StatusUnprocessableEntity, ""},
		todo.KindFull:     {http.StatusInsufficientStorage, ""},
		todo.KindMissing:  {http.StatusNotFound, "no such list"},
		todo.KindItemGone: {http.StatusConflict, todo.ErrItemGone.Error()},
		todo.KindMirrored: {http.StatusConflict, todo.ErrMirrored.Error()},
		todo.KindReadOnly: {http.StatusForbidden, ReadOnly},
		todo.KindUnknown:  {http.StatusServiceUnavailable, "it is not known whether the change was saved: look before you repeat it"},
		todo.KindLate:     {http.StatusServiceUnavailable, "the store did not answer in time (see --request-timeout)"},
	}
}

// describe returns the status and the text of a failure. The text reveals the cause of
// a caller's mistake alone.
func describe(err error) *Error {
	var answer *Error
	var internal *internalError
	var input *todo.InputError
	var full *todo.FullError
	switch {
	case errors.As(err, &internal):
		return &Error{http.StatusInternalServerError, "the server failed; its log says why"}
	case errors.As(err, &answer):
		return answer
	}
	a, known := answers()[todo.KindOf(err)]
	switch {
	case a.Text != "":
	case known && errors.As(err, &input):
		a.Text = input.Error()
	case known && errors.As(err, &full):
		a.Text = full.Error()
	default:
		a = Error{http.StatusServiceUnavailable, "the store failed; the server's log says why"}
	}
	return &a
}

// fail answers a failure, and logs it in one line when the server is at fault.
// When the caller has disconnected it does neither. r must be the request that
// came in: the context of a handler also ends at its timeout.
func (e *Edge) fail(w http.ResponseWriter, r *http.Request, format Format, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	answer := describe(err)
	if answer.Status >= http.StatusInternalServerError {
		e.config.Log.Error("request failed", "method", r.Method, "route", r.Pattern, "status", answer.Status, "error", err)
	}
	if errors.Is(err, todo.ErrReadOnly) {
		e.challenge(w, r, answer)
	}
	format(w, answer.Status, answer.Text)
}

// recover answers and logs a panic of a handler, so that it ends only its
// request. It passes on http.ErrAbortHandler.
func (e *Edge) recover(w http.ResponseWriter, r *http.Request, format Format) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	e.config.Log.Error("request panicked", "method", r.Method, "route", r.Pattern, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
	format(w, http.StatusInternalServerError, "the server failed; its log says why")
}
