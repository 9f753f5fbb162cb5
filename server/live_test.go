package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"todo-mcp/server/web"
)

// An idle stream gets comments, on our own and on mcp-go's streams, and
// messages stay whole between them.
func TestKeepAlive(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), func(c *web.Config) { c.Streams.KeepAlive = 5 * time.Millisecond })
	url := web.URL + "/mcp"
	id := session(t, url, "tester")
	listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},` + meta + `}}`
	streams := map[string]*events{
		"events": openStream(t, "GET", web.URL+"/api/events", ""),
		"stream": openStream(t, "GET", web.URL+"/api/stream", ""),
		"get":    openStream(t, "GET", url, "", "Mcp-Session-Id", id),
		"listen": openStream(t, "POST", url, listen, modernHeaders("subscriptions/listen", "")...),
	}
	for name, s := range streams {
		for range 3 {
			s.expect(": alive")
		}
		t.Log(name, "lives")
	}
	post(t, url, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"todo://list"}}`, "Mcp-Session-Id", id)
	post(t, url, callTool(1, "TodoWrite", todos("pending", "A")), "Mcp-Session-Id", id)
	streams["get"].expect("notifications/resources/updated")
	streams["events"].expect(`"revision":1`)
}

// BAD-INPUT 13: past a cap there are no more streams, of any kind; a closed one
// makes room.
func TestStreamCap(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), func(c *web.Config) { c.MaxStreams = 3 })
	url := web.URL + "/mcp"
	id := session(t, url, "tester")
	first := openStream(t, "GET", web.URL+"/api/events", "")
	openStream(t, "GET", web.URL+"/api/stream", "")
	openStream(t, "GET", url, "", "Mcp-Session-Id", id)
	refused := func(method, url, body string, headers ...string) int {
		req, _ := http.NewRequest(method, url, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},` + meta + `}}`
	for name, status := range map[string]int{
		"events": refused("GET", web.URL+"/api/events", ""),
		"stream": refused("GET", web.URL+"/api/stream", ""),
		"panel":  refused("GET", web.URL+"/panel/events", ""),
		"listen": refused("POST", url, listen, modernHeaders("subscriptions/listen", "")...),
	} {
		if status != http.StatusTooManyRequests {
			t.Errorf("13: %s: status %d", name, status)
		}
	}
	first.stop()
	for refused("GET", web.URL+"/api/stream?list=x", "") == http.StatusTooManyRequests {
		// The server sees the end of the first within moments.
	}
}

// BAD-INPUT 12: a reader that stops loses its stream and nobody else anything:
// the writer is not held up, and memory stays where it was.
func TestStalledReader(t *testing.T) {
	s := newServer(t, nil, nil)
	web := newHTTP(t, s, func(c *web.Config) { c.Streams.WriteTimeout = 50 * time.Millisecond })
	host := strings.TrimPrefix(web.URL, "http://")
	stalled, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	fmt.Fprintf(stalled, "GET /api/events HTTP/1.1\r\nHost: %s\r\n\r\n", host)
	reader := bufio.NewReader(stalled)
	if status, err := reader.ReadString('\n'); err != nil || !strings.Contains(status, "200") {
		t.Fatal(status, err)
	}
	healthy := openStream(t, "GET", web.URL+"/api/events", "")
	id := session(t, web.URL+"/mcp", "tester")
	before := heap()
	texts := make([]string, 900)
	const writes = 60 // of 200 kB each: more than sockets hold
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		healthy.expect(fmt.Sprintf(`"revision":%d`, writes))
	}()
	for n := range writes {
		for i := range texts {
			texts[i] = fmt.Sprintf("%d %d %s", n, i, strings.Repeat("x", 100))
		}
		if _, _, body := post(t, web.URL+"/mcp", callTool(n, "write_todos", todos("pending", texts...)), "Mcp-Session-Id", id); !strings.Contains(body, "updated") {
			t.Fatalf("%.200s", body)
		}
	}
	<-heard
	// The stalled one is closed: what was in flight can be read, then the end.
	stalled.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, reader); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("12: the stalled stream is not closed: %v", err)
	}
	if grown := int64(heap()) - int64(before); grown > 64<<20 { // the store itself keeps some 15 MB of history
		t.Errorf("12: %d bytes grown", grown)
	}
}
