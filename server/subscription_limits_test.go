package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/chattest"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// limited serves a server over HTTP and returns what begins a session.
func limited(t *testing.T, edit func(*server.Config)) (begin func() *chattest.Chat) {
	t.Helper()
	s := (&chattest.Rig{T: t, By: chattest.Session, Store: chattest.Memory()}).Start(edit)
	return func() *chattest.Chat { return s.Chat("tester") }
}

// subscription checks what a subscription, or the end of one, is refused with; nothing
// when it is not.
func subscription(c *chattest.Chat, method, uri, refusal string) {
	c.Helper()
	a := c.Asks("resources/"+method, fmt.Sprintf(`{"uri":%q}`, uri))
	if err := a.Refused(); (err != nil) != (refusal != "") || err != nil && !strings.Contains(err.Error(), refusal) {
		c.Errorf("64: %s %.30s is answered %.200s, want %q", method, uri, a.Raw, refusal)
	}
}

// BAD-INPUT 64: only resources of this server can be subscribed to, and what is
// refused uses no memory.
func TestOnlyOwnResourcesAreSubscribed(t *testing.T) {
	c := limited(t, nil)()
	before := servertest.Heap()
	long := strings.Repeat("x", 900<<10)
	for n := range 12 {
		for _, uri := range []string{"todo://lists/", "file:///" + long, fmt.Sprint("todo://lists/", n, long)} {
			subscription(c, "subscribe", uri, "no such resource")
		}
	}
	if grown := int64(servertest.Heap()) - int64(before); grown > 8<<20 {
		t.Errorf("64: %d bytes grown", grown)
	}
}

// BAD-INPUT 64: the subscriptions of a session without a stream end after a
// while, and of one that has unsubscribed from all at once.
func TestSubscriptionsWithoutAStreamEnd(t *testing.T) {
	begin := limited(t, func(c *server.Config) { c.MaxAllSubscriptions, c.SubscriptionLinger = 1, 20*time.Millisecond })
	for range 2 { // the second finds the place that the first has left
		c := begin()
		subscription(c, "subscribe", "todo://list", "")
		subscription(c, "unsubscribe", "todo://list", "")
	}
	begin().Subscribe("todo://list")
	next, deadline := begin(), time.Now().Add(10*time.Second)
	for next.Asks("resources/subscribe", `{"uri":"todo://lists"}`).Error != nil {
		if time.Now().After(deadline) {
			t.Fatal("64: the subscriptions of a session without a stream do not end")
		}
	}
}

// A session's next stream begins with all that it subscribed to, which may have
// changed meanwhile, and knows which list its conversation took up without a stream.
func TestTheNextStreamKnowsWhatChanged(t *testing.T) {
	begin := limited(t, nil)
	a, b := begin(), begin()
	a.Writes("p:Own")
	b.Writes("p:Other")
	const list = `"uri":"todo://list"`
	stream := func() *servertest.Events {
		return servertest.OpenStream(t, "GET", a.URL, "", "Mcp-Session-Id", a.Session)
	}
	first := stream()
	a.Subscribe("todo://list")
	a.Writes("c:Own")
	first.Expect(list)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	a.Resume("Other").Says("Other")
	second := stream()
	second.Expect(list)
	for _, plan := range []string{"i:Other", "c:Other"} {
		b.Writes(plan)
		second.Expect(list)
	}
}
