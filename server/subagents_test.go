package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// subLists returns the ids and agents of the sub-lists of a list.
func (r *rig) subLists(list string) (agents []string) {
	r.Helper()
	subs, err := r.store.Find(r.Context(), todo.Query{Parent: list})
	if err != nil {
		r.Fatal(err)
	}
	for _, s := range subs {
		agents = append(agents, s.List.Agent)
	}
	return agents
}

// A sub-agent has a list of its own below its conversation's list: of the
// conversation that makes the call, or of the one in todo-mcp/parent. The parent
// is looked up when it is needed: a main list that begins later is the parent, and
// the next main list after it.
func TestSubAgentsListIsBelowTheMainList(t *testing.T) {
	for name, c := range map[string]struct{ main, sub string }{
		"of the calling conversation": {`"todo-mcp/conversation":"m"`, `"todo-mcp/conversation":"m","todo-mcp/agent":"searcher"`},
		"todo-mcp/parent":             {`"todo-mcp/conversation":"m"`, `"todo-mcp/parent":"m","todo-mcp/agent":"searcher"`},
		"todo-mcp/parent of another":  {`"todo-mcp/conversation":"m"`, `"todo-mcp/conversation":"other","todo-mcp/parent":"m","todo-mcp/agent":"searcher"`},
		"VS Code":                     {`"vscode.conversationId":"m"`, `"vscode.conversationId":"m","todo-mcp/agent":"searcher"`},
		"without a conversation":      {``, `"todo-mcp/agent":"searcher"`},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				conn := r.connect()
				main, sub := conn.with("%s", c.main), conn.with("%s", c.sub)
				sub.writes("i:S1 p:S2")
				main.shows("")
				id := sub.held()
				if l := r.load(id); l.List.Parent != "" || l.List.Agent != "searcher" {
					t.Errorf("before the main list: %+v", l.List)
				}
				main.writes("i:M1 p:M2")
				if got := r.subLists(main.held()); len(got) != 1 || got[0] != "searcher" || r.load(id).List.Parent != main.held() {
					t.Errorf("sub-lists of the main list: %v", got)
				}
				sub.shows("i:S1 p:S2")
				sub.writes("c:S1 i:S2")
				main.shows("i:M1 p:M2")
				r.expect("c:S1 i:S2", "i:M1 p:M2")
			})
		})
	}
}

// Sub-agents of one name in two conversations, and two sub-agents of one
// conversation, have lists of their own, also in one stdio process.
func TestSubAgentsAreKeptApart(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.connect()
		a, b := conn.conversation("a"), conn.conversation("b")
		lanes := map[string]*chat{}
		for text, c := range map[string]*chat{
			"A": a, "B": b,
			"AS": a.and(`"todo-mcp/agent":"searcher"`), "BS": b.and(`"todo-mcp/agent":"searcher"`), "AR": a.and(`"todo-mcp/agent":"reader"`),
			"PS": conn.with(`"todo-mcp/parent":"p","todo-mcp/agent":"searcher"`),
		} {
			lanes[text] = c
			c.writes("p:" + text + "1 p:Run-tests")
		}
		for text, c := range lanes {
			c.shows("p:" + text + "1 p:Run-tests")
			c.writes("c:" + text + "1 i:Run-tests")
		}
		for text, c := range lanes {
			c.shows("c:" + text + "1 i:Run-tests")
		}
		if got := r.lists(); len(got) != len(lanes) {
			t.Errorf("lists: %q", got)
		}
		if got := len(r.subLists(a.held())); got != 2 {
			t.Errorf("a has %d sub-lists", got)
		}
	})
}

// In Codex a thread whose session is another thread is a sub-agent: the thread is
// its key, and the session's list the parent.
func TestCodexThreads(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.start(nil).chat("codex-mcp-client")
		main := conn.with(`"threadId":"019a-main","sessionId":"019a-main","callId":"call_1"`)
		first := conn.with(`"threadId":"019a-0000-first","sessionId":"019a-main","callId":"call_2"`)
		second := conn.with(`"threadId":"019a-0000-second","sessionId":"019a-main","callId":"call_3"`)
		first.writes("p:F")
		main.writes("p:M1 p:M2")
		second.writes("p:S")
		main.shows("p:M1 p:M2")
		first.shows("p:F")
		second.shows("p:S")
		if got := r.subLists(main.held()); len(got) != 2 || !strings.HasPrefix(got[0], "agent ") || got[0] == got[1] {
			t.Errorf("sub-agents %q", got)
		}
		if l := r.load(main.held()).List; l.Agent != "" || l.Parent != "" {
			t.Errorf("the main thread's list: %+v", l)
		}
	})
}

