package server_test

import (
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

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

// A panic ends the request alone, on stdio too: the answer says nothing of its
// cause, the log does, in one line.
func TestPanicEndsTheRequestAlone(t *testing.T) {
	log := &servertest.Log{}
	store := &servertest.Failing{Store: chattest.Memory(), Fault: func(string, string) error { panic("secret") }}
	r := &chattest.Rig{T: t, By: chattest.Stdio, Store: store}
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
