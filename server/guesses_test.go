package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// hints are clients whose conversation is only guessed at: by the environment, by
// the process, or not at all. Those that share their key are never certain, the others
// are once they have written (rule 1).
var hints = []struct {
	name, client string
	shared       bool
	edit         func(*server.Config)
	by           []transport
}{
	{"environment", "claude-code", false, func(cfg *server.Config) { cfg.Getenv = func(string) string { return "s-1" } }, []transport{onStdio, onStdioNew}},
	{"process", "gemini-cli-mcp-client", false, nil, []transport{onStdio, onStdioNew}},
	{"a shared process", "cursor", true, nil, []transport{onStdio, onStdioNew}},
	{"a shared session", "cursor", true, nil, []transport{inSessions}},
	{"client and workspace", "tester", true, nil, []transport{sessionless}},
	{"a session for each call", "openai-mcp", true, nil, []transport{inSessions}},
}

func overHints(t *testing.T, run func(r *rig, c *chat, shared bool)) {
	t.Helper()
	for _, h := range hints {
		t.Run(h.name, func(t *testing.T) {
			over(t, func(r *rig) { run(r, r.start(h.edit).chat(h.client), h.shared) }, h.by...)
		})
	}
}

// Where several chats share a key, a new plan that shares one step with another
// chat's list begins a list (rule 4); the earlier one stays open, and resume offers it.
// Who is certain replaces the list that it wrote (rule 2).
func TestASharedStepTakesNoList(t *testing.T) {
	overHints(t, func(r *rig, c *chat, shared bool) {
		c.writes("i:A p:B p:C p:D p:E p:Run-tests")
		first := c.held()
		got := c.writes("p:Other p:Run-tests")
		if strings.Contains(got, `Dropped while open: "A", "B", "C" and 2 more`) == shared || strings.Contains(got, "Put away") {
			t.Error(got)
		}
		if !shared {
			r.expect("p:Other p:Run-tests")
			return
		}
		r.expect("p:Other p:Run-tests", "i:A p:B p:C p:D p:E p:Run-tests")
		if got := c.resource("todo://lists"); !strings.Contains(got, first) {
			t.Errorf("todo://lists: %s", got)
		}
		c.resumes(first)
		c.writes("c:A i:B p:C p:D p:E p:Run-tests")
		r.expect("c:A i:B p:C p:D p:E p:Run-tests", "p:Other p:Run-tests")
	})
}

// Rule 4: the first write of a process is a guess, also if the host says the same id of
// the chat as before: a plan that shares one step with the earlier list is another one.
func TestTheFirstWriteOfAProcessIsAGuess(t *testing.T) {
	for _, h := range hints[:2] {
		t.Run(h.name, func(t *testing.T) {
			over(t, func(r *rig) {
				p := r.start(h.edit)
				p.chat(h.client).writes("i:A p:B p:Run-tests")
				p.end()
				c := r.start(h.edit).chat(h.client)
				if got := c.writes("p:Other p:Run-tests"); strings.Contains(got, "Dropped") {
					t.Error(got)
				}
				r.expect("p:Other p:Run-tests", "i:A p:B p:Run-tests")
			}, h.by...)
		})
	}
}

// Where the conversation is known, its whole-list write replaces its list (rule 2), and
// one that has nothing of it begins the next one (rule 3). It touches no other's,
// although they share all texts.
func TestAKnownConversationReplacesItsList(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		a, b := c.conversation("a"), c.conversation("b")
		a.writes("i:A p:B p:C")
		b.writes("i:A p:B p:C")
		if got := a.writes("p:X p:C"); !strings.Contains(got, `Dropped while open: "A", "B"`) {
			t.Error(got)
		}
		b.writes("c:A i:B p:C")
		r.expect("c:A i:B p:C", "p:X p:C")
		if got := b.calls("TodoWrite", `{"todos":[]}`); !strings.Contains(got, "0 pending") {
			t.Error(got)
		}
		r.expect("", "p:X p:C")
		first := a.held()
		if got := a.writes("p:Y"); !strings.Contains(got, `Put away the earlier plan, open: "X", "C"`) {
			t.Error(got)
		}
		r.expect("p:Y", "p:X p:C", "")
		if s := r.load(first); !s.Archived || s.ReplacedBy != a.held() {
			t.Errorf("the earlier plan: %+v", s)
		}
		a.writes("i:X p:C") // its own chat writes it again
		r.expect("i:X p:C", "p:Y", "")
		if s := r.load(first); s.Archived || a.held() != first {
			t.Errorf("the earlier plan is not back: %+v", s)
		}
	})
}

// A finished list is history: the next plan, by whichever tool and equal or not,
// is a new list, whose numbers go on (rule 6). Writing the finished list again changes
// nothing.
func TestSettledListsStayAsTheyEnded(t *testing.T) {
	run := func(r *rig, c *chat, _ bool) {
		c.writes("p:A p:B")
		c.writes("c:A c:B")
		if got := c.writes("c:A c:B"); !strings.HasSuffix(got, "(no change)") {
			t.Errorf("written again: %s", got)
		}
		r.expect("c:A c:B")
		c.writes("p:A p:B")
		r.expect("p:A p:B", "c:A c:B")
		c.writes("c:A c:B")
		if got := c.adds("C"); !strings.Contains(got, "#5 C") {
			t.Errorf("create_todos after a finished plan: %s", got)
		}
		r.expect("p:C", "c:A c:B", "c:A c:B")
		c.calls("update_todo", `{"id":"5","status":"completed"}`)
		c.calls("SetTodoList", `{"todos":[{"title":"D","status":"pending"}]}`)
		r.expect("p:D", "c:C", "c:A c:B", "c:A c:B")
	}
	overHints(t, run)
	t.Run("known", func(t *testing.T) {
		over(t, func(r *rig) { run(r, r.connect().conversation("a"), false) })
	})
}