// todo-mcp/ended with a sub-agent's call archives its list after the call: front
// ends do not show it any more. Only the value true does, and only with a
// sub-agent's call. What the sub-agent plans afterwards is a list of its own.
func TestEndedSubAgent(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.connect()
		main := conn.conversation("m")
		main.writes("i:M1 p:M2")
		sub := main.and(`"todo-mcp/agent":"x"`)
		sub.writes("i:S1 p:S2")
		first := sub.held()
		board := func(id string) bool { return r.load(id).OnBoard(time.Now()) }
		for _, value := range []string{`false`, `"true"`, `1`, `null`, `{}`} {
			sub.and(`"todo-mcp/ended":%s`, value).writes("i:S1 p:S2")
			if !board(first) {
				t.Fatalf("todo-mcp/ended %s archives the list", value)
			}
		}
		main.and(`"todo-mcp/ended":true`).writes("c:M1 i:M2")
		if !board(main.held()) || !board(first) {
			t.Error("todo-mcp/ended of a main agent archives a list")
		}
		if got := sub.and(`"todo-mcp/ended":true`).writes("c:S1 p:S2"); got != "Todo list updated: 1 completed, 0 in_progress, 1 pending" {
			t.Errorf("its last call: %s", got)
		}
		if l := r.load(first); !l.Archived || board(first) || inShort(l) != "c:S1 p:S2" {
			t.Errorf("after it ended: archived %v, %s", l.Archived, inShort(l))
		}
		if !board(main.held()) {
			t.Error("the main list went as well")
		}
		if got := conn.resource("todo://lists"); strings.Contains(got, first) {
			t.Errorf("todo://lists has it: %s", got)
		}
		sub.writes("p:S1 p:S2")
		if again := sub.held(); again == first || !board(again) || board(first) {
			t.Error("the next plan goes on with the archived list")
		}
	})
}

// A read with todo-mcp/ended archives as well: a sub-agent may end without a
// write.
func TestEndedWithARead(t *testing.T) {
	over(t, func(r *rig) {
		sub := r.connect().with(`"todo-mcp/conversation":"m","todo-mcp/agent":"x"`)
		sub.and(`"todo-mcp/ended":true`).calls("SetTodoList", `{}`) // it has no list yet
		sub.writes("p:S")
		id := sub.held()
		if got := sub.and(`"todo-mcp/ended":true`).calls("SetTodoList", `{}`); !strings.Contains(got, "S") {
			t.Error(got)
		}
		if !r.load(id).Archived {
			t.Error("the list is not archived")
		}
	})
}

// When the main list settles, by the agent or by a person, the lists of its
// sub-agents are archived, settled or not; those of other conversations stay.
func TestSettledMainListArchivesSubLists(t *testing.T) {
	for name, settle := range map[string]func(r *rig, main *chat){
		"agent": func(_ *rig, main *chat) { main.writes("c:M1 c:M2") },
		"person": func(r *rig, main *chat) {
			main.writes("c:M1 p:M2")
			r.personEdits(main.held(), sets("2", todo.Completed))
		},
		"update_todo": func(_ *rig, main *chat) {
			for _, id := range []string{"1", "2"} {
				main.calls("update_todo", `{"id":"`+id+`","status":"completed"}`)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				conn := r.connect()
				main, other := conn.conversation("m"), conn.conversation("o")
				main.writes("p:M1 p:M2")
				other.writes("p:O")
				sub, done, foreign := main.and(`"todo-mcp/agent":"x"`), main.and(`"todo-mcp/agent":"y"`), other.and(`"todo-mcp/agent":"x"`)
				sub.writes("i:S1")
				done.writes("c:D1")
				foreign.writes("p:F1")
				ids := []string{sub.held(), done.held()}
				settle(r, main)
				for _, id := range ids {
					if l := r.load(id); !l.Archived || l.OnBoard(time.Now()) {
						t.Errorf("%s is not archived", inShort(l))
					}
				}
				if l := r.load(foreign.held()); l.Archived {
					t.Errorf("%s is archived", inShort(l))
				}
			})
		})
	}
}

// On a named connection a sub-agent has a list of its own below the named one.
func TestSubAgentOnANamedConnection(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.start(func(cfg *server.Config) { cfg.List = "release" }).chat("tester")
		main := conn.conversation("a")
		main.writes("p:M1 p:M2")
		sub := main.and(`"todo-mcp/agent":"x"`)
		sub.writes("p:S1 p:S2")
		sub.shows("p:S1 p:S2")
		r.expect("p:S1 p:S2", "p:M1 p:M2")
		if got := r.subLists(main.held()); len(got) != 1 {
			t.Errorf("sub-lists %q", got)
		}
	})
}

// On a named connection a Codex sub-agent's thread has a list of its own below
// the named one.
func TestCodexThreadOnANamedConnection(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.start(func(cfg *server.Config) { cfg.List = "release" }).chat("codex-mcp-client")
		conn.with(`"threadId":"t1","sessionId":"t1"`).writes("p:M1 p:M2")
		conn.with(`"threadId":"t2","sessionId":"t1"`).writes("p:S1 p:S2")
		r.expect("p:S1 p:S2", "p:M1 p:M2")
	})
}

// page returns a page of the panel.
func (p *process) page(path string) string {
	p.Helper()
	res, err := http.Get(p.base + path)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

// When a sub-agent ends, its list is cleared from the panel's board; its
// main list stays.
func TestEndedSubAgentIsNotOnThePanel(t *testing.T) {
	over(t, func(r *rig) {
		main := r.connect().conversation("m")
		main.writes("i:Main-step p:Next-step")
		sub := main.and(`"todo-mcp/agent":"x"`)
		sub.writes("i:Sub-step p:Sub-next")
		if got := main.page("/"); !strings.Contains(got, "Main-step") || !strings.Contains(got, "Sub-step") {
			t.Fatal("the board lacks a list")
		}
		sub.and(`"todo-mcp/ended":true`).writes("c:Sub-step p:Sub-next")
		if got := main.page("/"); !strings.Contains(got, "Main-step") || strings.Contains(got, "Sub-step") {
			t.Errorf("the board still has the ended sub-agent's list, or lacks the main list")
		}
	}, inSessions, sessionless)
}
