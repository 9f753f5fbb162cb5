//go:build e2e && linux

package replicas

import (
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
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

// A session is good on every replica, and what its agent read through one counts on
// another: an item that a person added, the agent read and then left out is its habit, and
// counted as that, and not brought back as one that it did not know.
func TestWhatWasReadElsewhereIsSeen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, newDatabase(t).address)
	for list, read := range map[string]func(b *chattest.Chat){
		"by-a-call-that-reads":            func(b *chattest.Chat) { b.Does("SetTodoList", `{}`) },
		"by-the-resource":                 func(b *chattest.Chat) { b.Shows("p:by a person p:one p:two") },
		"by-a-write-that-changed-nothing": func(b *chattest.Chat) { b.Writes("p:one p:two") },
	} {
		t.Run(list, func(t *testing.T) {
			a := converse(t, f.replicas[0], list)
			a.Writes("p:one p:two")
			command(t, nil, "edit", list, "--store", f.store)
			read(a.At(f.replicas[1].endpoint(list)))
			for range todo.MaxRepeats + 1 {
				a.Writes("p:one")
			}
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
