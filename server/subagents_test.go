package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// A sub-agent has a list of its own below its conversation's list: of the
// conversation that makes the call, or of the one in todo-mcp/parent. The parent
// is looked up when it is needed: a main list that begins later is the parent, and
// the next main list after it.
func TestSubAgentsListIsBelowTheMainList(t *testing.T) {
	for name, c := range map[string]struct{ main, sub string }{
		"of the calling conversation": {`"todo-mcp/conversation":"m"`, `"todo-mcp/conversation":"m"`},
		"todo-mcp/parent":             {`"todo-mcp/conversation":"m"`, `"todo-mcp/parent":"m"`},
		"todo-mcp/parent of another":  {`"todo-mcp/conversation":"m"`, `"todo-mcp/conversation":"other","todo-mcp/parent":"m"`},
		"VS Code":                     {`"vscode.conversationId":"m"`, `"vscode.conversationId":"m"`},
		"without a conversation":      {``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			chattest.Over(t, func(r *chattest.Rig) {
				conn := r.Connect()
				main, sub := conn.With("%s", c.main), conn.With("%s", c.sub).Agent("searcher")
				sub.Writes("i:S1 p:S2")
				main.Shows("")
				id := sub.Current()
				if l := r.Load(id); l.List.Parent != "" || l.List.Agent != "searcher" {
					t.Errorf("before the main list: %+v", l.List)
				}
				main.Writes("i:M1 p:M2")
				parent := main.Current()
				if got := r.Subs(parent); len(got) != 1 || got[0] != "searcher" || r.Load(id).List.Parent != parent {
					t.Errorf("sub-lists of the main list: %v", got)
				}
				sub.Shows("i:S1 p:S2")
				sub.Writes("c:S1 i:S2")
				main.Shows("i:M1 p:M2")
				r.Expect("c:S1 i:S2", "i:M1 p:M2")
			})
		})
	}
}

// Sub-agents of one name in two conversations, and two sub-agents of one
// conversation, have lists of their own, also in one stdio process.
func TestSubAgentsAreKeptApart(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		conn := r.Connect()
		a, b := conn.Conversation("a"), conn.Conversation("b")
		lanes := map[string]*chattest.Chat{
			"A": a, "B": b, "AS": a.Agent("searcher"), "BS": b.Agent("searcher"), "AR": a.Agent("reader"),
			"PS": conn.With(`"todo-mcp/parent":"p"`).Agent("searcher"),
		}
		for text, c := range lanes {
			c.Writes("p:" + text + "1 p:Run-tests")
		}
		for text, c := range lanes {
			c.Shows("p:" + text + "1 p:Run-tests")
			c.Writes("c:" + text + "1 i:Run-tests")
		}
		for text, c := range lanes {
			c.Shows("c:" + text + "1 i:Run-tests")
		}
		if all, subs := len(r.Found()), len(r.Subs(a.Current())); all != len(lanes) || subs != 2 {
			t.Errorf("%d lists, and a has %d sub-lists", all, subs)
		}
	})
}

// In Codex a thread whose session is another thread is a sub-agent: the thread is
// its key, and the session's list the parent.
func TestCodexThreads(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		conn := r.Start(nil).Chat("codex-mcp-client")
		thread := func(id, call string) *chattest.Chat {
			return conn.With(`"threadId":%q,"sessionId":"019a-main","callId":%q`, id, call)
		}
		main, first, second := thread("019a-main", "call_1"), thread("019a-0000-first", "call_2"), thread("019a-0000-second", "call_3")
		first.Writes("p:F")
		main.Writes("p:M1 p:M2")
		second.Writes("p:S")
		main.Shows("p:M1 p:M2")
		first.Shows("p:F")
		second.Shows("p:S")
		if got := r.Subs(main.Current()); len(got) != 2 || !strings.HasPrefix(got[0], "agent ") || got[0] == got[1] {
			t.Errorf("sub-agents %q", got)
		}
		if l := r.Load(main.Current()).List; l.Agent != "" || l.Parent != "" {
			t.Errorf("the main thread's list: %+v", l)
		}
	})
}

