//go:build e2e && linux

package replicas

import (
	"fmt"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
)

// converse begins a session at a replica, for the list of a name; empty for none.
func converse(t testing.TB, r *replica, list string) *chattest.Chat {
	t.Helper()
	return chattest.OverHTTP(t, chattest.Session, "tester", r.endpoint(list))
}

// endpoint returns the address of /mcp at a replica, for the list of a name.
func (r *replica) endpoint(list string) string {
	if list == "" {
		return r.url.String() + "/mcp"
	}
	return r.url.String() + "/mcp?list=" + list
}

// BAD-INPUT 53: a replica that gets its first session while the database is down
// knows the sessions of the others when it is back.
func TestSessionWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	f := newFleet(t, 2, db.address)
	a := converse(t, f.replicas[0], "plan")
	b := a.At(f.replicas[1].endpoint("plan"))
	a.Writes("p:one")
	if err := db.Stop("fast"); err != nil {
		t.Fatal(err)
	}
	_, _ = b.Try("SetTodoList", `{}`) // fails
	if err := db.Start(); err != nil {
		t.Fatal(err)
	}
	f.until("both replicas are ready", func() bool { return f.replicas[0].isReady() && f.replicas[1].isReady() })
	a.Writes("p:one p:by a")
	b.Writes("p:one p:by b")
}

// Of a list that a conversation comes to have through one replica, its stream at another is
// told what is then written to it.
func TestAListTakenUpElsewhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, newDatabase(t).address)
	a, b := f.replicas[0], f.replicas[1]
	writer := converse(t, a, "plan")
	writer.Writes("p:one")
	for _, era := range []chattest.Transport{chattest.Session, chattest.Sessionless} {
		t.Run(string(era), func(t *testing.T) {
			c := chattest.OverHTTP(t, era, "tester", a.endpoint("")).Conversation(string(era))
			c.Subscribes("todo://list")
			c.At(b.endpoint("")).Resume("plan").Says("one")
			for n := range 2 {
				writer.At(b.endpoint("plan")).Writes(fmt.Sprint("p:one p:", era, n))
				c.Updated()
			}
		})
	}
}
