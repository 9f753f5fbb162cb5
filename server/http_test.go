package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/web"
)

// BAD-INPUT 1–6: the guard stands before every route.
func TestHTTPGuard(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), func(c *web.Config) {
		c.Hosts, c.Origins = []string{"todo.example"}, []string{"https://app.example"}
	})
	own := strings.TrimPrefix(web.URL, "http://")
	for _, c := range []struct {
		row          string
		host, origin string
		want         bool
		site         string // Sec-Fetch-Site of a write
	}{
		{"own page that sends no Origin", own, "", true, "same-origin"},
		{"own", own, "", true, ""},
		{"1 foreign host", "evil.example", "", false, ""},
		{"1 foreign host with our port", "evil.example:80", "", false, ""},
		{"1 looks like loopback", "127.0.0.1.evil.example", "", false, ""},
		{"1 configured host", "todo.example:8765", "", true, ""},
		{"localhost", "localhost:1", "", true, ""},
		{"IPv6 loopback", "[::1]:8765", "", true, ""},
		{"own origin", own, "http://" + own, true, ""},
		{"2 5 foreign origin", own, "http://evil.example", false, ""},
		{"2 another port of this machine", own, "http://127.0.0.1:1", false, ""},
		{"3 null origin", own, "null", false, ""},
		{"4 origin is host is foreign", "evil.example", "http://evil.example", false, ""},
		{"configured origin", own, "https://app.example", true, ""},
	} {
		for _, route := range []string{"GET /livez", "GET /readyz", "GET /mcp", "POST /mcp", "DELETE /mcp", "OPTIONS /mcp", "GET /", "GET /nothing",
			"GET /lists/x", "GET /panel/none", "POST /lists/x/restore/1", "GET /api/lists", "GET /api/workspace"} {
			method, path, _ := strings.Cut(route, " ")
			req, err := http.NewRequest(method, web.URL+path, strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = c.host
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			if c.site != "" {
				req.Header.Set("Sec-Fetch-Site", c.site)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if allowed := res.StatusCode != http.StatusForbidden; allowed != c.want {
				t.Errorf("%s: %s: status %d", c.row, route, res.StatusCode)
			}
			for name := range res.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("6: %s answers with %s", route, name)
				}
			}
		}
	}
}

// BAD-INPUT 2: a write that a foreign page sends without an Origin is told by
// what the browser says of its site.
func TestHTTPGuardBySite(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 404, "none": 404} {
		req, err := http.NewRequest("POST", web.URL+"/lists/x/restore/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Sec-Fetch-Site", site)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: status %d", site, res.StatusCode)
		}
	}
}

// BAD-INPUT 7–9: what a body must be, before it is parsed.
func TestHTTPBodies(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	url := web.URL + "/mcp"
	big := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"` + strings.Repeat("x", todo.MaxRequest) + `"}}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, initialize(1, "x"))
	z.Close()
	for _, c := range []struct {
		row     string
		body    io.Reader
		headers []string
		want    int
	}{
		{"7 text", strings.NewReader(initialize(1, "x")), []string{"Content-Type", "text/plain"}, 415},
		{"7 form", strings.NewReader(initialize(1, "x")), []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"7 none", strings.NewReader(initialize(1, "x")), []string{"Content-Type", ""}, 415},
		{"8 declared", strings.NewReader(big), nil, 413},
		{"8 chunked", struct{ io.Reader }{strings.NewReader(big)}, nil, 413},
		{"9 compressed", &zipped, []string{"Content-Encoding", "gzip"}, 415},
		{"with charset", strings.NewReader(initialize(1, "x")), []string{"Content-Type", "application/json; charset=utf-8"}, 200},
	} {
		status, _, body, err := tryPost(url, c.body, c.headers...)
		if err != nil || status != c.want {
			t.Errorf("%s: status %d, error %v, want %d: %s", c.row, status, err, c.want, body)
		}
	}
}

// BAD-INPUT 16–21, 26 over HTTP, in both eras.
func TestHTTPBadMessages(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	id := session(t, web.URL+"/mcp", "tester")
	for name, message := range badMessages() {
		status, _, body := post(t, web.URL+"/mcp", message, "Mcp-Session-Id", id)
		if name == "wrong version" && strings.Contains(body, `"error"`) {
			continue // a JSON-RPC error of mcp-go's, with status 200
		}
		if status != 400 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: status %d, %s", name, status, body)
		}
		if status, _, body := post(t, web.URL+"/mcp", message, modernHeaders("ping", "")...); status != 400 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s, sessionless: status %d, %s", name, status, body)
		}
	}
}

