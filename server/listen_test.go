package server_test

import (
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
	"todo-mcp/server"
)

// The acknowledgement is the first message of a stream of subscriptions/listen,
// also where nothing is subscribed to and the answer follows at once. mcp-go lets
// the answer overtake it, or drops it.
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

// A request that names a version with sessions in _meta subscribes as any other.
func TestSubscribeWithAnOlderVersionInMeta(t *testing.T) {
	c := limited(t, func(c *server.Config) { c.MaxSubscriptions = 1 })()
	c = c.With(`"io.modelcontextprotocol/protocolVersion":"2025-06-18"`)
	c.Subscribe("todo://lists")
	subscription(c, "subscribe", "todo://lists/1", "one connection may have")
}