// todo-mcp/ended with a sub-agent's call, also one that reads, archives its list after
// the call: front ends do not show it any more. Only the value true does, and only with
// a sub-agent's call. What the sub-agent plans afterwards is a list of its own.
func TestEndedSubAgent(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		conn := r.Connect()
		main := conn.Conversation("m")
		main.Writes("i:Main-1 p:Main-2")
		sub := main.Agent("x")
		ended := sub.And(`"todo-mcp/ended":true`)
		ended.Does("SetTodoList", `{}`) // it has no list yet
		sub.Writes("i:Sub-1 p:Sub-2")
		mains, first := main.Current(), sub.Current()
		board := func(which string, want bool, ids ...string) {
			t.Helper()
			for _, id := range ids {
				if got := r.Load(id).OnBoard(time.Now()); got != want {
					t.Errorf("%s: on the board %t: %s", which, got, chattest.Show(r.Load(id).Items))
				}
			}
		}
		for _, value := range []string{`false`, `"true"`, `1`, `null`, `{}`} {
			sub.And(`"todo-mcp/ended":%s`, value).Writes("i:Sub-1 p:Sub-2")
			board("todo-mcp/ended "+value, true, first)
		}
		main.And(`"todo-mcp/ended":true`).Writes("c:Main-1 i:Main-2")
		board("todo-mcp/ended of a main agent", true, mains, first)
		if !r.By.Piped() && !strings.Contains(main.Get("/"), "Sub-1") {
			t.Error("the panel lacks the list of a sub-agent")
		}
		ended.Writes("c:Sub-1 p:Sub-2").Is("Todo list updated: 1 completed, 0 in_progress, 1 pending")
		board("after it ended", false, first)
		board("after it ended", true, mains)
		if l := r.Load(first); !l.Archived || chattest.Show(l.Items) != "c:Sub-1 p:Sub-2" {
			t.Errorf("after it ended: %+v", l)
		}
		if got := conn.Resource("todo://lists"); strings.Contains(got, first) {
			t.Errorf("todo://lists has it: %s", got)
		}
		if !r.By.Piped() && (strings.Contains(main.Get("/"), "Sub-1") || !strings.Contains(main.Get("/"), "Main-2")) {
			t.Error("the panel has the ended sub-agent's list, or lacks the main list")
		}
		sub.Writes("p:Sub-1 p:Sub-2")
		again := sub.Current()
		board("the next plan", true, again)
		board("the next plan", false, first)
		ended.Does("SetTodoList", `{}`).Says("Sub-1")
		board("after a read", false, again)
	})
}

// When the main list settles, by the agent or by a person, the lists of its
// sub-agents are archived, settled or not; lists of other conversations stay.
func TestSettledMainListArchivesSubLists(t *testing.T) {
	for name, settle := range map[string]func(r *chattest.Rig, main *chattest.Chat){
		"agent": func(_ *chattest.Rig, main *chattest.Chat) { main.Writes("c:M1 c:M2") },
		"person": func(r *chattest.Rig, main *chattest.Chat) {
			main.Writes("c:M1 p:M2")
			r.Edits(main.Current(), chattest.Sets("2", todo.Completed))
		},
		"update_todo": func(_ *chattest.Rig, main *chattest.Chat) {
			main.Sets("1", "completed")
			main.Sets("2", "completed")
		},
	} {
		t.Run(name, func(t *testing.T) {
			chattest.Over(t, func(r *chattest.Rig) {
				conn := r.Connect()
				main, other := conn.Conversation("m"), conn.Conversation("o")
				main.Writes("p:M1 p:M2")
				other.Writes("p:O")
				subs := map[*chattest.Chat]string{main.Agent("x"): "i:S1", main.Agent("y"): "c:D1", other.Agent("x"): "p:F1"}
				ids := make(map[string]string)
				for sub, plan := range subs {
					sub.Writes(plan)
					ids[plan] = sub.Current()
				}
				settle(r, main)
				for plan, id := range ids {
					if l := r.Load(id); l.Archived != (plan != "p:F1") || l.Archived && l.OnBoard(time.Now()) {
						t.Errorf("%s: archived %t", plan, l.Archived)
					}
				}
			})
		})
	}
}

// On a named connection a sub-agent, also a thread of Codex, has a list of its own below
// the named one.
func TestSubAgentOnANamedConnection(t *testing.T) {
	const thread = `"threadId":%q,"sessionId":"t1"`
	for client, metas := range map[string][2]string{
		"tester":           {`"todo-mcp/conversation":"a"`, `"todo-mcp/conversation":"a","todo-mcp/agent":"x"`},
		"codex-mcp-client": {fmt.Sprintf(thread, "t1"), fmt.Sprintf(thread, "t2")},
	} {
		chattest.Over(t, func(r *chattest.Rig) {
			conn := r.Start(func(c *server.Config) { c.List = "release" }).Chat(client)
			main, sub := conn.With("%s", metas[0]), conn.With("%s", metas[1])
			main.Writes("p:M1 p:M2")
			sub.Writes("p:S1 p:S2")
			sub.Shows("p:S1 p:S2")
			r.Expect("p:S1 p:S2", "p:M1 p:M2")
			if got := r.Subs(main.Current()); len(got) != 1 {
				t.Errorf("sub-lists %q", got)
			}
		})
	}
}