// BAD-INPUT 23, 25: versions nobody knows, and headers that disagree.
func TestHTTPVersions(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	url := web.URL + "/mcp"
	unknown := strings.ReplaceAll(modernCall(1, "TodoWrite", todos("pending", "A")), modern, "2099-01-01")
	for name, c := range map[string]struct {
		body    string
		headers []string
		want    string
	}{
		"23 header":          {callTool(1, "TodoWrite", todos("pending", "A")), []string{"MCP-Protocol-Version", "1999-01-01"}, modern},
		"23 header and meta": {unknown, []string{"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "TodoWrite"}, legacy},
		"25 no header":       {modernCall(1, "TodoWrite", todos("pending", "A")), nil, `"error"`},
		"25 other method":    {modernCall(1, "TodoWrite", todos("pending", "A")), modernHeaders("tools/list", ""), `"error"`},
		"25 other name":      {modernCall(1, "TodoWrite", todos("pending", "A")), modernHeaders("tools/call", "SetTodoList"), `"error"`},
		"25 other version":   {modernCall(1, "TodoWrite", todos("pending", "A")), []string{"MCP-Protocol-Version", legacy}, `"error"`},
	} {
		status, _, body := post(t, url, c.body, c.headers...)
		if status != 400 || !strings.Contains(body, c.want) {
			t.Errorf("%s: status %d, %s", name, status, body)
		}
	}
	// An initialize with a version we do not know is answered with one we do.
	_, _, body := post(t, url, strings.ReplaceAll(initialize(1, "x"), legacy, "2099-01-01"))
	if !strings.Contains(body, `"protocolVersion":"`+legacy+`"`) {
		t.Errorf("23 initialize: %s", body)
	}
}

// Sessions are ours and nobody else's (MCP-NOTES: mcp-go accepts forged ids).
func TestHTTPForgedSessions(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	url := web.URL + "/mcp"
	id := session(t, url, "tester")
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
			req, _ := http.NewRequest(method, url, strings.NewReader(callTool(1, "TodoWrite", todos("pending", "A"))))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Mcp-Session-Id", forged)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != 404 {
				t.Errorf("%s %s: status %d", name, method, res.StatusCode)
			}
		}
	}
	if status, _, body := post(t, url, callTool(1, "TodoWrite", todos("pending", "A"))); status != 400 || !strings.Contains(body, "initialize") {
		t.Errorf("no session: %d %s", status, body)
	}
}

// A session outlives a restart of the server, with its list and what is known
// of its client; one that was ended does not go on (MCP-NOTES).
func TestHTTPSessionsOutliveARestart(t *testing.T) {
	store := memory.New()
	auto := func(c *server.Config) { c.Publish = []string{"auto"} }
	before := newHTTP(t, newServer(t, store, auto), nil)
	id := session(t, before.URL+"/mcp", "codex-mcp-client")
	if _, _, body := post(t, before.URL+"/mcp", callTool(1, "TodoWrite", todos("pending", "A")), "Mcp-Session-Id", id); !strings.Contains(body, "updated") {
		t.Fatal(body)
	}
	before.CloseClientConnections()

	after := newHTTP(t, newServer(t, store, auto), nil)
	_, _, body := post(t, after.URL+"/mcp", callTool(2, "SetTodoList", `{}`), "Mcp-Session-Id", id)
	if got := parse(t, body).text(); got != "Todo list:\n- [pending] A" {
		t.Errorf("the list after a restart: %s", body)
	}
	_, _, body = post(t, after.URL+"/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "Mcp-Session-Id", id)
	if strings.Count(body, `"inputSchema"`) != 1 {
		t.Errorf("the client is not known after a restart: %s", body)
	}

	req, _ := http.NewRequest("DELETE", after.URL+"/mcp", nil)
	req.Header.Set("Mcp-Session-Id", id)
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != 200 {
		t.Fatalf("delete: %v %v", res, err)
	}
	if status, _, _ := post(t, after.URL+"/mcp", callTool(4, "SetTodoList", `{}`), "Mcp-Session-Id", id); status != 404 {
		t.Errorf("an ended session goes on: %d", status)
	}
}

// slow is a store whose saves wait until they are let go.
type slow struct {
	todo.Store
	saving chan string   // the text of the item being saved
	let    chan struct{} // one receive lets one save go
}

func (s slow) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	s.saving <- next.Items[0].Text
	select {
	case <-s.let:
	case <-ctx.Done():
		return todo.Snapshot{}, ctx.Err()
	}
	return s.Store.Save(ctx, next)
}

