package server_test

import (
	"testing"

	"todo-mcp/internal/chattest"
)

// Resuming binds the conversation to a list, whatever kind of key it has: twice
// in one conversation, from its own list to another's and back, each list keeps
// what was written to it.
func TestResumeThereAndBack(t *testing.T) {
	pipes := []chattest.Transport{chattest.Stdio, chattest.StdioModern}
	for name, way := range map[string]struct {
		client, meta string
		by           []chattest.Transport
	}{
		"session":                 {"tester", "", []chattest.Transport{chattest.Session}},
		"client and workspace":    {"tester", "", append(pipes, chattest.Sessionless)},
		"a process for each chat": {"gemini-cli-mcp-client", "", pipes},
		"todo-mcp/conversation":   {"tester", `"todo-mcp/conversation":"c-1"`, nil},
		"vscode.conversationId":   {"Visual Studio Code", `"vscode.conversationId":"v-1"`, nil},
		"Codex":                   {"codex-mcp-client", `"threadId":"t-1","sessionId":"t-1"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			chattest.Over(t, func(r *chattest.Rig) {
				s := r.Start(nil)
				other := s.Chat("another")
				b, c := other.Conversation("b"), other.Conversation("c")
				b.Writes("p:B1 p:B2")
				c.Writes("p:C1 p:C2")
				a := s.Chat(way.client).With("%s", way.meta)
				a.Writes("p:A1 p:A2")
				first := a.Current()
				a.Resumes(b.Current())
				a.Shows("p:B1 p:B2")
				a.Writes("c:B1 i:B2")
				r.Expect("c:B1 i:B2", "p:A1 p:A2", "p:C1 p:C2")
				a.Resumes(c.Current())
				a.Writes("i:C1 p:C2 p:C3")
				r.Expect("i:C1 p:C2 p:C3", "c:B1 i:B2", "p:A1 p:A2")
				a.Resumes(b.Current())
				a.Sets("2", "completed")
				r.Expect("c:B1 c:B2", "i:C1 p:C2 p:C3", "p:A1 p:A2")
				a.Resumes(first)
				a.Writes("c:A1 c:A2").Lacks("Dropped")
				r.Expect("c:A1 c:A2", "c:B1 c:B2", "i:C1 p:C2 p:C3")
			}, way.by...)
		})
	}
}

// A conversation that resumed a list has it in a restarted server as well, if
// its key outlives the process.
func TestResumedAfterARestart(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		s := r.Start(nil)
		c := s.Chat("tester")
		c.Conversation("b").Writes("p:B1 p:B2")
		a := c.Conversation("a")
		a.Writes("p:A1 p:A2")
		a.Resumes(c.Conversation("b").Current())
		s.End()
		again := open().Connect().Conversation("a")
		again.Shows("p:B1 p:B2")
		again.Writes("c:B1 p:B2")
		r.Expect("c:B1 p:B2", "p:A1 p:A2")
	})
}

// A resumed list is the conversation's as if it had begun it: a plan that keeps
// something replaces it (rule 2), and one that keeps nothing begins the next (rule 3),
// which puts nothing away that is another chat's current list. Who shares its key begins
// a list instead and leaves the resumed one open (rule 4).
func TestANewPlanAfterResuming(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		for client, lists := range map[string][]string{
			"tester": {"p:Newer", "p:New p:B2"},
			"cursor": {"p:Newer", "p:New p:B2", "p:B1 p:B2"},
		} {
			r := &chattest.Rig{T: r.T, By: r.By, Store: chattest.Memory()}
			c := r.Start(nil).Chat(client)
			b := c.Conversation("b")
			b.Writes("p:B1 p:B2")
			list := b.Current()
			if client == "tester" {
				c = c.Conversation("a")
			}
			c.Resumes(list)
			if answer := c.Writes("p:New p:B2").Lacks("Put away"); client == "tester" {
				answer.Says(`Dropped while open: "B1"`)
			} else {
				answer.Lacks("Dropped")
			}
			c.Writes("p:Newer").Lacks("Put away")
			r.Expect(lists...)
			if r.Load(list).Archived {
				t.Errorf("%s: put away", client)
			}
		}
	})
}

// On a connection whose user named a list, resume takes up that list alone: for
// another one it answers with a message, and the connection goes on with its own.
func TestResumeOnANamedConnection(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		b := c.Conversation("b")
		b.Writes("p:B1 p:B2")
		named := c.At(c.URL + "?list=release")
		if r.By.Piped() {
			named = r.Named("release")
		}
		named.Prompt("resume", `{}`).Says("no unfinished todo list")
		named.Writes("p:A1 p:A2")
		for _, wanted := range []string{b.Current(), "no-such-list"} {
			named.Resume(wanted).Lacks("B1").Says("Tell the user so")
		}
		named.Writes("c:A1 p:A2")
		r.Expect("c:A1 p:A2", "p:B1 p:B2")
		named.Prompt("resume", `{}`).Says("- #2 A2")
		for _, wanted := range []string{"release", named.Current()} {
			named.Resume(wanted).Says("- #2 A2")
		}
		// Other connections may take up the named list, by its name or without one.
		free := c.Conversation("free")
		free.Resume("release").Says("- #2 A2")
		free.Writes("c:A1 c:A2")
		named.Shows("c:A1 c:A2")
		r.Expect("c:A1 c:A2", "p:B1 p:B2")
	})
}

// With nothing open, or nothing of the name, resume answers with a message that
// the model can pass on: hosts show a prompt's error as a fault of the protocol.
func TestResumeNothingOpen(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		c.Prompt("resume", `{}`).Is("There is no unfinished todo list. Tell the user so.")
		c.Resume("release").Says("no unfinished todo list of that id or name")
		c.Writes("c:A c:B")
		c.Prompt("resume", `{}`).Says("There is no unfinished todo list.")
		c.Resume(c.Current()).Says("no unfinished todo list of that id or name")
		c.Shows("c:A c:B")
	})
}

// resume accepts a title, in any case and from its beginning, and asks which list is
// meant when several fit. What completion offers is accepted.
func TestResumeByTitle(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		c.Conversation("1").Writes("p:Fix the parser p:P2")
		c.Conversation("2").Writes("p:Fix the lexer p:L2")
		c.Conversation("3").Writes("p:Ship it p:S2")
		for wanted, want := range map[string]string{
			"ship IT": "- #2 S2", "fix the p": "- #2 P2", "Fix the lexer": "- #2 L2",
			"Fix":    "Several unfinished todo lists fit that name. Ask the user which one is meant",
			"Deploy": "no unfinished todo list of that id or name",
		} {
			c.Conversation("fresh").Resume(wanted).Says(want)
		}
	})
}

// resume takes up a main agent's list, never a sub-agent's, although these were written
// last; by its id neither.
func TestResumeTakesNoSubAgentsList(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		main := c.Conversation("m")
		main.Writes("p:M1 p:M2")
		sub := main.Agent("searcher")
		sub.Writes("p:S1 p:S2")
		c.With(`"threadId":"t2","sessionId":"t1"`).Writes("p:T1 p:T2")
		fresh := c.Conversation("fresh")
		fresh.Resume(sub.Current())
		fresh.Shows("")
		fresh.Prompt("resume", `{}`).Says("- #1 M1")
		fresh.Shows("p:M1 p:M2")
		fresh.Writes("c:M1 c:M2") // leaves only sub-agents' lists, which is nothing to resume
		c.Conversation("later").Prompt("resume", `{}`).Is("There is no unfinished todo list. Tell the user so.")
	})
}

// The prompt plan works from a goal, from one word of it (Claude Code splits the
// line at spaces) and from none.
func TestPlanPrompt(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		for args, want := range map[string]string{
			`{"goal":"Ship version 2"}`: "\n\nShip version 2\n\n",
			`{"goal":"Ship"}`:           "\n\nShip\n\n",
			`{"goal":"  "}`:             "what the user asked for in this conversation",
			`{}`:                        "what the user asked for in this conversation",
		} {
			c.Prompt("plan", args).Says(want).Lacks("{{")
		}
		if a := c.Asks("prompts/get", `{"name":"plan"}`); a.Error != nil {
			t.Errorf("without arguments: %s", a.Raw)
		}
	})
}
