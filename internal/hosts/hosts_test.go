//go:build hosts && linux

// Package hosts runs real MCP clients from npm, on a stand-in model, against the
// server: what they send, what they show a model, and what a restarted one finds.
// `make hosts` installs the clients and runs it; it is no part of `make test`.
package hosts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/prompts"
)

// shownAtMost is how many tokens a model may be shown for a write of ten items.
const shownAtMost = 30

// expectation is what one client does in three runs in one folder. All offer
// their model TodoWrite at once.
type expectation struct {
	client  string
	way     way
	again   string // where the plan goes in the second run, with one more item done
	other   string // where a wholly different plan goes in the third run
	putAway bool   // the third write is told that the earlier plan was put away
}

// expected is the table to edit when the server changes. Lists are counted as
// they began. Codex alone proves which conversation it is in, by its thread: in the
// same thread another plan puts the earlier one away. Claude Code and Copilot CLI give
// their server an id of the chat, a hint: another id is another chat, and begins a
// list even with the same plan (rule 4). Claude Code's -p -c has a new id each time.
// From the others comes no id: a plan that keeps enough of a list goes on with it, and
// else begins one.
func expected() []expectation {
	return []expectation{
		{"claude-stdio", anew, "list 2 revision 1", "list 3 revision 1", false},
		{"claude-stdio", resume, "list 1 revision 2", "list 2 revision 1", false},
		{"claude-stdio", latest, "list 2 revision 1", "list 3 revision 1", false},
		{"claude-http", anew, "list 1 revision 2", "list 2 revision 1", false},
		{"claude-http", resume, "list 1 revision 2", "list 2 revision 1", false},
		{"codex", anew, "list 2 revision 1", "list 3 revision 1", false},
		{"codex", resume, "list 1 revision 2", "list 2 revision 1", true},
		{"gemini", anew, "list 1 revision 2", "list 2 revision 1", false},
		{"gemini", resume, "list 1 revision 2", "list 2 revision 1", false},
		{"kimi", anew, "list 1 revision 2", "list 2 revision 1", false},
		{"kimi", resume, "list 1 revision 2", "list 2 revision 1", false},
		{"copilot", anew, "list 2 revision 1", "list 3 revision 1", false},
		{"copilot", resume, "list 1 revision 2", "list 2 revision 1", false},
	}
}

// A client is run three times in one folder, as [expected] says.
func TestHosts(t *testing.T) {
	var table []string
	for _, want := range expected() {
		t.Run(want.client+"/"+string(want.way), func(t *testing.T) {
			r := newRig(t, byName(t, want.client))
			r.report(r.run(want.way, newPlan("Build the parser", 10, 2)))
			if r.offered() == "" {
				t.Error("no tool of ours is offered at once")
			}
			shown := tokens(r.shown())
			if shown > shownAtMost {
				t.Errorf("the model is shown %d tokens, at most %d are expected", shown, shownAtMost)
			}
			r.check("the first plan", "list 1 revision 1")
			r.report(r.run(want.way, newPlan("Build the parser", 10, 3)))
			again := r.check("the plan again", want.again)
			r.report(r.run(want.way, newPlan("Bake bread", 4, 0)))
			other := r.check("another plan", want.other)
			if putAway := strings.Contains(r.shown(), "Put away the earlier plan"); putAway != want.putAway {
				t.Errorf("the write is told that it put the earlier plan away: %t, expected %t", putAway, want.putAway)
			}
			r.logLists()
			table = append(table, fmt.Sprintf("%-12s  %-6s  %-17s  %-17s  %d", want.client, want.way, again, other, shown))
		})
	}
	t.Logf("TABLE\nclient        way     run 2              run 3              tokens shown\n%s", strings.Join(table, "\n"))
}

// Which clients show their model the server's instructions, for docs/cost.md.
func TestInstructions(t *testing.T) {
	texts, err := prompts.New("", "en")
	if err != nil {
		t.Fatal(err)
	}
	_, sentence, _ := strings.Cut(texts.Text("instructions"), "}}") // behind the name of the tool
	sentence, _, _ = strings.Cut(sentence, ".")
	for name, want := range map[string]bool{"claude-stdio": true, "codex": true, "gemini": true, "kimi": false, "copilot": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, byName(t, name))
			r.run(anew, newPlan("Build the parser", 2, 0))
			turns, _ := r.model.turns()
			if len(turns) == 0 {
				t.Fatal("the model was asked nothing")
			}
			if shown := strings.Contains(turns[0].Raw, sentence); shown != want {
				t.Errorf("the model is shown the instructions: %t", shown)
			}
		})
	}
}

func byName(t *testing.T, name string) client {
	t.Helper()
	for _, c := range clients() {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no client %s", name)
	return client{}
}

// check compares where the last write went, and returns that.
func (r *rig) check(what, want string) string {
	r.t.Helper()
	got := r.written()
	r.t.Logf("FOUND %s: %s", what, got)
	if got != want {
		r.t.Errorf("%s went to %s, expected %s", what, got, want)
	}
	return got
}

// logLists logs all lists with who began them.
func (r *rig) logLists() {
	r.t.Helper()
	for _, s := range r.lists() {
		r.t.Logf("list %.8s revision %d, %q, %d items, begun by %s in %s", s.List.ID, s.Revision, s.Title(), len(s.Items), s.List.Conversation, s.List.Workspace)
	}
}

// shown returns the result of the last call as the model was shown it.
func (r *rig) shown() string {
	r.t.Helper()
	turns, _ := r.model.turns()
	if len(turns) == 0 || len(turns[len(turns)-1].Results) == 0 {
		r.t.Error("the model was shown no result")
		return ""
	}
	all := turns[len(turns)-1].Results
	return all[len(all)-1]
}

// offered returns the name under which the first request offers our tool; empty
// when it does not.
func (r *rig) offered() string {
	if turns, _ := r.model.turns(); len(turns) > 0 {
		return turns[0].toolName("")
	}
	return ""
}

// tokens estimates a number of tokens as the budgets do, as runes / 4.
func tokens(text string) int { return (len([]rune(text)) + 3) / 4 }

// report logs what the client sent in one run and what the model was shown.
func (r *rig) report(rec recording) {
	r.t.Helper()
	shown := r.shown()
	r.t.Logf("servers %v were sent\n%s", rec.servers, strings.Join(rec.sent, "\n"))
	r.t.Logf("OFFERED at once as %q", r.offered())
	r.t.Logf("SHOWN %d bytes, about %d tokens: %s", len(shown), tokens(shown), shown)
}
