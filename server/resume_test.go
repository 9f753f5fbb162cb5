package server_test

import (
	"fmt"
	"strings"
	"testing"

	"todo-mcp/server/servertest"

	"todo-mcp/server"
)

// Resuming binds the conversation to a list, whatever kind of key it has: twice
// in one conversation, from its own list to another's and back, each list keeps
// what was written to it.
func TestResumeThereAndBack(t *testing.T) {
	ways := []struct {
		name   string
		client string
		meta   string
		by     []transport
	}{
		{"session", "tester", "", []transport{inSessions}},
		{"client and workspace", "tester", "", []transport{onStdio, onStdioNew, sessionless}},
		{"a process for each chat", "gemini-cli-mcp-client", "", []transport{onStdio, onStdioNew}},
		{"todo-mcp/conversation", "tester", `"todo-mcp/conversation":"c-1"`, nil},
		{"vscode.conversationId", "Visual Studio Code", `"vscode.conversationId":"v-1"`, nil},
		{"Codex", "codex-mcp-client", `"threadId":"t-1","sessionId":"t-1"`, nil},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			over(t, func(r *rig) {
				p := r.start(nil)
				other := p.chat("another")
				other.conversation("b").writes("p:B1 p:B2")
				other.conversation("c").writes("p:C1 p:C2")
				a := p.chat(way.client).with("%s", way.meta)
				a.writes("p:A1 p:A2")
				lists := map[string]string{"A": a.held(), "B": other.conversation("b").held(), "C": other.conversation("c").held()}
				a.resumes(lists["B"])
				a.shows("p:B1 p:B2")
				a.writes("c:B1 i:B2")
				r.expect("c:B1 i:B2", "p:A1 p:A2", "p:C1 p:C2")
				a.resumes(lists["C"])
				a.writes("i:C1 p:C2 p:C3")
				r.expect("i:C1 p:C2 p:C3", "c:B1 i:B2", "p:A1 p:A2")
				a.resumes(lists["B"])
				a.calls("update_todo", `{"id":"2","status":"completed"}`)
				r.expect("c:B1 c:B2", "i:C1 p:C2 p:C3", "p:A1 p:A2")
				a.resumes(lists["A"])
				if got := a.writes("c:A1 c:A2"); strings.Contains(got, "Dropped") {
					t.Errorf("back again: %s", got)
				}
				r.expect("c:A1 c:A2", "c:B1 c:B2", "i:C1 p:C2 p:C3")
			}, way.by...)
		})
	}
}

// A conversation that resumed a list holds it in a restarted server as well, if
// its key outlives the process.
func TestResumedAfterARestart(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		p := r.start(nil)
		c := p.chat("tester")
		c.conversation("b").writes("p:B1 p:B2")
		a := c.conversation("a")
		a.writes("p:A1 p:A2")
		a.resumes(c.conversation("b").held())
		p.end()
		again := open().connect().conversation("a")
		again.shows("p:B1 p:B2")
		again.writes("c:B1 p:B2")
		r.expect("c:B1 p:B2", "p:A1 p:A2")
	})
}

// A resumed list is the conversation's as if it had begun it: a plan that keeps
// something replaces it (rule 2), and one that keeps nothing begins the next (rule 3),
// which puts nothing away that another chat still holds. Who shares its key begins a list
// instead and leaves the resumed one open (rule 4).
func TestANewPlanAfterResuming(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		c.conversation("b").writes("p:B1 p:B2")
		list := c.conversation("b").held()
		c.conversation("a").resumes(list)
		if got := c.conversation("a").writes("p:New p:B2"); !strings.Contains(got, `Dropped while open: "B1"`) {
			t.Errorf("keeps one: %s", got)
		}
		r.expect("p:New p:B2")
		if got := c.conversation("a").writes("p:Newer"); strings.Contains(got, "Put away") || r.load(list).Archived {
			t.Errorf("keeps nothing: %s", got)
		}
		r.expect("p:Newer", "p:New p:B2")
	})
	t.Run("shared", func(t *testing.T) {
		over(t, func(r *rig) {
			c := r.start(nil).chat("cursor")
			c.conversation("b").writes("p:B1 p:B2")
			list := c.conversation("b").held()
			c.resumes(list)
			if got := c.writes("p:New p:B2"); strings.Contains(got, "Dropped") || strings.Contains(got, "Put away") {
				t.Error(got)
			}
			r.expect("p:New p:B2", "p:B1 p:B2")
			if r.load(list).Archived {
				t.Error("put away")
			}
		})
	})
}

