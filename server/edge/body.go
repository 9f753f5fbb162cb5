package edge

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"todo-mcp/internal/todo"
)

// ReadJSON reads the body of a request that must be JSON, of at most
// [todo.MaxRequest] bytes and arrive within the body timeout (BAD-INPUT 7–9,
// 11). Its errors are of type [*Error].
func (r *Request) ReadJSON(w http.ResponseWriter) ([]byte, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &Error{http.StatusUnsupportedMediaType, "Content-Type must be application/json"}
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &Error{http.StatusUnsupportedMediaType, "compressed bodies are not taken: leave out Content-Encoding"}
	}
	tooLarge := &Error{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", todo.MaxRequest)}
	if r.ContentLength > todo.MaxRequest {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, todo.MaxRequest))
	if limit := (*http.MaxBytesError)(nil); errors.As(err, &limit) {
		return nil, tooLarge
	}
	if err != nil {
		return nil, BadRequest("the body did not arrive whole within %s", r.edge.config.BodyTimeout)
	}
	// The deadline is for the body alone: the answer may be a stream. It stays
	// when the body is not read whole, because the HTTP server reads the rest.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return raw, nil
}
