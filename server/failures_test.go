package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
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

// BAD-INPUT 44, 51: a call of two processes at once with one id.
func TestRepeatAtOnceSameAnswer(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		chats := []*chattest.Chat{r.Connect().Conversation("c"), open().Connect().Conversation("c")}
		const times = 40
		for n := range times {
			var work sync.WaitGroup
			answers := make([]string, len(chats))
			for i, c := range chats {
				work.Go(func() { answers[i] = c.InOperation(fmt.Sprint("op-", n)).Adds("Step").Says("1 created").Text() })
			}
			work.Wait()
			if answers[0] != answers[1] {
				t.Errorf("44: %d: answers\n%s\n%s", n, answers[0], answers[1])
			}
		}
		r.Expect(strings.TrimSpace(strings.Repeat("p:Step ", times)))
	})
}

// A list that only persons wrote, as after an import, has no revision by an agent.
func TestNoRevisionByAnAgent(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		l := r.Write("", board.Write{Target: board.Target{Conversation: board.Conversation{Key: "x"}},
			Writer: todo.Writer{Person: true}, Change: chattest.Adds("A")})
		a := r.Connect().Does("todo_list_view", fmt.Sprintf(`{"list_id":%q}`, l.List.ID))
		if said := string(a.Result.Meta["todo-mcp/list"]); !strings.Contains(said, `"revision":1`) || strings.Contains(said, `"written"`) {
			t.Error(said)
		}
	})
}
