package mcphttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// /mcp/ is the same address as /mcp, also with a query: a session that begins at one continues at the other, and both
// use the list that the query names.
func TestSlashBehindMCP(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	id := servertest.NewSession(t, web.URL+"/mcp/?list=work", "tester")
	for n, path := range []string{"/mcp/?list=work", "/mcp?list=work"} {
		servertest.Is(t, path, 200, "updated")(servertest.Post(t, web.URL+path, servertest.Call(n, "TodoWrite", servertest.Todos("pending", "A")), "Mcp-Session-Id", id))
	}
	if ids := servertest.ListIDs(t, web.URL); len(ids) != 1 {
		t.Errorf("lists %v", ids)
	}
}

// BAD-INPUT 8: A body not `application/json`, or compressed; one over 1 MiB → 415; the large one: 413, before it is
// parsed. Up to 8 MiB are read, so that the client sees the answer
func TestHTTPBodies(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	hello := servertest.Initialize(1, "x")
	for header, want := range map[string]int{"Content-Type text/plain": 415, "Content-Type application/x-www-form-urlencoded": 415, "Content-Type ": 415,
		"Content-Encoding gzip": 415, "Content-Type application/json; charset=utf-8": 200} {
		name, value, _ := strings.Cut(header, " ")
		servertest.Is(t, "8: "+header, want)(servertest.Post(t, web.URL+"/mcp", hello, name, value))
	}
	large := servertest.Call("x", "TodoWrite", strings.Repeat(" ", 7<<20)+`{}`)
	for name, body := range map[string]io.Reader{"declared": strings.NewReader(large), "chunked": struct{ io.Reader }{strings.NewReader(large)}} {
		status, _, answer, err := servertest.TryPost(web.URL+"/mcp", body)
		checktest.Check(t, err)
		servertest.Is(t, "8: "+name, 413, `"id":null`)(status, nil, answer)
	}
	// The server reads nothing of a body declared larger than 8 MiB, and at most 8 MiB of a chunked body.
	host := strings.TrimPrefix(web.URL, "http://")
	chunk := strings.Repeat(" ", 8<<20+1)
	for name, rest := range map[string]string{
		"declared": fmt.Sprintf("Content-Length: %d\r\n\r\n", 9<<20),
		"chunked":  fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(chunk), chunk),
	} {
		c := checktest.Must(net.Dial("tcp", host))(t)
		defer c.Close()
		go fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s", host, rest)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		checktest.Check(t, err)
		defer res.Body.Close()
		servertest.Is(t, "8: over 8 MiB "+name, 413, `"id":null`)(res.StatusCode, nil, string(checktest.Must(io.ReadAll(res.Body))(t)))
	}
}

// BAD-INPUT 81: A message without a method that is no response → An error with its id
func TestHTTPBadMessages(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	id := servertest.NewSession(t, web.URL+"/mcp", "tester")
	for name, message := range servertest.BadMessages() {
		status, _, body := servertest.Post(t, web.URL+"/mcp", message, "Mcp-Session-Id", id)
		if name == "wrong version" && strings.Contains(body, `"error"`) {
			continue // mcp-go answers with a JSON-RPC error and status 200
		}
		servertest.Is(t, name, 400, `"error"`)(status, nil, body)
		servertest.Is(t, name+", sessionless", 400, `"error"`)(servertest.Post(t, web.URL+"/mcp", message, servertest.ModernHeaders("ping", "")...))
	}
}

