package server_test

import (
	"context"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// panicking is a store in which every read panics.
type panicking struct{ todo.Store }

func (panicking) Update(context.Context, todo.Key, func(todo.Tx) error) error { panic("secret") }

func (panicking) Cursors(context.Context, todo.Key) ([]todo.Cursor, error) { panic("secret") }

func (panicking) Find(context.Context, todo.Query) ([]todo.Snapshot, error) { panic("secret") }

func (panicking) Load(context.Context, string, int64) (todo.Snapshot, error) { panic("secret") }

// A panic ends the request alone, on stdio too: the answer says nothing of its
// cause, the log does, in one line.
func TestPanicEndsTheRequestAlone(t *testing.T) {
	log := &servertest.Log{}
	p := servertest.NewPipe(t, servertest.New(t, panicking{memory.New()}, func(c *server.Config) { c.Log = log.Logger() }))
	for name, message := range map[string]string{
		"tool":     servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")),
		"resource": `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"todo://list"}}`,
		"template": `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"todo://lists/x"}}`,
		"prompt":   `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			go p.Send(message)
			if a := p.Read(); a.Error == nil || !strings.Contains(a.Error.Message, "the server failed; its log says why") || strings.Contains(a.Raw, "secret") {
				t.Errorf("answer %s", a.Raw)
			}
			if lines := log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "request failed") {
				t.Errorf("log %q", lines)
			}
		})
	}
}
