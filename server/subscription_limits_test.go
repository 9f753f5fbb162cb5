package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// subscribing serves a server over HTTP and returns a function that subscribes
// or unsubscribes in a session and returns the answer, and one that begins a
// session.
func subscribing(t *testing.T, edit func(*server.Config)) (send func(session, method, uri, meta string) string, begin func() string) {
	t.Helper()
	site := servertest.Serve(t, servertest.New(t, nil, edit), nil)
	send = func(session, method, uri, meta string) string {
		t.Helper()
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/%s","params":{"uri":%q}}`, method, uri)
		_, _, answer := servertest.Post(t, site.URL+"/mcp", servertest.WithMeta(message, meta), "Mcp-Session-Id", session)
		return answer
	}
	return send, func() string { return servertest.Session(t, site.URL+"/mcp", "tester") }
}

func refused(answer, why string) bool {
	return strings.Contains(answer, `"error"`) && strings.Contains(answer, why)
}

// BAD-INPUT 64: only resources of this server can be subscribed to, and what is
// refused uses no memory.
func TestOnlyOwnResourcesAreSubscribed(t *testing.T) {
	send, begin := subscribing(t, nil)
	session := begin()
	before := servertest.Heap()
	long := strings.Repeat("x", 900<<10)
	for n := range 12 {
		for _, uri := range []string{"todo://lists/", "file:///" + long, fmt.Sprint("todo://lists/", n, long)} {
			if answer := send(session, "subscribe", uri, `"a":1`); !refused(answer, "no such resource") {
				t.Fatalf("64: subscribed to %.30s: %.200s", uri, answer)
			}
		}
	}
	if grown := int64(servertest.Heap()) - int64(before); grown > 8<<20 {
		t.Errorf("64: %d bytes grown", grown)
	}
}

// BAD-INPUT 64: a session has a limited number of subscriptions, of
// conversations that subscribe as well, and so have all sessions together.
func TestSubscriptionLimits(t *testing.T) {
	send, begin := subscribing(t, func(c *server.Config) { c.MaxSubscriptions, c.MaxAllSubscriptions = 3, 5 })
	one, two := begin(), begin()
	expect := func(name, answer, refusal string) {
		t.Helper()
		if refusal == "" && strings.Contains(answer, `"error"`) || refusal != "" && !refused(answer, refusal) {
			t.Errorf("64: %s: %s", name, answer)
		}
	}
	for n := range 3 {
		expect("under the limit", send(one, "subscribe", fmt.Sprint("todo://lists/", n), `"a":1`), "")
	}
	expect("the same again", send(one, "subscribe", "todo://lists/0", `"a":1`), "")
	expect("over the limit", send(one, "subscribe", "todo://list", `"a":1`), "one connection may have")
	expect("unsubscribe", send(one, "unsubscribe", "todo://lists/0", `"a":1`), "")
	expect("in its place", send(one, "subscribe", "todo://list", `"a":1`), "")
	for n := range 2 {
		expect("in another session", send(two, "subscribe", fmt.Sprint("todo://lists/", n), `"a":1`), "")
	}
	expect("over the limit of all", send(two, "subscribe", "todo://list", `"a":1`), "all connections together may have")
	send(one, "unsubscribe", "todo://list", `"a":1`)
	send(one, "unsubscribe", "todo://lists/1", `"a":1`)
	expect("of one conversation", send(two, "subscribe", "todo://list", `"todo-mcp/conversation":"one"`), "")
	expect("over the limit of conversations", send(two, "subscribe", "todo://list", `"todo-mcp/conversation":"another"`), "one connection may have")

	site := servertest.Serve(t, servertest.New(t, nil, func(c *server.Config) { c.MaxSubscriptions = 1 }), nil)
	listen := func(uris string) string {
		return `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[` + uris + `]},` + servertest.Meta + `}}`
	}
	defer time.AfterFunc(20*time.Second, site.CloseClientConnections).Stop() // a stream that opens does not end
	_, _, answer := servertest.Post(t, site.URL+"/mcp", listen(`"todo://list","todo://lists"`), servertest.ModernHeaders("subscriptions/listen", "")...)
	expect("a stream", answer, "one connection may have")
	stream := servertest.OpenStream(t, "POST", site.URL+"/mcp", listen(`"todo://list","todo://list"`), servertest.ModernHeaders("subscriptions/listen", "")...)
	stream.Expect("notifications/subscriptions/acknowledged") // the same twice is one
}

// BAD-INPUT 64: the subscriptions of a session without a stream end after a
// while, and of one that has unsubscribed from all at once.
func TestSubscriptionsWithoutAStreamEnd(t *testing.T) {
	send, begin := subscribing(t, func(c *server.Config) { c.MaxAllSubscriptions, c.SubscriptionLinger = 1, 20*time.Millisecond })
	for range 2 { // the second finds the place that the first has left
		session := begin()
		if answer := send(session, "subscribe", "todo://list", `"a":1`); strings.Contains(answer, `"error"`) {
			t.Errorf("64: %s", answer)
		}
		send(session, "unsubscribe", "todo://list", `"a":1`)
	}
	send(begin(), "subscribe", "todo://list", `"a":1`)
	next := begin()
	deadline := time.Now().Add(10 * time.Second)
	for strings.Contains(send(next, "subscribe", "todo://lists", `"a":1`), `"error"`) {
		if time.Now().After(deadline) {
			t.Fatal("64: the subscriptions of a session without a stream do not end")
		}
	}
}

// A session's next stream begins with all that it subscribed to, which may have
// changed meanwhile, and knows which list its conversation took up without a stream.
func TestTheNextStreamKnowsWhatChanged(t *testing.T) {
	site := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	url := site.URL + "/mcp"
	a, b := servertest.Session(t, url, "tester"), servertest.Session(t, url, "tester")
	const list = `"uri":"todo://list"`
	servertest.Post(t, url, servertest.Call(1, "TodoWrite", servertest.Todos("pending", "Own")), "Mcp-Session-Id", a)
	servertest.Post(t, url, servertest.Call(1, "TodoWrite", servertest.Todos("pending", "Other")), "Mcp-Session-Id", b)
	first := servertest.OpenStream(t, "GET", url, "", "Mcp-Session-Id", a)
	subscribe(t, url, a, "todo://list")
	servertest.Post(t, url, servertest.Call(2, "TodoWrite", servertest.Todos("completed", "Own")), "Mcp-Session-Id", a)
	first.Expect(list)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, body := servertest.Post(t, url, `{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"resume","arguments":{"list":"Other"}}}`, "Mcp-Session-Id", a)
	if !strings.Contains(body, "Other") {
		t.Fatal(body)
	}
	second := servertest.OpenStream(t, "GET", url, "", "Mcp-Session-Id", a)
	second.Expect(list)
	for _, status := range []string{"in_progress", "completed"} {
		servertest.Post(t, url, servertest.Call(4, "TodoWrite", servertest.Todos(status, "Other")), "Mcp-Session-Id", b)
		second.Expect(list)
	}
}
