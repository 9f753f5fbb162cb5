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

// A session id that this server did not sign is refused (docs/spec/protocol.md:
// mcp-go's own manager accepts forged ids).
func TestHTTPForgedSessions(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	url := web.URL + "/mcp"
	id := servertest.Session(t, url, "tester")
	payload, mac, _ := strings.Cut(id, ".")
	for name, forged := range map[string]string{
		"uuid":        "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"unsigned":    payload,
		"no mac":      payload + ".",
		"other mac":   payload + "." + strings.Repeat("A", len(mac)),
		"other claim": "e30." + mac,
		"long":        strings.Repeat("A", 5000) + "." + mac,
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			call := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
			servertest.Is(t, name+" "+method, 404)(servertest.Ask(t, method, url, call, "Content-Type", "application/json", "Mcp-Session-Id", forged))
		}
	}
	servertest.Is(t, "no session", 400, "initialize")(servertest.Post(t, url, servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))))
}

// BAD-INPUT 34: whatever version _meta names, a call needs the id of a session.
func TestHTTPSessionsAreCheckedWhateverMetaSays(t *testing.T) {
	url := servertest.Serve(t, servertest.New(t, nil, nil), nil).URL + "/mcp"
	call := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
	const version = `"io.modelcontextprotocol/protocolVersion":`
	for _, meta := range []string{version + `"2025-06-18"`, version + `"1"`, version + `"` + servertest.Modern + `","x":1e400`} {
		for name, headers := range map[string][]string{
			"no session": nil,
			"named":      servertest.ModernHeaders("tools/call", "TodoWrite"),
			"forged":     {"Mcp-Session-Id", "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		} {
			if status, _, body := servertest.Post(t, url, servertest.WithMeta(call, meta), headers...); status != 400 && status != 404 {
				t.Errorf("34: %s with %s: %d %s", name, meta, status, body)
			}
		}
	}
	subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"todo://list","_meta":{` + version + `"` + servertest.Modern + `","x":1e400}}}`
	servertest.Is(t, "34: a subscription without a session", 400)(servertest.Post(t, url, subscribe, servertest.ModernHeaders("resources/subscribe", "")...))
	id := servertest.Session(t, url, "tester")
	servertest.Is(t, "in a session", 200)(servertest.Post(t, url, servertest.WithMeta(call, version+`"2025-06-18"`), "Mcp-Session-Id", id))
	servertest.Is(t, "the list of its call", 200, "[pending] A")(servertest.Post(t, url, servertest.Call(2, "SetTodoList", `{}`), "Mcp-Session-Id", id))
}

// After a restart of the server a session still has its list and its client's
// name. A session that its client ended is refused (docs/spec/protocol.md).
func TestHTTPSessionsSurviveRestart(t *testing.T) {
	store := memory.New()
	auto := func(c *server.Config) { c.Publish = []string{"auto"} }
	before := servertest.Serve(t, servertest.New(t, store, auto), nil)
	id := servertest.Session(t, before.URL+"/mcp", "codex-mcp-client")
	servertest.Is(t, "before", 200, "updated")(servertest.Post(t, before.URL+"/mcp", servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")), "Mcp-Session-Id", id))
	before.CloseClientConnections()
	after := servertest.Serve(t, servertest.New(t, store, auto), nil)
	servertest.Is(t, "after a restart", 200, `Todo list:\n- [pending] A"`)(servertest.Post(t, after.URL+"/mcp", servertest.Call(2, "SetTodoList", `{}`), "Mcp-Session-Id", id))
	_, _, body := servertest.Post(t, after.URL+"/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", id)
	if strings.Count(body, `"inputSchema"`) != 1 || strings.Contains(body, `"outputSchema"`) { // Codex is listed none
		t.Errorf("the client is unknown after a restart: %s", body)
	}
	servertest.Is(t, "end", 200)(servertest.Ask(t, "DELETE", after.URL+"/mcp", "", "Mcp-Session-Id", id))
	servertest.Is(t, "ended", 404)(servertest.Post(t, after.URL+"/mcp", servertest.Call(4, "SetTodoList", `{}`), "Mcp-Session-Id", id))
}

// BAD-INPUT 14: whatever version initialize names in _meta. (mcp-go keeps 10 kB for each, for ever.)
func TestHTTPAbandonedSessionsUseNoMemory(t *testing.T) {
	url := servertest.Serve(t, servertest.New(t, nil, nil), nil).URL + "/mcp"
	const version = `"io.modelcontextprotocol/protocolVersion":`
	unread := version + `"` + servertest.Modern + `","x":1e400` // for mcp-go it is no version, and no session begins
	for name, meta := range map[string]string{"none": `"a":1`, "older": version + `"2025-06-18"`, "unread": unread} {
		begin := func(n int) {
			for range n {
				_, header, body := servertest.Post(t, url, servertest.WithMeta(servertest.Initialize(1, "tester"), meta))
				if begins := header.Get("Mcp-Session-Id") != ""; begins != (meta != unread) {
					t.Fatalf("14: version %s: a session begins: %t: %s", name, begins, body)
				}
			}
		}
		begin(50)
		before := servertest.Heap()
		begin(2000)
		if grown := int64(servertest.Heap()) - int64(before); grown > 4<<20 {
			t.Errorf("14: version %s: 2000 abandoned sessions use %d bytes", name, grown)
		}
	}
	// One whose header names the sessionless protocol begins nothing.
	status, header, body := servertest.Post(t, url, servertest.WithMeta(servertest.Initialize(1, "tester"), version+`"`+servertest.Modern+`","io.modelcontextprotocol/clientCapabilities":{}`),
		servertest.ModernHeaders("initialize", "")...)
	if status != 404 || header.Get("Mcp-Session-Id") != "" || !strings.Contains(body, "-32601") {
		t.Errorf("sessionless: %d %s", status, body)
	}
}

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
