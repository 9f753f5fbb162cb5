package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// caller makes the n-th call of a plan that goes on by one item each time, and checks
// that it is answered.
type caller func(n int)

type comparison struct {
	transport string // "stdio" or "HTTP"
	items     int
}

func comparisons() []comparison {
	return []comparison{{"stdio", 10}, {"stdio", 50}, {"HTTP", 10}, {"HTTP", 50}}
}

func (c comparison) String() string { return fmt.Sprintf("%s, %d items", c.transport, c.items) }

func (c comparison) floor(t testing.TB) caller {
	floor := servertest.Floor()
	if c.transport == "stdio" {
		return c.overPipe(t, servertest.ServePipe(t, mcpserver.NewStdioServer(floor).Listen))
	}
	return c.overHTTP(t, mcpserver.NewStreamableHTTPServer(floor))
}

func (c comparison) own(t testing.TB, store board.Store) caller {
	s := servertest.New(t, store, func(c *server.Config) { c.Publish = []string{"auto"} })
	if c.transport == "stdio" {
		return c.overPipe(t, servertest.NewPipe(t, s))
	}
	h := servertest.Handler(t, s, nil)
	t.Cleanup(h.Close)
	return c.overHTTP(t, h)
}

// calls returns a caller by a function that sends a message and returns the answer,
// which is valid up to the next message.
func (c comparison) calls(t testing.TB, send func(message []byte) []byte) caller {
	messages := make([][]byte, c.items)
	for n := range messages {
		messages[n] = []byte(servertest.Call(n+1, "TodoWrite", servertest.Plan(c.items, n)))
	}
	return func(n int) {
		if answer := send(messages[n%c.items]); !bytes.Contains(answer, []byte("Todo list updated")) {
			t.Fatalf("answered %.300s", answer)
		}
	}
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func (c comparison) overPipe(t testing.TB, p *servertest.Pipe) caller {
	var answer []byte
	go p.Send(servertest.Initialize(0, "tester"), initialized)
	p.Read()
	return c.calls(t, func(message []byte) []byte {
		answer = append(append(answer[:0], message...), '\n')
		servertest.Must(p.In.Write(answer))(t)
		answer = answer[:0]
		for {
			part, err := p.Out.ReadSlice('\n')
			if answer = append(answer, part...); err == nil {
				return answer
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				t.Fatal(err)
			}
		}
	})
}

func (c comparison) overHTTP(t testing.TB, h http.Handler) caller {
	request := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	w := httptest.NewRecorder()
	send := func(message []byte) []byte {
		r := *request
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
		w.Body.Reset()
		clear(w.Header())
		h.ServeHTTP(w, &r)
		return w.Body.Bytes()
	}
	send([]byte(servertest.Initialize(0, "tester")))
	request.Header["Mcp-Session-Id"] = []string{w.Header().Get("Mcp-Session-Id")}
	request.Header["Mcp-Protocol-Version"] = []string{servertest.Legacy}
	send([]byte(initialized))
	return c.calls(t, send)
}

// BenchmarkCall measures a whole call beside one to a bare server of mcp-go.
func BenchmarkCall(b *testing.B) {
	for _, c := range comparisons() {
		bench := func(name string, call func(b *testing.B) caller) {
			b.Run(fmt.Sprint(c, "/", name), func(b *testing.B) {
				call := call(b)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					call(n)
				}
			})
		}
		bench("floor", func(b *testing.B) caller { return c.floor(b) })
		for name, store := range chattest.Stores(b) {
			bench(name, func(b *testing.B) caller { return c.own(b, store) })
		}
	}
}