// On a connection whose user named a list, resume takes up that list alone: for
// another one it answers with a message, and the connection goes on with its own.
func TestResumeOnANamedConnection(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		c.conversation("b").writes("p:B1 p:B2")
		other := c.conversation("b").held()
		named := func() *chat {
			if r.by.pipes() {
				return r.start(func(cfg *server.Config) { cfg.List = "release" }).chat("tester")
			}
			n := r.connect()
			n.query = "?list=release"
			return n
		}()
		if got := named.prompt("resume", `{}`); !strings.Contains(got, "no unfinished todo list") {
			t.Errorf("before the named list began: %s", got)
		}
		named.writes("p:A1 p:A2")
		for _, wanted := range []string{other, "no-such-list"} {
			if got := named.prompt("resume", fmt.Sprintf(`{"list":%q}`, wanted)); strings.Contains(got, "B1") || !strings.Contains(got, "Tell the user so") {
				t.Errorf("resume %s: %s", wanted, got)
			}
		}
		named.writes("c:A1 p:A2")
		r.expect("c:A1 p:A2", "p:B1 p:B2")
		for _, wanted := range []string{`{}`, `{"list":"release"}`, fmt.Sprintf(`{"list":%q}`, named.held())} {
			if got := named.prompt("resume", wanted); !strings.Contains(got, "- #2 A2") {
				t.Errorf("resume %s: %s", wanted, got)
			}
		}
		// Other connections may take up the named list, by its name or without one.
		free := c.conversation("free")
		if got := free.prompt("resume", `{"list":"release"}`); !strings.Contains(got, "- #2 A2") {
			t.Errorf("by name: %s", got)
		}
		free.writes("c:A1 c:A2")
		named.shows("c:A1 c:A2")
		r.expect("c:A1 c:A2", "p:B1 p:B2")
	})
}

// With nothing open, or nothing of the name, resume answers with a message that
// the model can pass on: hosts show a prompt's error as a fault of the protocol.
func TestResumeNothingOpen(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		check := func(args, want string) {
			t.Helper()
			if got := c.prompt("resume", args); !strings.Contains(got, want) {
				t.Errorf("resume %s: %s", args, got)
			}
		}
		check(`{}`, "There is no unfinished todo list.")
		check(`{"list":"release"}`, "no unfinished todo list of that id or name")
		c.writes("c:A c:B")
		settled := c.held()
		check(`{}`, "There is no unfinished todo list.")
		check(fmt.Sprintf(`{"list":%q}`, settled), "no unfinished todo list of that id or name")
		c.shows("c:A c:B")
	})
}

// resume accepts a title, in any case and from its beginning, and asks which list is
// meant when several fit. What completion offers is accepted.
func TestResumeByTitle(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		for i, items := range [][]string{{"Fix the parser", "P2"}, {"Fix the lexer", "L2"}, {"Ship it", "S2"}} {
			c.conversation(fmt.Sprint("c", i)).calls("TodoWrite", servertest.Todos("pending", items...))
		}
		check := func(wanted, want string) {
			t.Helper()
			got := c.conversation("fresh").prompt("resume", fmt.Sprintf(`{"list":%q}`, wanted))
			if !strings.Contains(got, want) {
				t.Errorf("resume %s: %s", wanted, got)
			}
		}
		check("ship IT", "- #2 S2")
		check("fix the p", "- #2 P2")
		check("Fix", "Several unfinished todo lists fit that name. Ask the user which one is meant")
		check("Fix the lexer", "- #2 L2")
		check("Deploy", "no unfinished todo list of that id or name")
	})
}

// Without an argument, resume takes up a main agent's list, never a sub-agent's,
// nor one that was put away, although these were written last.
func TestResumeTakesNoSubAgentsList(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		main := c.conversation("m")
		main.writes("p:M1 p:M2")
		sub := main.and(`"todo-mcp/agent":"searcher"`)
		sub.writes("p:S1 p:S2")
		c.with(`"threadId":"t2","sessionId":"t1"`).writes("p:T1 p:T2")
		fresh := c.conversation("fresh")
		if got := fresh.prompt("resume", `{}`); !strings.Contains(got, "- #1 M1") {
			t.Errorf("resume: %s", got)
		}
		fresh.shows("p:M1 p:M2")
		// With only sub-agents' lists there is nothing to resume.
		fresh.writes("c:M1 c:M2")
		if got := c.conversation("later").prompt("resume", `{}`); got != "There is no unfinished todo list. Tell the user so." {
			t.Errorf("only sub-agents' lists: %s", got)
		}
	})
}

// The prompt plan works from a goal, from one word of it (Claude Code splits the
// line at spaces) and from none.
func TestPlanPrompt(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		for args, want := range map[string]string{
			`{"goal":"Ship version 2"}`: "\n\nShip version 2\n\n",
			`{"goal":"Ship"}`:           "\n\nShip\n\n",
			`{"goal":"  "}`:             "what the user asked for in this conversation",
			`{}`:                        "what the user asked for in this conversation",
		} {
			if got := c.prompt("plan", args); !strings.Contains(got, want) || strings.Contains(got, "{{") {
				t.Errorf("plan %s: %s", args, got)
			}
		}
		if a := c.asks("prompts/get", `{"name":"plan"}`); a.Error != nil {
			t.Errorf("without arguments: %s", a.Raw)
		}
	})
}

// resume never makes a main agent hold a sub-agent's list, by its id either.
func TestResumeByIDTakesNoSubAgentsList(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		main := c.conversation("m")
		main.writes("p:M")
		sub := main.and(`"todo-mcp/agent":"x"`)
		sub.writes("p:S")
		fresh := c.conversation("fresh")
		fresh.prompt("resume", fmt.Sprintf(`{"list":%q}`, sub.held()))
		fresh.shows("")
	})
}