// BAD-INPUT 23: An unknown protocol version → 400 with the supported ones; `initialize` gets a known one
//
// BAD-INPUT 25: Headers that contradict the body → 400
func TestHTTPVersions(t *testing.T) {
	url := servertest.Serve(t, servertest.New(t, nil, nil), nil).URL + "/mcp"
	modern := servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", "A"))
	unknown := strings.ReplaceAll(modern, servertest.Modern, "2099-01-01")
	for name, c := range map[string]struct {
		body    string
		headers []string
		want    string
	}{
		"23 header":          {servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")), []string{"MCP-Protocol-Version", "1999-01-01"}, servertest.Modern},
		"23 header and meta": {unknown, []string{"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "TodoWrite"}, servertest.Legacy},
		"25 no header":       {modern, nil, `"error"`},
		"25 other method":    {modern, servertest.ModernHeaders("tools/list", ""), `"error"`},
		"25 other name":      {modern, servertest.ModernHeaders("tools/call", "SetTodoList"), `"error"`},
		"25 other version":   {modern, []string{"MCP-Protocol-Version", servertest.Legacy}, `"error"`},
	} {
		servertest.Is(t, name, 400, c.want, `"id":1`)(servertest.Post(t, url, c.body, c.headers...))
	}
	hello := strings.ReplaceAll(servertest.Initialize(1, "x"), servertest.Legacy, "2099-01-01")
	servertest.Is(t, "23 initialize", 200, `"protocolVersion":"`+servertest.Legacy+`"`)(servertest.Post(t, url, hello))
}

// BAD-INPUT 22: Two clients use one request id at once → Each gets its own answer; neither cancels the other's call
func TestHTTPSameRequestID(t *testing.T) {
	for _, era := range []string{servertest.Legacy, servertest.Modern} {
		store := servertest.Slow{Store: storetest.NewMemory(), Saving: make(chan string, 2), Let: make(chan struct{})}
		web := servertest.Serve(t, servertest.New(t, store, nil), nil)
		url := web.URL + "/mcp"
		headers := func(string) []string { return servertest.ModernHeaders("tools/call", "create_todos") }
		call, cancelHeaders := servertest.ModernCall, servertest.ModernHeaders("notifications/cancelled", "")
		cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` // the official Go SDK's form
		if era == servertest.Legacy {
			call = servertest.Call
			ids := map[string]string{"A": servertest.NewSession(t, url, "one"), "B": servertest.NewSession(t, url, "two")}
			headers = func(who string) []string { return []string{"Mcp-Session-Id", ids[who]} }
			cancelHeaders = []string{"Mcp-Session-Id", servertest.NewSession(t, url, "three")}
		}
		var both sync.WaitGroup
		for _, who := range []string{"A", "B"} {
			both.Go(func() {
				_, _, body, err := servertest.TryPost(url, strings.NewReader(call(7, "create_todos", `{"items":["`+who+`"]}`)), headers(who)...)
				if err != nil || !strings.Contains(body, `#1 `+who) && !strings.Contains(body, `#2 `+who) {
					t.Errorf("%s: %s got %s, %v", era, who, body, err)
				}
			})
		}
		<-store.Saving
		servertest.Is(t, era+": cancellation", 202)(servertest.Post(t, url, cancel, cancelHeaders...))
		close(store.Let)
		both.Wait()
	}
}

// When the server stops, a stream of subscriptions/listen still ends with its answer, which tells the client that
// nothing more comes.
func TestHTTPListenIsAnsweredAtTheEnd(t *testing.T) {
	h := servertest.Handler(t, servertest.New(t, nil, nil), nil)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	stream := servertest.OpenStream(t, "POST", web.URL+"/mcp", `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://lists"]},`+servertest.Meta+`}}`,
		servertest.ModernHeaders("subscriptions/listen", "")...)
	stream.Expect("acknowledged")
	get := servertest.OpenStream(t, "GET", web.URL+"/mcp", "", "Mcp-Session-Id", servertest.NewSession(t, web.URL+"/mcp", "tester"))
	h.Close()
	get.End()
	checktest.Has(t, "the end of the stream", stream.Data(), `"id":"L","result"`)
	stream.Expect(": the server stops")
	stream.End()
}

