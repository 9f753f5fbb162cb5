//go:build e2e && linux

package replicas

import (
	"fmt"
	"strings"
	"testing"

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