// An empty write clears the conversation's list alone. Where several chats share a
// connection and have several open lists it changes nothing and names them; with
// list_id it clears that one.
func TestAnEmptyWrite(t *testing.T) {
	overHints(t, func(r *rig, c *chat, shared bool) {
		c.writes("p:A1 p:A2")
		a := c.held()
		c.writes("p:B1 p:B2")
		b := c.held()
		got := c.asks("tools/call", `{"name":"TodoWrite","arguments":{"todos":[]}}`)
		if !shared {
			if got.Result.IsError {
				t.Errorf("refused: %s", got.Raw)
			}
			r.expect("", "p:A1 p:A2")
			return
		}
		if text := got.Text(); !got.Result.IsError || !strings.HasPrefix(text, "Error") || !strings.Contains(text, a) || !strings.Contains(text, b) {
			t.Errorf("refused: %s", got.Raw)
		}
		r.expect("p:B1 p:B2", "p:A1 p:A2")
		c.calls("TodoWrite", fmt.Sprintf(`{"todos":[],"list_id":%q}`, a))
		r.expect("", "p:B1 p:B2")
	})
}

// A restarted process whose key is new continues an unfinished list by writing
// most of it again, once the process that held it has ended and not before.
func TestARestartedProcessContinues(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		p := r.start(nil)
		before := p.chat("gemini-cli-mcp-client")
		before.writes("c:A i:B p:C")
		beside := open().start(nil).chat("gemini-cli-mcp-client")
		beside.writes("c:A i:B p:C p:D")
		r.expect("c:A i:B p:C p:D", "c:A i:B p:C")
		p.end()
		after := open().start(nil).chat("gemini-cli-mcp-client")
		after.shows("")
		after.writes("c:A c:B i:C")
		r.expect("c:A c:B i:C", "c:A i:B p:C p:D")
		// A client elsewhere, or another client, continues nothing.
		after.process.end()
		elsewhere := open().start(func(cfg *server.Config) { cfg.Dir = "/elsewhere" }).chat("gemini-cli-mcp-client")
		elsewhere.writes("c:A c:B i:C")
		open().start(nil).chat("codex-mcp-client").writes("c:A c:B i:C")
		if got := len(r.lists()); got != 4 {
			t.Errorf("lists %q", r.lists())
		}
	}, onStdio, onStdioNew)
}

// Everyone who holds a named list sees what the others wrote, is told of it once,
// and overwrites nothing that it has not seen, across processes on one file.
func TestANamedListIsShared(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		named := func(r *rig, conversation string) *chat {
			return r.start(func(cfg *server.Config) { cfg.List = "release" }).chat("tester").conversation(conversation)
		}
		a, b := named(r, "a"), named(open(), "b")
		a.writes("i:A p:B")
		b.shows("i:A p:B")
		b.writes("i:A p:B p:C")
		if got := a.writes("c:A p:B"); !strings.Contains(got, `Another agent changed the list: added "C"`) {
			t.Errorf("a is not told: %s", got)
		}
		r.expect("c:A p:B p:C")
		if got := a.writes("c:A p:B p:C"); strings.Contains(got, "changed the list") {
			t.Errorf("a is told again: %s", got)
		}
		r.personEdits(a.newest(), sets("2", todo.Completed))
		toldOnce(a, func(c *chat) string { return c.adds("X") }, `set "B" to completed`)
		if got := b.adds("Y"); !strings.Contains(got, `The user and another agent changed the list: set "A" to completed, set "B" to completed, added "X", added "X"`) {
			t.Errorf("b is not told of both: %s", got)
		}
		if got := b.adds("Y"); strings.Contains(got, "changed the list") {
			t.Errorf("b is told again: %s", got)
		}
	})
}

// BAD-INPUT 54: several conversations that write one named list from several
// processes at once lose nothing: every step is there once.
func TestReplicasLoseNothing(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		var chats []*chat
		for i := range 4 {
			chats = append(chats, open().start(func(cfg *server.Config) { cfg.List = "release" }).chat("tester").conversation(fmt.Sprint(i)))
		}
		const each = 10
		var work sync.WaitGroup
		for i, c := range chats {
			work.Go(func() {
				for n := range each {
					if got := c.adds(fmt.Sprintf("Step-%d-%d", i, n)); !strings.Contains(got, "1 created") {
						t.Errorf("54: %s", got)
					}
				}
			})
		}
		work.Wait()
		lists := r.lists()
		if len(lists) != 1 {
			t.Fatalf("54: lists %q", lists)
		}
		for i := range chats {
			for n := range each {
				if step := fmt.Sprintf("p:Step-%d-%d", i, n); strings.Count(lists[0]+" ", step+" ") != 1 {
					t.Errorf("54: %s is not there once", step)
				}
			}
		}
		if s := r.load(r.newest()); s.Revision != int64(len(chats)*each) {
			t.Errorf("54: revision %d", s.Revision)
		}
	}, onStdio, inSessions)
}

// T5: a write of ids alone changes those items, also with new texts, where the
// conversation is a guess.
func TestIDPatchRewords(t *testing.T) {
	overHints(t, func(r *rig, c *chat, _ bool) {
		c.writes("i:A p:B p:C")
		c.calls("TodoWrite", `{"todos":[{"id":"1","content":"X","activeForm":"X","status":"completed"},{"id":"2","content":"Y","activeForm":"Y","status":"in_progress"}]}`)
		r.expect("c:X i:Y p:C")
	})
}
