package server_test

import (
	"strings"
	"testing"

	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// The acknowledgement is the first message of a stream of subscriptions/listen,
// also where nothing is subscribed to and the answer follows at once. mcp-go lets
// the answer overtake it, or drops it.
func TestListenIsAcknowledgedFirst(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		for range 100 {
			var lines []string
			message := c.message("L", "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
			if c.by.pipes() {
				answer := c.ask(message) // the notification, if it is first, is in notes by now
				select {
				case note := <-c.notes:
					lines = []string{note, answer.Raw}
				default:
					lines = []string{answer.Raw}
				}
			} else {
				_, _, body := servertest.Post(c.T, c.url, message, c.headers(message)...)
				for line := range strings.SplitSeq(body, "\n") {
					if data, ok := strings.CutPrefix(line, "data: "); ok {
						lines = append(lines, data)
					}
				}
			}
			if len(lines) != 2 || !strings.Contains(lines[0], "notifications/subscriptions/acknowledged") || !strings.Contains(lines[1], `"resultType":"complete"`) {
				c.Fatalf("a stream without subscriptions: %q", lines)
			}
		}
	}, onStdioNew, sessionless)
}

// The sessionless era has no resources/subscribe, whatever its URI is.
func TestSubscribeIsNoMethodWithoutSessions(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		for _, params := range []string{`{"uri":"todo://list"}`, `{"uri":"test://other"}`, `{"uri":""}`} {
			a := c.asks("resources/subscribe", params)
			if a.Error == nil || a.Error.Code != -32601 {
				c.Errorf("%s: %s", params, a.Raw)
			}
		}
	}, onStdioNew, sessionless)
}

// A request that names a version with sessions in _meta subscribes as any other.
func TestSubscribeWithAnOlderVersionInMeta(t *testing.T) {
	send, begin := subscribing(t, func(c *server.Config) { c.MaxSubscriptions = 1 })
	session := begin()
	const older = `"io.modelcontextprotocol/protocolVersion":"2025-06-18"`
	if answer := send(session, "subscribe", "todo://lists", older); strings.Contains(answer, `"error"`) {
		t.Error(answer)
	}
	if answer := send(session, "subscribe", "todo://lists/1", older); !refused(answer, "one connection may have") {
		t.Errorf("the first one does not count: %s", answer)
	}
}
