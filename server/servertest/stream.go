package servertest

import (
	"github.com/todo-mcp/todo-mcp/internal/checktest"

	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Events is an open event stream.
type Events struct {
	t    *testing.T
	body *bufio.Reader
	// Close ends the stream from the client's side.
	Close func() error
}

// OpenStream sends a request and returns the event stream that answers it.
// headers alternates names and values.
func OpenStream(t *testing.T, method, url, body string, headers ...string) *Events {
	t.Helper()
	req := checktest.Must(http.NewRequest(method, url, strings.NewReader(body)))(t)
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("open stream: %v, %v", res, err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return &Events{t, bufio.NewReader(res.Body), res.Body.Close}
}

// Expect reads up to the first line that contains text and returns that line.
func (e *Events) Expect(text string) string {
	e.t.Helper()
	for {
		line, err := e.body.ReadString('\n')
		if err != nil {
			e.t.Fatalf("stream ended before %s: %v", text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// End reads until the server ends the stream.
func (e *Events) End() {
	e.t.Helper()
	if _, err := io.Copy(io.Discard, e.body); err != nil {
		e.t.Errorf("stream: %v", err)
	}
}

// Data returns the data of the next event.
func (e *Events) Data() string {
	e.t.Helper()
	return strings.TrimPrefix(strings.TrimSpace(e.Expect("data: ")), "data: ")
}

// Event returns the next event that has a name; the id may come from an earlier
// event without a name.
func (e *Events) Event() (id, name, data string) {
	e.t.Helper()
	for {
		line, err := e.body.ReadString('\n')
		if err != nil {
			e.t.Fatal("stream ended:", err)
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" {
				return id, name, data
			}
		}
	}
}

// Until reads up to the first line that contains text and returns all lines
// read.
func (e *Events) Until(text string) (all string) {
	e.t.Helper()
	for !strings.Contains(all, text) {
		line, err := e.body.ReadString('\n')
		if err != nil {
			e.t.Fatal("stream ended:", err)
		}
		all += line
	}
	return all
}
