package server_test

import (
	"strings"
	"sync"
	"testing"

	"todo-mcp/server"
)

// hostCallIDs are the _meta fields by which a host identifies a call, with a
// conversation that is known.
var hostCallIDs = map[string]string{
	"Claude Code": `"todo-mcp/conversation":"c","claudecode/toolUseId":"%s"`,
	"Codex":       `"threadId":"t-1","sessionId":"t-1","callId":"%s"`,
}

// BAD-INPUT 44: a call that a host repeats with its own id of the call changes
// nothing twice and is answered the same, also after other writes. The same id
// with another content is another call, since hosts do not promise more.
func TestHostRepeatsACall(t *testing.T) {
	for name, key := range hostCallIDs {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				conn := r.connect()
				call := conn.with(key, "call_1")
				first := call.adds("A", "B")
				if again := call.adds("A", "B"); again != first || !strings.Contains(first, "2 created") {
					t.Errorf("44: repeated\n%s\nfirst\n%s", again, first)
				}
				r.expect("p:A p:B")
				conn.with(key, "call_2").calls("update_todo", `{"id":"1","status":"completed"}`)
				if again := call.adds("A", "B"); again != first {
					t.Errorf("44: repeated after another write\n%s\nfirst\n%s", again, first)
				}
				r.expect("c:A p:B")
				if got := call.adds("C"); !strings.Contains(got, "1 created") {
					t.Errorf("another content: %s", got)
				}
				r.expect("c:A p:B p:C")
				if got := conn.with(key, "call_3").adds("C"); !strings.Contains(got, "1 created") {
					t.Errorf("another call with the same content: %s", got)
				}
				r.expect("c:A p:B p:C p:C")
				if got := call.calls("TodoWrite", plan("c:A c:B c:C c:C")); !strings.Contains(got, "4 completed") {
					t.Errorf("another tool: %s", got)
				}
				// The next plan is a list of its own; the repeats are still repeats.
				conn.with(key, "call_4").adds("D")
				if again := call.adds("A", "B"); again != first {
					t.Errorf("44: repeated after the list settled\n%s\nfirst\n%s", again, first)
				}
				r.expect("p:D", "c:A c:B c:C c:C")
			})
		})
	}
}

// A repeat is recognised in another process on the same file, also by a host that
// started the server anew: the conversation is the same.
func TestRepeatInAnotherProcess(t *testing.T) {
	for name, key := range hostCallIDs {
		t.Run(name, func(t *testing.T) {
			overFile(t, func(r *rig, open func() *rig) {
				call := r.connect().with(key, "call_1")
				first := call.adds("A", "B")
				other := open().connect().with(key, "call_1")
				if again := other.adds("A", "B"); again != first {
					t.Errorf("44: repeated\n%s\nfirst\n%s", again, first)
				}
				r.expect("p:A p:B")
			})
		})
	}
	t.Run("chat in the environment", func(t *testing.T) {
		overFile(t, func(r *rig, open func() *rig) {
			start := func(r *rig) *chat {
				return r.start(func(cfg *server.Config) { cfg.Getenv = func(string) string { return "s-1" } }).
					chat("claude-code").with(`"claudecode/toolUseId":"toolu_1"`)
			}
			first := start(r).adds("A", "B")
			if again := start(open()).adds("A", "B"); again != first {
				t.Errorf("44: repeated\n%s\nfirst\n%s", again, first)
			}
			r.expect("p:A p:B")
		}, onStdio, onStdioNew)
	})
}

// BAD-INPUT 44, 54: a call that two processes make at once with one id is applied
// once.
func TestRepeatAtOnceInTwoProcesses(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		meta := `"todo-mcp/conversation":"c","todo-mcp/operation":"op-%d"`
		chats := []*chat{r.connect(), open().connect()}
		want := ""
		for n := range 20 {
			var work sync.WaitGroup
			answers := make([]string, len(chats))
			for i, c := range chats {
				work.Go(func() { answers[i] = c.with(meta, n).adds("Step") })
			}
			work.Wait()
			for _, got := range answers {
				if !strings.Contains(got, "1 created") {
					t.Errorf("44: %d: %s", n, got)
				}
			}
			want = strings.TrimSpace(want + " p:Step")
		}
		r.expect(want)
	})
}

