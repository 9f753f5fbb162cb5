package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 43: input over a limit is refused with an error that names the
// limit: by the tool when the message itself is small enough, else by the
// transport.
func TestInputOverALimit(t *testing.T) {
	items := func(n int) string {
		return `{"items":[` + strings.Repeat(`"a",`, n-1) + `"a"]}`
	}
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		c.Calls("create_todos", items(100_000)).Fails("at most 1000")
		long := chattest.Arguments("SetTodoList", "p:"+strings.Repeat("x", 4001))
		c.Calls("SetTodoList", long).Fails("at most 4000 characters, received 4001")
		large := c.Message(1, "tools/call", `{"name":"create_todos","arguments":{"items":["`+strings.Repeat("x", 4<<20)+`"]}}`)
		if !r.By.Piped() {
			status, _, body := servertest.Post(t, c.URL, large, c.Headers(large)...)
			if status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "1048576 bytes") {
				t.Errorf("43: 4 MB: %d %.200s", status, body)
			}
			return
		}
		a, err := c.Send(t.Context(), large)
		if err != nil || string(a.ID) != "1" || !a.Result.IsError || !strings.Contains(a.Text(), "larger than 1048576 bytes") {
			t.Errorf("43: 4 MB: %.200s %v", a.Raw, err)
		}
	})
}

// BAD-INPUT 41: A line break and a forged log record in a text or name → One log line
func TestClientTextCannotForgeLog(t *testing.T) {
	log := &servertest.Log{}
	store := &servertest.Failing{Store: chattest.Memory()}
	store.Broken.Store(true)
	r := &chattest.Rig{T: t, By: chattest.Stdio, Store: store}
	c := r.Start(func(c *server.Config) { c.Log = log.Logger() }).Chat(`x\ntime=2026 level=ERROR msg=forged`)
	a, err := c.Try("TodoWrite", servertest.Todos("pending", `secret\nlevel=ERROR msg=forged`))
	if err != nil || a.Error == nil || !strings.Contains(a.Error.Message, "could not be saved") {
		t.Errorf("answer: %s %v", a.Raw, err)
	}
	if got := log.Take(); len(got) != 1 || strings.Contains(got[0], "forged") || strings.Contains(got[0], "secret") {
		t.Errorf("41: log is %q", got)
	}
}

// panicking is a store in which every read panics.
type panicking struct{ board.Store }

func (panicking) Update(context.Context, board.Key, func(board.Tx) error) error { panic("secret") }

func (panicking) Seen(context.Context, board.Key) ([]board.Seen, error) { panic("secret") }

func (panicking) Find(context.Context, board.Query) ([]todo.Snapshot, error) { panic("secret") }

func (panicking) Load(context.Context, string, int64) (todo.Snapshot, error) { panic("secret") }

// A panic ends the request alone, on stdio too: the answer says nothing of its
// cause, the log does, in one line.
func TestPanicEndsTheRequestAlone(t *testing.T) {
	log := &servertest.Log{}
	r := &chattest.Rig{T: t, By: chattest.Stdio, Store: panicking{chattest.Memory()}}
	c := r.Start(func(c *server.Config) { c.Log = log.Logger() }).Chat("tester")
	for params, method := range map[string]string{
		`{"name":"TodoWrite","arguments":{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}}`: "tools/call",
		`{"uri":"todo://list"}`: "resources/read", `{"uri":"todo://lists/x"}`: "resources/read", `{"name":"resume"}`: "prompts/get",
	} {
		a := c.Asks(method, params)
		if a.Error == nil || !strings.Contains(a.Error.Message, "the server failed; its log says why") || strings.Contains(a.Raw, "secret") {
			t.Errorf("%s %s: answer %s", method, params, a.Raw)
		}
		if lines := log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "request failed") {
			t.Errorf("%s %s: log %q", method, params, lines)
		}
	}
}
