//go:build e2e && linux

package replicas

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"todo-mcp/server/servertest"
)

// conversation is one session of the older protocol, of which any replica may get a
// call.
type conversation struct {
	testing.TB
	session, query string
	calls          int
}

// converse begins a session at a replica.
func converse(t testing.TB, r *replica, query string) *conversation {
	t.Helper()
	return &conversation{TB: t, session: servertest.Session(t, r.url.String()+"/mcp"+query, "tester"), query: query}
}

// call calls a tool at a replica and returns the whole answer.
func (c *conversation) call(r *replica, tool, args string) string {
	c.Helper()
	c.calls++
	status, _, body := servertest.Post(c, r.url.String()+"/mcp"+c.query, servertest.Call(c.calls, tool, args), "Mcp-Session-Id", c.session)
	if status != 200 || strings.Contains(body, `"isError":true`) {
		c.Fatalf("%s: %d %s", tool, status, body)
	}
	return body
}

// A session is good on every replica, and what its agent read through one counts on
// another: an item that a person added, the agent read and then left out is not
// brought back as one that it did not know.
func TestWhatWasReadElsewhereIsSeen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, newDatabase(t).address)
	a, b := f.replicas[0], f.replicas[1]
	for name, read := range map[string]func(c *conversation){
		"by a call that reads": func(c *conversation) { c.call(b, "SetTodoList", `{}`) },
		"by the resource": func(c *conversation) {
			status, _, body := servertest.Post(c, b.url.String()+"/mcp"+c.query, `{"jsonrpc":"2.0","id":99,"method":"resources/read","params":{"uri":"todo://list"}}`, "Mcp-Session-Id", c.session)
			if status != 200 || !strings.Contains(body, "by a person") {
				c.Fatal(body)
			}
		},
		"by a write that changed nothing": func(c *conversation) {
			c.call(b, "TodoWrite", servertest.Todos("pending", "one", "two"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := strings.ReplaceAll(name, " ", "-")
			c := converse(t, a, "?list="+list)
			c.call(a, "TodoWrite", servertest.Todos("pending", "one", "two"))
			command(t, []byte("- [ ] one\n- [ ] two\n- [ ] by a person\n"), "import", "--format", "markdown", "--list", list, "--store", f.store)
			read(c)
			c.call(a, "TodoWrite", servertest.Todos("pending", "one"))
			if got := string(command(t, nil, "show", list, "--store", f.store)); strings.Contains(got, "by a person") {
				t.Errorf("the list is\n%s", got)
			}
		})
	}
}

// BAD-INPUT 53: a replica that gets its first session while the database is down
// knows the sessions of the others when it is back.
func TestSessionWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	f := newFleet(t, 2, db.address)
	c := converse(t, f.replicas[0], "?list=plan")
	c.call(f.replicas[0], "TodoWrite", servertest.Todos("pending", "one"))
	if err := db.Stop("fast"); err != nil {
		t.Fatal(err)
	}
	servertest.Post(t, f.replicas[1].url.String()+"/mcp", servertest.Call(1, "SetTodoList", `{}`), "Mcp-Session-Id", c.session)
	if err := db.Start(); err != nil {
		t.Fatal(err)
	}
	f.until("both replicas are ready", func() bool { return f.replicas[0].isReady() && f.replicas[1].isReady() })
	for i, r := range f.replicas {
		if got := c.call(r, "TodoWrite", servertest.Todos("pending", "one", fmt.Sprint("by ", i))); !strings.Contains(got, "updated") {
			t.Error(got)
		}
	}
}

