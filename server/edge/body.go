package edge

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"time"

	"todo-mcp/internal/todo"
)

// maxScanned is the size in bytes of the largest body that is read although it is
// too large, so that its answer can have the id of the request.
const maxScanned = 8 << 20

// ReadJSON reads the body of a request. It must be JSON, have at most
// [todo.MaxRequest] bytes and arrive within the client timeout (BAD-INPUT 7–9, 11).
// If it is larger, and scan is not nil, ReadJSON calls scan with the whole body
// before it returns an error; reading that fails when the body has more than
// maxScanned bytes.
func (r *Request) ReadJSON(w http.ResponseWriter, scan func(body io.Reader)) ([]byte, *Error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, newError(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, newError(http.StatusUnsupportedMediaType, "compressed bodies are not taken: leave out Content-Encoding")
	}
	tooLarge := newError(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", todo.MaxRequest)
	if r.ContentLength > maxScanned || r.ContentLength > todo.MaxRequest && scan == nil {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	body := http.MaxBytesReader(w, r.Body, maxScanned)
	raw, err := io.ReadAll(io.LimitReader(body, todo.MaxRequest+1))
	if err != nil {
		return nil, BadRequest("the body did not arrive whole within %s", r.edge.config.ClientTimeout)
	}
	if len(raw) > todo.MaxRequest {
		w.Header().Set("Connection", "close") // the body may not have been read whole
		if scan != nil {
			scan(io.MultiReader(bytes.NewReader(raw), body))
		}
		return nil, tooLarge
	}
	// The deadline is for the body alone: the answer may be a stream. It stays
	// when the body is not read whole, because the HTTP server reads the rest.
	_ = w.(*answer).control.SetReadDeadline(time.Time{})
	return raw, nil
}