// Ids of operations belong to their conversation: the same id from two of them, or
// from a sub-agent and its main agent, is two operations. In one conversation it
// is refused with another content (BAD-INPUT 44).
func TestOperationsBelongToAConversation(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		const op = `"todo-mcp/operation":"op-1"`
		conn, second := r.connect(), open().connect()
		for _, c := range []*chat{
			conn.conversation("a"), second.conversation("b"), conn.conversation("a").and(`"todo-mcp/agent":"x"`),
			conn.with(`"threadId":"a","sessionId":"a"`),
		} {
			first := c.and(op).adds("A")
			if again := c.and(op).adds("A"); !strings.Contains(first, "1 created") || again != first {
				t.Errorf("{%s} repeated\n%s\nfirst\n%s", c.meta, again, first)
			}
			a := c.and(op).asks("tools/call", `{"name":"create_todos","arguments":{"items":["B"]}}`)
			if !a.Result.IsError || !strings.Contains(a.Text(), "operation id was used for a different call") {
				t.Errorf("{%s} another content: %s", c.meta, a.Raw)
			}
		}
		r.expect("p:A", "p:A", "p:A", "p:A")
	})
}

// BAD-INPUT 44: ids of any length and content are taken; what is no text is
// passed over.
func TestOddOperationIDs(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.connect()
		n := 0
		for name, id := range map[string]string{
			"10 KB": `"` + strings.Repeat("x", 10_000) + `"`, "SQL": `"'; drop table lists; --"`, "newline": `"a\nb"`, "emoji": `"🙂"`,
		} {
			for _, field := range []string{"todo-mcp/operation", "claudecode/toolUseId", "callId"} {
				n++
				c := conn.with(`"todo-mcp/conversation":"c%d","%s":%s`, n, field, id)
				if first := c.adds("A"); c.adds("A") != first {
					t.Errorf("44: %s as %s: the repeat is answered otherwise", name, field)
				}
				c.shows("p:A")
			}
		}
		for _, id := range []string{`1`, `null`, `{}`, `["a"]`, `true`, `""`} {
			n++
			c := conn.with(`"todo-mcp/conversation":"c%d","todo-mcp/operation":%s`, n, id)
			c.adds("A")
			c.adds("A")
			c.shows("p:A p:A")
		}
	})
}

// BAD-INPUT 44, 54: a call that two processes make at once with one id is applied
// once, and both get the same answer.
func TestRepeatAtOnceSameAnswer(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		meta := `"todo-mcp/conversation":"c","todo-mcp/operation":"op-%d"`
		chats := []*chat{r.connect(), open().connect()}
		want := ""
		for n := range 200 {
			var work sync.WaitGroup
			answers := make([]string, len(chats))
			for i, c := range chats {
				work.Go(func() { answers[i] = c.with(meta, n).adds("Step") })
			}
			work.Wait()
			if answers[0] != answers[1] {
				t.Errorf("44: %d: answers\n%s\n%s", n, answers[0], answers[1])
			}
			want = strings.TrimSpace(want + " p:Step")
		}
		r.expect(want)
	})
}

// A repeated empty write, whose first call let go of a finished list, does not
// clear the plan that was written since.
func TestRepeatedClear(t *testing.T) {
	over(t, func(r *rig) {
		a := r.connect().conversation("a")
		a.writes("c:A")
		clears := a.and(`"claudecode/toolUseId":"toolu_1"`)
		clears.writes("")
		a.writes("p:B")
		clears.writes("")
		r.expect("p:B", "c:A")
	})
}

// A repeated write whose first call changed nothing does not undo what was
// written since.
func TestRepeatedWithoutChange(t *testing.T) {
	over(t, func(r *rig) {
		a := r.connect().conversation("a")
		a.writes("p:A p:B")
		same := a.and(`"claudecode/toolUseId":"toolu_1"`)
		same.writes("p:A p:B")
		a.writes("c:A i:B")
		same.writes("p:A p:B")
		r.expect("c:A i:B")
	})
}