// BAD-INPUT 22: two clients with the same request id at once get each their own
// answer, and neither can cancel the other, in both eras.
func TestHTTPSameRequestID(t *testing.T) {
	for _, era := range []string{legacy, modern} {
		store := slow{memory.New(), make(chan string, 2), make(chan struct{})}
		web := newHTTP(t, newServer(t, store, nil), nil)
		url := web.URL + "/mcp"
		headers := func(string) []string { return modernHeaders("tools/call", "create_todos") }
		call, cancelHeaders := modernCall, modernHeaders("notifications/cancelled", "")
		cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,` + meta + `}}`
		if era == legacy {
			call = callTool
			ids := map[string]string{"A": session(t, url, "one"), "B": session(t, url, "two")}
			headers = func(who string) []string { return []string{"Mcp-Session-Id", ids[who]} }
			cancelHeaders = []string{"Mcp-Session-Id", session(t, url, "three")}
			cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
		}
		var both sync.WaitGroup
		for _, who := range []string{"A", "B"} {
			both.Go(func() {
				_, _, body, err := tryPost(url, strings.NewReader(call(7, "create_todos", `{"items":["`+who+`"]}`)), headers(who)...)
				if err != nil || !strings.Contains(body, `#1 `+who) && !strings.Contains(body, `#2 `+who) {
					t.Errorf("%s: %s got %s, %v", era, who, body, err)
				}
			})
		}
		<-store.saving
		if status, _, body := post(t, url, cancel, cancelHeaders...); status != 202 {
			t.Errorf("%s: cancellation: %d %s", era, status, body)
		}
		go func() {
			for range 2 {
				store.let <- struct{}{}
			}
		}()
		both.Wait()
	}
}