// A session of the older protocol has its subscriptions wherever its stream is: the
// subscription may come to one replica and the stream to another, before or after it,
// and the stream may go on at a third, or be opened again after a restart.
func TestSubscriptionsGoWithTheStream(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, newDatabase(t).address)
	a, b := f.replicas[0], f.replicas[1]
	writer := converse(t, a, "?list=plan")
	writer.call(a, "TodoWrite", servertest.Todos("pending", "one"))
	subscriber := converse(t, a, "?list=plan")
	writes := 0
	expect := func(where string, stream *watcher, uris ...string) {
		t.Helper()
		stream.name = where
		for range 3 { // the first may be seen since the server has just learnt of the subscription
			writes++
			writer.call(a, "TodoWrite", servertest.Todos("pending", "one", fmt.Sprint("write ", writes)))
			stream.await(t, slices.Clone(uris)...)
		}
	}
	stream := openMCPStream(t, b, subscriber)
	subscriber.subscribe(a, "todo://list")
	const list, lists = `"uri":"todo://list"`, `"uri":"todo://lists"`
	expect("a stream that was there before", stream, list)
	subscriber.subscribe(a, "todo://lists")
	expect("a second subscription", stream, list, lists)
	stream.stop()
	f.restart(1)
	stream = openMCPStream(t, b, subscriber)
	expect("a stream after a restart", stream, list, lists)
	other := openMCPStream(t, a, subscriber)
	expect("a stream at another replica", other, list, lists)
}

func (c *conversation) subscribe(r *replica, uri string) {
	c.Helper()
	status, _, body := servertest.Post(c, r.url.String()+"/mcp"+c.query, `{"jsonrpc":"2.0","id":1000,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, "Mcp-Session-Id", c.session)
	if status != 200 || strings.Contains(body, `"error"`) {
		c.Fatalf("subscribe: %d %s", status, body)
	}
}

// openMCPStream opens the stream of a session at a replica.
func openMCPStream(t testing.TB, r *replica, c *conversation) *watcher {
	t.Helper()
	return openStreamOf(t, r.url.String()+"/mcp"+c.query, http.Header{"Mcp-Session-Id": {c.session}, "Accept": {"text/event-stream"}})
}

// What a conversation comes to hold through one replica, its stream at another knows:
// it is told of that, and of what is then written to the list.
func TestAListTakenUpElsewhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, newDatabase(t).address)
	a, b := f.replicas[0], f.replicas[1]
	writer := converse(t, a, "?list=plan")
	writer.call(a, "TodoWrite", servertest.Todos("pending", "one"))
	resume := func(t *testing.T, meta string, headers ...string) {
		t.Helper()
		_, _, body := servertest.Post(t, b.url.String()+"/mcp", `{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"resume","arguments":{"list":"plan"}`+meta+`}}`, headers...)
		if !strings.Contains(body, "one") {
			t.Fatal(body)
		}
	}
	for era, takeUp := range map[string]func(t *testing.T) *servertest.Events{
		servertest.Legacy: func(t *testing.T) *servertest.Events {
			subscriber := converse(t, a, "")
			stream := servertest.OpenStream(t, "GET", a.url.String()+"/mcp", "", "Mcp-Session-Id", subscriber.session)
			subscriber.subscribe(a, "todo://list")
			resume(t, "", "Mcp-Session-Id", subscriber.session)
			return stream
		},
		servertest.Modern: func(t *testing.T) *servertest.Events {
			meta := "," + strings.Replace(servertest.Meta, "{", `{"todo-mcp/conversation":"x",`, 1)
			listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]}` + meta + `}}`
			stream := servertest.OpenStream(t, "POST", a.url.String()+"/mcp", listen, servertest.ModernHeaders("subscriptions/listen", "")...)
			stream.Expect("acknowledged")
			resume(t, meta, servertest.ModernHeaders("prompts/get", "resume")...)
			return stream
		},
	} {
		t.Run(era, func(t *testing.T) {
			stream := takeUp(t)
			defer time.AfterFunc(20*time.Second, func() { _ = stream.Close() }).Stop()
			stream.Expect(`"uri":"todo://list"`)
			for n := range 2 {
				writer.call(b, "TodoWrite", servertest.Todos("pending", "one", fmt.Sprint(era, n)))
				stream.Expect(`"uri":"todo://list"`)
			}
		})
	}
}
