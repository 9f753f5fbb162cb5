package sse_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// Idle streams get comments, and messages between the comments arrive whole.
func TestKeepAlive(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) { c.KeepAlive = 5 * time.Millisecond })
	url := web.URL + "/mcp"
	id := servertest.NewSession(t, url, "tester")
	listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},` + servertest.Meta + `}}`
	streams := map[string]*servertest.Events{
		"events": servertest.OpenStream(t, "GET", web.URL+"/api/events", ""),
		"stream": servertest.OpenStream(t, "GET", web.URL+"/api/stream", ""),
		"get":    servertest.OpenStream(t, "GET", url, "", "Mcp-Session-Id", id),
		"listen": servertest.OpenStream(t, "POST", url, listen, servertest.ModernHeaders("subscriptions/listen", "")...),
	}
	for name, s := range streams {
		for range 3 {
			s.Expect(": alive")
		}
		t.Log(name, "is alive")
	}
	servertest.Post(t, url, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"todo://list"}}`, "Mcp-Session-Id", id)
	servertest.Post(t, url, servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")), "Mcp-Session-Id", id)
	streams["get"].Expect("notifications/resources/updated")
	streams["events"].Expect(`"revision":1`)
}

// BAD-INPUT 61: a reader that stops loses its stream, and delays nobody.
func TestStalledReader(t *testing.T) {
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, func(c *edge.Config) { c.ClientTimeout, c.MaxStreams = 3*time.Second, 4 }) // two per address
	host := strings.TrimPrefix(web.URL, "http://")
	stalled := checktest.Must(net.Dial("tcp", host))(t)
	defer stalled.Close()
	checktest.Check(t, stalled.(*net.TCPConn).SetReadBuffer(64<<10)) // else some systems buffer tens of megabytes
	fmt.Fprintf(stalled, "GET /api/events HTTP/1.1\r\nHost: %s\r\n\r\n", host)
	reader := bufio.NewReader(stalled)
	if status, err := reader.ReadString('\n'); err != nil || !strings.Contains(status, "200") {
		t.Fatal(status, err)
	}
	healthy := servertest.OpenStream(t, "GET", web.URL+"/api/events", "")
	id := servertest.NewSession(t, web.URL+"/mcp", "tester")
	grew := servertest.Grows(t)
	texts := make([]string, 100)
	const writes = 60 // of 200 kB each: more than the socket buffers
	received := make(chan struct{})
	go func() {
		defer close(received)
		healthy.Expect(fmt.Sprintf(`"revision":%d`, writes))
	}()
	for n := range writes {
		for i := range texts {
			texts[i] = fmt.Sprintf("%d %d %s", n, i, strings.Repeat("x", 1000))
		}
		texts[0] = "The same" // so that all writes are of one list
		servertest.Is(t, "a write", 200, "updated")(
			servertest.Post(t, web.URL+"/mcp", servertest.Call(n, "write_todos", servertest.Todos("pending", texts...)), "Mcp-Session-Id", id))
	}
	<-received
	// Once the server has closed the stalled stream there is room for another one. The stalled client can read what was
	// sent before, then the end.
	for isFull := true; isFull; {
		next, err := http.Get(web.URL + "/api/events")
		checktest.Check(t, err)
		next.Body.Close()
		isFull = next.StatusCode == http.StatusTooManyRequests
	}
	stalled.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, reader); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("61: the stalled stream is not closed: %v", err)
	}
	grew("61", 64<<20) // about 15 MB of this is the store's history
}