// BAD-INPUT 28: A client that goes away during a write → A whole revision or none; no server failure
func TestHTTPClientGone(t *testing.T) {
	store := storetest.NewMemory()
	web := servertest.Serve(t, servertest.New(t, store, nil), nil)
	host := strings.TrimPrefix(web.URL, "http://")
	session := servertest.NewSession(t, web.URL+"/mcp", "tester")
	request := func(n int) string {
		texts := []string{fmt.Sprintf("A%04d", n), fmt.Sprintf("B%04d", n), fmt.Sprintf("C%04d", n)}
		body := servertest.Call(1, "TodoWrite", servertest.Todos("pending", texts...))
		return fmt.Sprintf("POST /mcp?list=gone HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
			host, session, len(body), body)
	}
	whole := len(request(0))
	for sent := range whole/7 + 20 { // each 7 bytes longer, at last whole; no answer is read
		c := checktest.Must(net.Dial("tcp", host))(t)
		_, _ = io.WriteString(c, request(sent)[:min(7*sent, whole)])
		c.Close()
	}
	// A last call that waits for its answer is applied after all others.
	servertest.Post(t, web.URL+"/mcp?list=gone", servertest.Call(1, "TodoWrite", servertest.Todos("pending", "the", "last", "plan")), "Mcp-Session-Id", session)
	lists, err := store.Find(t.Context(), board.Query{})
	if err != nil || len(lists) != 1 {
		t.Fatalf("28: %d lists, %v", len(lists), err)
	}
	revisions, err := store.History(t.Context(), lists[0].List.ID, 0, 0)
	if err != nil || len(revisions) == 0 {
		t.Fatal(err)
	}
	for _, r := range revisions {
		var texts []string
		for _, item := range r.Items {
			texts = append(texts, item.Text)
		}
		plan := strings.Join(texts, " ")
		n, err := strconv.Atoi(strings.TrimPrefix(texts[0], "A"))
		if plan != "the last plan" && (err != nil || plan != fmt.Sprintf("A%04d B%04d C%04d", n, n, n)) {
			t.Errorf("28: revision %d is %q", r.Revision, plan)
		}
	}
}

// BAD-INPUT 42: bad list names in the query and in the header Todo-List are refused. The query comes first.
func TestHTTPListNames(t *testing.T) {
	_, base := servertest.Site(t)
	id := servertest.NewSession(t, base+"/mcp", "tester")
	call := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
	servertest.Is(t, "a name", 200)(servertest.Post(t, base+"/mcp?list=Vi%E1%BB%87c+tu%E1%BA%A7n", call, "Mcp-Session-Id", id, "Todo-List", "a/b"))
	for _, query := range []string{"?list=a%2Fb", "?list=%FF", ""} {
		servertest.Is(t, "42: "+query, 400, "letters, digits")(servertest.Post(t, base+"/mcp"+query, call, "Mcp-Session-Id", id, "Todo-List", "a/b"))
	}
}

