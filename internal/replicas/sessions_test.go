//go:build e2e && linux

package replicas

import (
	"fmt"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// D5: agents of three replicas share the steps of a list.
//
// Of a list that a conversation comes to have through one replica, its stream at another is
// told what is then written to it.
//
// BAD-INPUT 53: a replica that gets its first session while the database is down
// knows the sessions of the others when it is back.
func TestClaims(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	f := newFleet(t, 4, db.address)
	a, b, late := f.replicas[0], f.replicas[1], f.replicas[3]
	var agents []*chattest.Chat
	for n := range 6 {
		agents = append(agents, converse(t, f.replicas[n%3], "work"))
	}
	calls := chattest.Claims(t, agents, programtest.Size(40, 400))
	report.Add(t, programtest.Row{Fault: "claims at once", Tried: "6 agents of 3 replicas take, do and give back steps of one list", Acknowledged: calls,
		Notes: "linearizable, checked by porcupine"})

	writer := converse(t, a, "plan")
	writer.Writes("p:one")
	for _, era := range []chattest.Transport{chattest.Session, chattest.Sessionless} {
		c := chattest.OverHTTP(t, era, "tester", a.endpoint("")).Conversation(string(era))
		c.Subscribes("todo://list")
		c.At(b.endpoint("")).Resume("plan").Says("one")
		for n := range 2 {
			writer.At(b.endpoint("plan")).Writes(fmt.Sprint("p:one p:", era, n))
			c.Updated()
		}
	}

	check(t, db.Stop("fast"))
	elsewhere := writer.At(late.endpoint("plan"))
	_, _ = elsewhere.Try("SetTodoList", `{}`) // fails
	check(t, db.Start())
	f.until("both replicas are ready", func() bool { return a.isReady() && late.isReady() })
	writer.Writes("p:by a")
	elsewhere.Writes("p:by a p:by b")
}

func converse(t testing.TB, r *replica, list string) *chattest.Chat {
	t.Helper()
	return chattest.OverHTTP(t, chattest.Session, "tester", r.endpoint(list))
}

func (r *replica) endpoint(list string) string {
	if list == "" {
		return r.url.String() + "/mcp"
	}
	return r.url.String() + "/mcp?list=" + list
}