// resources/updated over HTTP: on a session's GET stream, and on a stream of
// subscriptions/listen, tagged; a reconnected GET stream takes over.
func TestHTTPSubscriptions(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	url := web.URL + "/mcp"
	id := session(t, url, "tester")
	lost := openStream(t, "GET", url, "", "Mcp-Session-Id", id)
	if status, _, body := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"todo://list"}}`, "Mcp-Session-Id", id); status != 200 || strings.Contains(body, "error") {
		t.Fatal(body)
	}
	write := func(text string) {
		t.Helper()
		if _, _, body := post(t, url, callTool(3, "TodoWrite", todos("pending", text)), "Mcp-Session-Id", id); !strings.Contains(body, "updated") {
			t.Fatal(body)
		}
	}
	write("A")
	lost.expect("notifications/resources/updated")
	stream := openStream(t, "GET", url, "", "Mcp-Session-Id", id)
	lost.end()
	write("B")
	if got := stream.expect("notifications/resources/updated"); !strings.Contains(got, "todo://list") {
		t.Errorf("GET stream: %s", got)
	}

	listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},` + meta + `}}`
	sub := openStream(t, "POST", url, listen, modernHeaders("subscriptions/listen", "")...)
	sub.expect("notifications/subscriptions/acknowledged")
	post(t, url, modernCall(1, "TodoWrite", todos("pending", "C")), modernHeaders("tools/call", "TodoWrite")...)
	if got := sub.expect("notifications/resources/updated"); !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"L"`) {
		t.Errorf("subscription stream: %s", got)
	}
}

// events is an open event stream.
type events struct {
	t    *testing.T
	body *bufio.Reader
	stop func() error
}

func openStream(t *testing.T, method, url, body string, headers ...string) *events {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
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
	return &events{t, bufio.NewReader(res.Body), res.Body.Close}
}

// expect reads up to an event that holds text.
func (e *events) expect(text string) string {
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

// end waits until the server has ended the stream.
func (e *events) end() {
	e.t.Helper()
	if _, err := io.Copy(io.Discard, e.body); err != nil {
		e.t.Errorf("stream: %v", err)
	}
}

// An abandoned session keeps nothing (MCP-NOTES: 10 kB each, for ever).
func TestHTTPAbandonedSessionsCostNothing(t *testing.T) {
	s := newServer(t, nil, nil)
	web := newHTTP(t, s, nil)
	begin := func(n int) {
		for range n {
			session(t, web.URL+"/mcp", "tester")
		}
	}
	begin(50)
	before := heap()
	begin(2000)
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("2000 abandoned sessions hold %d bytes", grown)
	}
}

// BAD-INPUT 28: a client that goes away at any instant of a write leaves a
// whole revision or none.
func TestHTTPClientGone(t *testing.T) {
	store := memory.New()
	web := newHTTP(t, newServer(t, store, nil), nil)
	host := strings.TrimPrefix(web.URL, "http://")
	body := callTool(1, "TodoWrite", todos("pending", "A", "B", "C"))
	request := fmt.Sprintf("POST /mcp?list=gone HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		host, session(t, web.URL+"/mcp", "tester"), len(body), body)
	for cut := 0; cut <= len(request); cut += 7 {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, request[:cut])
		c.Close()
	}
	// A last, whole call waits its turn behind all others.
	id := session(t, web.URL+"/mcp", "tester")
	post(t, web.URL+"/mcp?list=gone", callTool(1, "TodoWrite", todos("pending", "A", "B", "C")), "Mcp-Session-Id", id)
	lists, err := store.Find(context.Background(), todo.Query{})
	if err != nil || len(lists) != 1 || len(lists[0].Items) != 3 || lists[0].Revision != 1 {
		t.Errorf("28: %v, %v", lists, err)
	}
}

// BAD-INPUT 42: names of lists are held to strict characters and length.
func TestHTTPListNames(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	id := session(t, web.URL+"/mcp", "tester")
	call := callTool(1, "TodoWrite", todos("pending", "A"))
	for _, name := range []string{"a/b", "..", ".", "*", "'; drop table lists; --", strings.Repeat("x", 10_000), "a\x00b", " a", "-a", "\xff"} {
		status, _, body, err := tryPost(web.URL+"/mcp?list="+escape(name), strings.NewReader(call), "Mcp-Session-Id", id)
		if err != nil || status != 400 || !strings.Contains(body, "letters, digits") {
			t.Errorf("%.20q: status %d %s, %v", name, status, body, err)
		}
	}
	for _, name := range []string{"release", "Việc tuần này", "发布 1.0", "a_b-c.d"} {
		if status, _, body := post(t, web.URL+"/mcp?list="+escape(name), call, "Mcp-Session-Id", id); status != 200 || !strings.Contains(body, "updated") {
			t.Errorf("%q: status %d %s", name, status, body)
		}
	}
	if status, _, _ := post(t, web.URL+"/mcp", call, "Mcp-Session-Id", id, "Todo-List", "a/b"); status != 400 {
		t.Errorf("header: status %d", status)
	}
}

func TestHTTPProbes(t *testing.T) {
	store := &failing{Store: memory.New()}
	web := newHTTP(t, newServer(t, store, nil), nil)
	get := func(path string) int {
		res, err := http.Get(web.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if get("/livez") != 200 || get("/readyz") != 200 {
		t.Error("a healthy server is not ready")
	}
	store.broken.Store(true)
	if get("/livez") != 200 || get("/readyz") != 503 {
		t.Error("a server without its store is ready")
	}
}

// A failure of ours is a JSON-RPC error, not a tool result (ARCHITECTURE.md).
func TestOurFailure(t *testing.T) {
	store := &failing{Store: memory.New()}
	store.broken.Store(true)
	p := newPipe(t, newServer(t, store, nil))
	go p.send(callTool(1, "TodoWrite", todos("pending", "A")))
	if a := p.read(); a.Error == nil || !strings.Contains(a.Error.Message, "could not be saved") {
		t.Errorf("answer: %s", a.raw)
	}
}

// Shutting down ends streams at once.
func TestHTTPCloseEndsStreams(t *testing.T) {
	s := newServer(t, nil, nil)
	h, err := web.New(s, web.Config{Board: s.Board, SessionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	url := "http://" + l.Addr().String() + "/mcp"
	get := openStream(t, "GET", url, "", "Mcp-Session-Id", session(t, url, "tester"))
	listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},` + meta + `}}`
	sub := openStream(t, "POST", url, listen, modernHeaders("subscriptions/listen", "")...)
	sub.expect("acknowledged")
	h.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	get.end()
}
