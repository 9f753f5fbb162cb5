package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 64: Subscriptions to foreign or huge addresses, or without end → Refused past 100 of a
// session or stream, 5,000 of a user, 10,000 of all. Without a stream a session keeps them for a
// minute
func TestOnlyOwnResourcesAreSubscribed(t *testing.T) {
	c := (&chattest.Rig{T: t, By: chattest.Session, Store: chattest.Memory()}).Connect()
	grew := servertest.Grows(t)
	long := strings.Repeat("x", 900<<10)
	for n := range 12 {
		for _, uri := range []string{"todo://lists/", "file:///" + long, fmt.Sprint("todo://lists/", n, long)} {
			a := c.Asks("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
			if err := a.Refused(); err == nil || !strings.Contains(err.Error(), "no such resource") {
				t.Errorf("64: %.30s is answered %.200s", uri, a.Raw)
			}
		}
	}
	grew("64", 8<<20)
}

// A session's next stream begins with all that it subscribed to, which may have
// changed meanwhile, and knows which list its conversation took up without a stream.
func TestTheNextStreamKnowsWhatChanged(t *testing.T) {
	s := (&chattest.Rig{T: t, By: chattest.Session, Store: chattest.Memory()}).Start(nil)
	a, b := s.Chat("tester"), s.Chat("tester")
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
	servertest.Check(t, first.Close())
	a.Resume("Other").Says("Other")
	second := stream()
	second.Expect(list)
	for _, plan := range []string{"i:Other", "c:Other"} {
		b.Writes(plan)
		second.Expect(list)
	}
}

// The acknowledgement is the first message of a stream of subscriptions/listen, also where nothing
// is subscribed to and the answer follows at once. mcp-go lets the answer overtake it, or drops it.
func TestListenIsAcknowledgedFirst(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		for range 100 {
			message := c.Message("L", "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
			a, err := c.Send(t.Context(), message)
			note := c.NoteNow() // what came before the answer
			if err != nil || !strings.Contains(note, "notifications/subscriptions/acknowledged") || a.Result.ResultType != "complete" {
				c.Fatalf("a stream without subscriptions: %q %s %v", note, a.Raw, err)
			}
		}
	}, chattest.StdioModern, chattest.Sessionless)
}

// told checks whether a subscriber was notified of todo://list before a beacon changed,
// or of nothing at all.
func told(c *chattest.Chat, beacon *chattest.Beacon, want bool, what string) {
	c.Helper()
	if got := beacon.Before(c); slices.Contains(got, "todo://list") != want || !want && len(got) > 0 {
		c.Errorf("told of %s: %q, want %t", what, got, want)
	}
}

// Two streams of subscriptions/listen on one connection, of two conversations: each is
// told of its own conversation's list, under its own id.
func TestTwoListenStreams(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		chats := map[string]*chattest.Chat{"LA": c.Conversation("a"), "LB": c.Conversation("b")}
		for id, who := range chats {
			who.Writes("p:" + id)
			who.Listens(id, "todo://list")
		}
		early := make(map[string]bool) // a change as a stream begins may be told twice
		for n := range 5 {
			for id, who := range chats {
				who.Adds(fmt.Sprint("Step", n))
				_, got := c.Updated()
				for got != id && !early[got] {
					early[got] = true
					_, got = c.Updated()
				}
				if got != id {
					t.Errorf("%s's write is told as %s", id, got)
				}
			}
		}
	}, chattest.StdioModern, chattest.Sessionless)
}