// A session id that this server did not sign is refused (docs/spec/protocol.md:
// mcp-go's own manager accepts forged ids).
func TestHTTPForgedSessions(t *testing.T) {
	url := servertest.Serve(t, servertest.New(t, nil, nil), nil).URL + "/mcp"
	id := servertest.NewSession(t, url, "tester")
	payload, mac, _ := strings.Cut(id, ".")
	for name, forged := range map[string]string{
		"uuid":        "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8",
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

// BAD-INPUT 34: a call needs a session's id if _meta names an older or unknown version, or cannot be read.
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
	id := servertest.NewSession(t, url, "tester")
	servertest.Is(t, "in a session", 200)(servertest.Post(t, url, servertest.WithMeta(call, version+`"2025-06-18"`), "Mcp-Session-Id", id))
	servertest.Is(t, "the list of its call", 200, "[pending] A")(servertest.Post(t, url, servertest.Call(2, "SetTodoList", `{}`), "Mcp-Session-Id", id))
}

// After a restart of the server a session still has its list and its client's
// name. A session that its client ended is refused (docs/spec/protocol.md).
func TestHTTPSessionsSurviveRestart(t *testing.T) {
	store := storetest.NewMemory()
	auto := func(c *server.Config) { c.Publish = []string{"auto"} }
	before := servertest.Serve(t, servertest.New(t, store, auto), nil)
	id := servertest.NewSession(t, before.URL+"/mcp", "codex-mcp-client")
	servertest.Is(t, "before", 200, "updated")(
		servertest.Post(t, before.URL+"/mcp", servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")), "Mcp-Session-Id", id))
	before.CloseClientConnections()
	after := servertest.Serve(t, servertest.New(t, store, auto), nil)
	servertest.Is(t, "after a restart", 200, `Todo list:\n- [pending] A"`)(
		servertest.Post(t, after.URL+"/mcp", servertest.Call(2, "SetTodoList", `{}`), "Mcp-Session-Id", id))
	_, _, body := servertest.Post(t, after.URL+"/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", id)
	if strings.Count(body, `"inputSchema"`) != 1 || strings.Contains(body, `"outputSchema"`) { // Codex gets no schema
		t.Errorf("the client is unknown after a restart: %s", body)
	}
	servertest.Is(t, "end", 200)(servertest.Ask(t, "DELETE", after.URL+"/mcp", "", "Mcp-Session-Id", id))
	servertest.Is(t, "ended", 404)(servertest.Post(t, after.URL+"/mcp", servertest.Call(4, "SetTodoList", `{}`), "Mcp-Session-Id", id))
}

// BAD-INPUT 14: 100,000 abandoned sessions → No memory: session ids are signed, not stored
//
// (This holds whatever version _meta names. mcp-go keeps 10 kB of each session for ever.)
func TestHTTPAbandonedSessionsUseNoMemory(t *testing.T) {
	url := servertest.Serve(t, servertest.New(t, nil, nil), nil).URL + "/mcp"
	const version = `"io.modelcontextprotocol/protocolVersion":`
	unread := version + `"` + servertest.Modern + `","x":1e400` // mcp-go cannot read this _meta, so no session begins
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
		grew := servertest.Grows(t)
		begin(2000)
		grew("14: version "+name, 4<<20)
	}
	// An initialize whose header names the sessionless protocol begins no session.
	status, header, body := servertest.Post(t, url, servertest.WithMeta(servertest.Initialize(1, "tester"), version+`"`+servertest.Modern+`","io.modelcontextprotocol/clientCapabilities":{}`),
		servertest.ModernHeaders("initialize", "")...)
	if status != 404 || header.Get("Mcp-Session-Id") != "" || !strings.Contains(body, "-32601") {
		t.Errorf("sessionless: %d %s", status, body)
	}
}

// The list of a session counts as left open when the session has ended, or has had neither a call nor a stream for half
// an hour.
func TestHTTPPresence(t *testing.T) {
	var ahead atomic.Int64
	later := func(d time.Duration) { ahead.Add(int64(d)) }
	began := time.Now()
	b := board.NewBoard(storetest.NewMemory(), board.WithClock(func() time.Time { return began.Add(time.Duration(ahead.Load())) }))
	t.Cleanup(b.Close)
	web := servertest.Serve(t, servertest.New(t, nil, func(c *server.Config) { c.Board = b }), nil)
	id := servertest.NewSession(t, web.URL+"/mcp", "tester")
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
	checktest.Check(t, stream.Close())
	later(2 * time.Minute)
	expect("half an hour after the last sign", todo.LeftOpen)
	servertest.Post(t, web.URL+"/mcp", servertest.Call(3, "TodoWrite", servertest.Todos("in_progress", "A")), "Mcp-Session-Id", id)
	expect("when it is back", todo.Working)
	servertest.Is(t, "end", 200)(servertest.Ask(t, "DELETE", web.URL+"/mcp", "", "Mcp-Session-Id", id))
	expect("when it has ended", todo.LeftOpen)
}

// BAD-INPUT 53: the stream of a session begins although the store does not answer.
func TestStreamsBeginWithoutTheStore(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, &servertest.Failing{Store: storetest.NewMemory(), Silent: true}, nil), nil)
	id := servertest.NewSession(t, web.URL+"/mcp", "tester")
	servertest.OpenStream(t, "GET", web.URL+"/mcp", "", "Mcp-Session-Id", id)
}

// The stream of a session begins with an id, from 2025-11-25 on, and every message on it has one: without ids, a client
// may give up the session after the stream has ended a few times.
func TestStreamsHaveIDs(t *testing.T) {
	for version, primed := range map[string]bool{"2025-11-25": true, "2025-06-18": false} {
		web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
		id := servertest.NewSession(t, web.URL+"/mcp", "tester")
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
