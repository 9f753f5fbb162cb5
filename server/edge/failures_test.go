package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 50: while the store does not answer, routes, calls and streams end at the timeout.
func TestStuckStoreTimesOut(t *testing.T) {
	timeout := 50 * time.Millisecond
	log := &servertest.Log{}
	s := servertest.New(t, &servertest.Failing{Store: memory.New(), Silent: true}, func(c *server.Config) { c.Log, c.Timeout = log.Logger(), timeout })
	site := servertest.Serve(t, s, func(c *edge.Config) { c.Timeout = timeout })
	for _, route := range []string{"GET /", "GET /readyz", "GET /api/lists", "GET /api/lists/x", "GET /api/lists/x/history", "GET /api/workspace", "GET /lists/x",
		"GET /lists/x.md", "POST /lists/x/edit"} {
		t.Run(route, func(t *testing.T) {
			method, path, _ := strings.Cut(route, " ")
			servertest.Is(t, "answer", http.StatusServiceUnavailable, "did not answer in time")(
				servertest.Ask(t, method, site.URL+path, `{"do":"add","text":"A"}`, "Content-Type", "application/json"))
			if lines := log.Take(); len(lines) != 1 {
				t.Errorf("log %q", lines)
			}
		})
	}
	id := servertest.Session(t, site.URL+"/mcp", "tester")
	for name, message := range map[string]string{
		"tool":     servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")),
		"resource": `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"todo://list"}}`,
		"prompt":   `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume"}}`,
	} {
		servertest.Is(t, name, http.StatusOK, `"error"`)(servertest.Post(t, site.URL+"/mcp", message, "Mcp-Session-Id", id))
	}
	log.Take()
	for _, path := range []string{"/api/events?after=0", "/panel/events?after=0"} {
		t.Run("stream "+path, func(t *testing.T) {
			servertest.OpenStream(t, "GET", site.URL+path, "").End()
			if lines := log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "catch up") {
				t.Errorf("log %q", lines)
			}
		})
	}
}

// BAD-INPUT 50: a reader that leaves during a read is no failure.
func TestDisconnectedReaderIsNotLogged(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	store := &servertest.Failing{Store: memory.New(), Fault: func(string, string) error { leave(); return context.Canceled }}
	log := &servertest.Log{}
	get(ctx, newSite(t, store, func(c *edge.Config) { c.Log = log.Logger() }), "/panel/events?after=0")
	if ctx.Err() == nil {
		t.Error("the store was not read")
	}
	if lines := log.Take(); lines != nil {
		t.Errorf("log %q", lines)
	}
}

// A failure of the server is one line of the log (BAD-INPUT 50). A quota is a warning; what a person
// did wrong, or a caller cancelled, is not logged.
func TestFailuresOfAHandler(t *testing.T) {
	log := &servertest.Log{}
	e := newSite(t, nil, func(c *edge.Config) { c.Log = log.Logger() })
	e.Handle("GET /panics", edge.JSON, func(http.ResponseWriter, *edge.Request) error { panic("bang") })
	e.Handle("GET /fails", edge.JSON, func(http.ResponseWriter, *edge.Request) error { return fmt.Errorf("bang: %w", context.Canceled) })
	e.Handle("GET /refuses", edge.JSON, func(http.ResponseWriter, *edge.Request) error {
		return fmt.Errorf("bang: %w", &todo.InputError{Problems: []todo.Problem{{Message: "too many items", Sentence: true}}})
	})
	e.Handle("GET /waits", edge.JSON, func(_ http.ResponseWriter, r *edge.Request) error { <-r.Context().Done(); return r.Context().Err() })
	e.Handle("GET /full", edge.JSON, func(http.ResponseWriter, *edge.Request) error {
		return fmt.Errorf("bang: %w", &board.FullError{Err: board.ErrTooManyLists, Detail: "prune"})
	})
	for path, want := range map[string]struct {
		status, logged int
		text           string
	}{
		"/full":   {http.StatusInsufficientStorage, 1, `{"error":"too many lists: prune"}`},
		"/panics": {http.StatusInternalServerError, 1, "the server failed"}, "/fails": {http.StatusServiceUnavailable, 1, "the store failed"},
		"/refuses": {http.StatusUnprocessableEntity, 0, `{"error":"too many items"}`}, "/livez": {http.StatusOK, 0, "ok"},
	} {
		if answer := get(t.Context(), e, path); answer.Code != want.status || !strings.Contains(answer.Body.String(), want.text) || strings.Contains(answer.Body.String(), "bang") {
			t.Errorf("%s: answer %d %s", path, answer.Code, answer.Body)
		}
		if lines := log.Take(); len(lines) != want.logged || want.logged > 0 && !strings.Contains(lines[0], "bang") {
			t.Errorf("%s: log %q", path, lines)
		} else if want.logged > 0 && strings.Contains(lines[0], "level=ERROR") != (path != "/full") {
			t.Errorf("%s: another level: %q", path, lines)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if answer, lines := get(ctx, e, "/waits"), log.Take(); lines != nil || answer.Body.Len() > 0 {
		t.Errorf("log %q, answer %s", lines, answer.Body)
	}
}
