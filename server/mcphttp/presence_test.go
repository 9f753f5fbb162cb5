package mcphttp_test

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// The list of a session is left open when the session ends or makes no call for
// half an hour, unless it has a stream.
func TestHTTPPresence(t *testing.T) {
	var ahead atomic.Int64
	later := func(d time.Duration) { ahead.Add(int64(d)) }
	began := time.Now()
	b := board.NewBoard(memory.New(), board.WithClock(func() time.Time { return began.Add(time.Duration(ahead.Load())) }))
	t.Cleanup(b.Close)
	web := servertest.Serve(t, servertest.New(t, nil, func(c *server.Config) { c.Board = b }), nil)
	id := servertest.Session(t, web.URL+"/mcp", "tester")
	servertest.Is(t, "a call", 200)(servertest.Post(t, web.URL+"/mcp", servertest.Call(2, "TodoWrite", servertest.Todos("pending", "A")), "Mcp-Session-Id", id))
	expect := func(when string, want todo.State) {
		t.Helper()
		lists, err := b.As("").Find(t.Context(), board.Query{})
		if err != nil || len(lists) != 1 {
			t.Fatalf("%d lists, %v", len(lists), err)
		}
		states, err := b.As("").States(t.Context(), lists...)
		if got := states[lists[0].List.ID].State; got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", when, got, err, want)
		}
	}
	expect("after a call", todo.Working)
	later(29 * time.Minute)
	expect("29 minutes later", todo.Idle)
	stream := servertest.OpenStream(t, "GET", web.URL+"/mcp", "", "Mcp-Session-Id", id)
	later(29 * time.Minute)
	expect("with a stream", todo.Idle)
	servertest.Check(t, stream.Close())
	later(2 * time.Minute)
	expect("half an hour after the last sign", todo.LeftOpen)
	servertest.Post(t, web.URL+"/mcp", servertest.Call(3, "TodoWrite", servertest.Todos("in_progress", "A")), "Mcp-Session-Id", id)
	expect("when it is back", todo.Working)
	servertest.Is(t, "end", 200)(servertest.Ask(t, "DELETE", web.URL+"/mcp", "", "Mcp-Session-Id", id))
	expect("when it has ended", todo.LeftOpen)
}

// BAD-INPUT 53: the stream of a session begins although the store does not answer.
func TestStreamsBeginWithoutTheStore(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, &servertest.Failing{Store: memory.New(), Silent: true}, nil), nil)
	id := servertest.Session(t, web.URL+"/mcp", "tester")
	servertest.OpenStream(t, "GET", web.URL+"/mcp", "", "Mcp-Session-Id", id)
}

// The stream of a session begins with an id, from 2025-11-25 on, and every message on it has one:
// without, a client may give up the session when the stream has ended a few times.
func TestStreamsHaveIDs(t *testing.T) {
	for version, primed := range map[string]bool{"2025-11-25": true, "2025-06-18": false} {
		web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
		id := servertest.Session(t, web.URL+"/mcp", "tester")
		events := servertest.OpenStream(t, "GET", web.URL+"/mcp", "", "Mcp-Session-Id", id, "MCP-Protocol-Version", version)
		servertest.Post(t, web.URL+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"todo://lists"}}`, "Mcp-Session-Id", id)
		servertest.Post(t, web.URL+"/mcp", servertest.Call(2, "create_todos", `{"items":["A"]}`), "Mcp-Session-Id", id)
		all := events.Until(`"todo://lists"`)
		if got := strings.Contains(all, "\ndata:\n\n"); got != primed {
			t.Errorf("%s: begins with an id: %v: %q", version, got, all)
		}
		if !regexp.MustCompile(`(?m)^id: [0-9]+\nevent: message\ndata: `).MatchString(all) {
			t.Errorf("%s: a message has no id: %q", version, all)
		}
	}
}
