package server_test

import (
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
	"todo-mcp/server"
)

// BAD-INPUT 44: a call that a host repeats with its own id of the call changes
// nothing twice and is answered the same, also after other writes and in another process
// on the file. The same id with another content is another call, since hosts do not
// promise more.
func TestHostRepeatsACall(t *testing.T) {
	for name, key := range map[string]string{
		"Claude Code": `"todo-mcp/conversation":"c","claudecode/toolUseId":"%s"`,
		"Codex":       `"threadId":"t-1","sessionId":"t-1","callId":"%s"`,
	} {
		t.Run(name, func(t *testing.T) {
			chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
				conn, other := r.Connect(), open().Connect()
				first := conn.With(key, "call_1").Adds("A", "B").Says("2 created").Text()
				repeated := func(lists ...string) {
					t.Helper()
					conn.With(key, "call_1").Adds("A", "B").Is(first)
					other.With(key, "call_1").Adds("A", "B").Is(first)
					r.Expect(lists...)
				}
				repeated("p:A p:B")
				conn.With(key, "call_2").Sets("1", "completed")
				repeated("c:A p:B")
				conn.With(key, "call_1").Adds("C").Says("1 created")
				conn.With(key, "call_3").Adds("C").Says("1 created")
				r.Expect("c:A p:B p:C p:C")
				conn.With(key, "call_1").Writes("c:A c:B c:C c:C").Says("4 completed") // another tool
				conn.With(key, "call_4").Adds("D")                                     // a list of its own
				repeated("p:D", "c:A c:B c:C c:C")
			})
		})
	}
	t.Run("chat in the environment", func(t *testing.T) {
		chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
			call := func(r *chattest.Rig) chattest.Answer {
				s := r.Start(func(c *server.Config) { c.Getenv = func(string) string { return "s-1" } })
				return s.Chat("claude-code").With(`"claudecode/toolUseId":"toolu_1"`).Adds("A", "B")
			}
			call(open()).Is(call(r).Text())
			r.Expect("p:A p:B")
		}, chattest.Stdio, chattest.StdioModern)
	})
}

// Ids of operations belong to their conversation: the same id from two of them, or
// from a sub-agent and its main agent, is two operations. In one conversation it
// is refused with another content (BAD-INPUT 44).
func TestOperationsBelongToAConversation(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		conn, second := r.Connect(), open().Connect()
		for _, c := range []*chattest.Chat{
			conn.Conversation("a"), second.Conversation("b"), conn.Conversation("a").Agent("x"),
			conn.With(`"threadId":"a","sessionId":"a"`),
		} {
			c = c.InOperation("op-1")
			first := c.Adds("A").Says("1 created").Text()
			c.Adds("A").Is(first)
			c.Calls("create_todos", chattest.Steps("B")).Fails("operation id was used for a different call")
		}
		r.Expect("p:A", "p:A", "p:A", "p:A")
	})
}

// BAD-INPUT 44: ids of any length and content are taken; what is no text is
// passed over.
func TestOddOperationIDs(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		conn, n := r.Connect(), 0
		next := func(field, id string) *chattest.Chat {
			n++
			return conn.With(`"todo-mcp/conversation":"c%d",%q:%s`, n, field, id)
		}
		for _, id := range []string{`"` + strings.Repeat("x", 10_000) + `"`, `"'; drop table lists; --"`, `"a\nb"`, `"🙂"`} {
			for _, field := range []string{"todo-mcp/operation", "claudecode/toolUseId", "callId"} {
				c := next(field, id)
				first := c.Adds("A").Text()
				c.Adds("A").Is(first)
				c.Shows("p:A")
			}
		}
		for _, id := range []string{`1`, `null`, `{}`, `["a"]`, `true`, `""`} {
			c := next("todo-mcp/operation", id)
			c.Adds("A")
			c.Adds("A")
			c.Shows("p:A p:A")
		}
	})
}

// A repeated empty write, whose first call let go of a finished list, does not
// clear the plan that was written since; one whose first call changed nothing does not
// undo what was.
func TestRepeatedClear(t *testing.T) {
	for _, c := range []struct {
		before, repeated, between string
		after                     []string
	}{
		{"c:A", "", "p:B", []string{"p:B", "c:A"}},
		{"p:A p:B", "p:A p:B", "c:A i:B", []string{"c:A i:B"}},
	} {
		chattest.Over(t, func(r *chattest.Rig) {
			a := r.Connect().Conversation("a")
			call := a.And(`"claudecode/toolUseId":"toolu_1"`)
			a.Writes(c.before)
			call.Writes(c.repeated)
			a.Writes(c.between)
			call.Writes(c.repeated)
			r.Expect(c.after...)
		})
	}
}
