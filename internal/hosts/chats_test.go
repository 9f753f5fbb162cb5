//go:build hosts && linux

package hosts

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Two Claude Codes in two folders, at one server over HTTP, keep their lists
// apart even when they write the same plan: the protocol names no session, and
// the server asks each for its roots.
func TestFolders(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		t.Run(fmt.Sprintf("proxy reuses connections %t", reuse), func(t *testing.T) {
			a := newRig(t, byName(t, "claude-http"))
			a.proxyHTTP(reuse)
			claudeFiles(a)
			b := newRig(t, client{name: "claude-http", command: claude, files: func(b *rig) {
				b.store, b.served, b.pid = a.store, a.served, a.pid
				b.proxyHTTP(reuse)
				claudeFiles(b)
			}})
			b.runs++ // it must not name the conversation as a does
			a.report(a.run(anew, newPlan("Build the parser", 10, 2)))
			a.check("the plan in the first folder", "list 1 revision 1")
			b.report(b.run(anew, newPlan("Build the parser", 10, 3)))
			a.check("the same plan in the second folder", "list 2 revision 1")
			a.report(a.run(anew, newPlan("Build the parser", 10, 4)))
			a.check("the plan again in the first folder", "list 1 revision 2")
			var both sync.WaitGroup
			for r, plans := range map[*rig][]plan{
				a: {newPlan("Build the parser", 10, 5), newPlan("Build the parser", 10, 7)},
				b: {newPlan("Build the parser", 10, 6), newPlan("Build the parser", 10, 8)},
			} {
				both.Go(func() { r.report(r.run(anew, plans...)) })
			}
			both.Wait()
			a.logLists()
			found := make(map[string]int) // completed items by workspace
			for _, s := range a.lists() {
				found[s.List.Workspace] += completed(s)
			}
			t.Logf("FOUND after both at once: completed by folder %v", found)
			if len(found) != 2 || found[a.dir] != 7 || found[b.dir] != 8 {
				t.Errorf("the lists of %s and %s are not apart: %v", a.dir, b.dir, found)
			}
		})
	}
}

// While a program lives, another in the same folder does not go on with its list,
// not even with the same plan; when it has ended, the next one does, unless the
// program gives it an id of its chat, which is another one.
func TestTwoAtOnce(t *testing.T) {
	for name, lists := range map[string]int{"claude-stdio": 3, "gemini": 2, "copilot": 3} {
		t.Run(name, func(t *testing.T) {
			a := newRig(t, byName(t, name))
			beside := byName(t, name)
			files := beside.files
			beside.files = func(b *rig) {
				b.dir, b.store = a.dir, a.store
				b.server[len(b.server)-1] = "sqlite:" + a.store
				files(b)
			}
			b := newRig(t, beside)
			b.runs++ // it must not name the conversation as a does
			a.model.answered = func(n int) {
				if n > 0 {
					return
				}
				a.check("the plan", "list 1 revision 1")
				b.report(b.run(anew, newPlan("Build the parser", 10, 3)))
				a.check("the same plan in a second program", "list 2 revision 1")
			}
			a.report(a.run(anew, newPlan("Build the parser", 10, 2), newPlan("Build the parser", 10, 4)))
			a.check("the plan again in the first", "list 1 revision 2")
			b.report(b.run(anew, newPlan("Build the parser", 10, 5)))
			if all := b.lists(); len(all) != lists {
				t.Errorf("after a third program there are %d lists, expected %d", len(all), lists)
			}
			a.logLists()
		})
	}
}

// The prompt resume offers the list of the folder that Claude Code runs in, not
// the one that another folder's changed last; and a list that was resumed by its
// id is the one that the next write means, whichever folder it began in.
func TestResume(t *testing.T) {
	for _, name := range []string{"claude-stdio", "claude-http"} {
		t.Run(name, func(t *testing.T) {
			a := newRig(t, byName(t, name))
			a.report(a.run(anew, newPlan("Bake bread", 4, 0)))
			here := a.dir
			a.dir = t.TempDir()
			a.report(a.run(anew, newPlan("Build the parser", 10, 2)))
			a.check("the plan in the second folder", "list 2 revision 1")
			parser := a.lists()[0].List.ID

			a.dir, a.prompt = here, "/mcp__todo__resume"
			a.report(a.run(anew, newPlan("Bake bread", 4, 1)))
			a.resumed("Bake bread", "Build the parser")
			a.check("the plan resumed in the first folder", "list 1 revision 2")

			a.prompt += " " + parser
			a.report(a.run(anew, newPlan("Build the parser", 10, 3)))
			a.resumed("Build the parser", "Bake bread")
			a.check("the second folder's plan resumed in the first", "list 2 revision 2")
			a.logLists()
		})
	}
}

// The resource that Claude Code's model reads is the list of the folder, also
// before the first call of a tool.
func TestRead(t *testing.T) {
	for _, name := range []string{"claude-stdio", "claude-http"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, byName(t, name))
			r.report(r.run(resume, newPlan("Bake bread", 4, 0)))
			r.report(r.run(resume, call("ReadMcpResourceTool", object{"server": "todo", "uri": "todo://list"})))
			if shown := r.shown(); !strings.Contains(shown, "Bake bread") {
				t.Errorf("the model reads %s", shown)
			}
		})
	}
}

// resumed checks that the first request of the run speaks of one list and not of
// another.
func (r *rig) resumed(want, not string) {
	r.t.Helper()
	turns, _ := r.model.turns()
	if len(turns) == 0 {
		r.t.Fatal("the model was asked nothing")
	}
	if raw := turns[0].Raw; !strings.Contains(raw, want) || strings.Contains(raw, not) {
		r.t.Errorf("the model is not told to go on with %q alone, but:\n%s", want, raw)
	}
}

func completed(s todo.Snapshot) (n int) {
	for _, item := range s.Items {
		if item.Status == todo.Completed {
			n++
		}
	}
	return n
}
