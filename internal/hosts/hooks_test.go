//go:build hosts && linux

package hosts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// install sets a client up as its users do: with the server and the hooks, on the
// default store; doctor must find nothing wrong with it.
func (r *rig) install(client string, env ...string) {
	r.t.Helper()
	r.installWith([]string{client}, env...)
}

// installWith is like install, but with flags for the command. The last element of flags is the client's name.
func (r *rig) installWith(flags []string, env ...string) {
	r.t.Helper()
	client := flags[len(flags)-1]
	r.store = filepath.Join(r.home, ".local", "state", "todo-mcp", "todo.db")
	output, err := execute(r.t, r.home, r.dir, append([]string{serverFile, "install", "--hooks", "--yes"}, flags...), env)
	if err != nil {
		r.t.Fatalf("%v: %s", err, output)
	}
	r.t.Logf("$ todo-mcp install --hooks --yes %s%s", client, output)
	output, err = execute(r.t, r.home, r.dir, []string{serverFile, "doctor", "--addr", "127.0.0.1:0"}, env)
	c, _ := install.Find(client)
	if set := regexp.MustCompile("✓ +(clients +)?" + c.Title + ": "); err != nil || !set.MatchString(output) {
		r.t.Errorf("doctor: %v", err)
	}
	r.t.Logf("$ todo-mcp doctor\n%s", output)
}

// claudeTools runs Claude Code with a todo tool of its own, which its current models
// do not have.
func claudeTools(settings ...string) func(*rig, bool, way) (args, env []string) {
	return func(r *rig, first bool, w way) (args, env []string) {
		args, env = claude(r, first, w)
		strict := slices.Index(args, "--strict-mcp-config") // --mcp-config FILE follows
		return slices.Delete(args, strict, strict+3), append(append(env, "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"), settings...)
	}
}

func installInClaude(r *rig) { r.install("claude-code") }

// found returns the list that a conversation began.
func (r *rig) found(session string, mirrored bool) todo.Snapshot {
	r.t.Helper()
	for _, l := range r.lists() {
		if l.List.Chat == session && l.List.Mirrored == mirrored && l.List.Agent == "" {
			return l
		}
	}
	r.logLists()
	r.t.Fatalf("no list was begun by %s, mirrored: %t", session, mirrored)
	return todo.Snapshot{}
}

// statesNow returns the states of the lists.
func (r *rig) statesNow() (states map[string]todo.Standing) {
	r.t.Helper()
	r.read(func(ctx context.Context, s board.Store) (err error) {
		b := board.NewBoard(s)
		defer b.Close()
		all, err := b.As("").Find(ctx, board.Query{})
		if err == nil {
			states, err = b.As("").States(ctx, all...)
		}
		return err
	})
	return states
}

// writes returns how often agents wrote a list.
func (r *rig) writes(l todo.Snapshot) (n int) {
	r.t.Helper()
	r.read(func(ctx context.Context, s board.Store) error {
		all, err := s.History(ctx, l.List.ID, 0, int(l.Revision))
		n = len(all)
		return err
	})
	return n
}

// checkMirrored checks the items and state of a list that mirrors a client's own.
func (r *rig) checkMirrored(l todo.Snapshot, stands todo.State, client, items string) {
	r.t.Helper()
	var got []string
	for _, i := range l.Items {
		got = append(got, i.ID+" "+string(i.Status)+" "+i.Text)
	}
	if strings.Join(got, "/") != items || !l.List.Mirrored || l.List.Client != client || l.List.Workspace != r.dir {
		r.t.Errorf("list %+v with %q, want %q", l.List, got, items)
	}
	checktest.Same(r.t, "after the session the list is", r.statesNow()[l.List.ID].State, stands)
}

// The list of Claude Code's own TodoWrite is on the board. When its main agent and a sub-agent write the same plan with
// our tool in one session, each has a list of its own, the sub-agent's below the main agent's, though their MCP
// messages do not say which agent calls.
func TestHooksOfClaudeCode(t *testing.T) {
	r := newRig(t, client{name: "claude-hooks", files: installInClaude, command: claudeTools("CLAUDE_CODE_ENABLE_TASKS=0")})
	r.model.agent = []plan{newPlan("Bake bread", 3, 0), newPlan("Bake bread", 3, 1)}
	r.run(anew,
		call("TodoWrite", newPlan("Build the parser", 3, 0).arguments()),
		call("Agent", object{"description": "Bake", "prompt": agentPrompt, "subagent_type": "general-purpose", "run_in_background": false}),
		call("TodoWrite", newPlan("Build the parser", 3, 1).arguments()),
		newPlan("Bake bread", 3, 2),
	)
	r.logLists()
	r.checkMirrored(r.found(session, true), todo.LeftOpen, "claude-code", "1 completed Build the parser, part 1/2 in_progress Build the parser, part 2/3 pending Build the parser, part 3")
	ours := r.found(session, false)
	if ours.List.Mirrored || r.writes(ours) != 1 || completed(ours) != 2 {
		t.Errorf("the main agent's list is %+v", ours)
	}
	i := slices.IndexFunc(r.lists(), func(l todo.Snapshot) bool { return l.List.Agent != "" })
	if i < 0 {
		t.Fatal("the sub-agent has no list")
	}
	if sub := r.lists()[i]; sub.List.Parent != ours.List.ID || completed(sub) != 1 || r.writes(sub) != 2 || !strings.HasPrefix(sub.List.Agent, "general-purpose ") {
		t.Errorf("the sub-agent's list is %+v", sub)
	}
	// The resumed chat goes on with its mirrored list.
	r.run(resume, call("TodoWrite", newPlan("Build the parser", 3, 2).arguments()))
	if l := r.found(session, true); r.writes(l) != 3 || completed(l) != 2 {
		t.Errorf("after --resume: %+v", l)
	}
}

// The hooks of a Claude Code with a server over HTTP send events to that server: the list has the chat's id and folder,
// and a person's edit reaches the model with the next step, once.
func TestHooksOfAServerOverHTTP(t *testing.T) {
	r := newRig(t, client{name: "claude-http", command: claudeTools(), files: func(r *rig) {
		r.serveHTTP()
		output, err := execute(r.t, r.home, r.dir, []string{serverFile, "install", "--yes", "--hooks", "--http", r.url, "claude-code"}, nil)
		if err != nil {
			r.t.Fatalf("%v: %s", err, output)
		}
	}})
	r.model.answered = func(n int) {
		if n == 0 {
			r.add("Salt it")
		}
	}
	r.run(anew, newPlan("Bake bread", 3, 1), call("TaskList", object{}), call("TaskList", object{}))
	if l := r.found(session, false); l.List.Workspace != r.dir || len(l.Items) != 4 {
		t.Errorf("the list is %+v", l)
	}
	turns, _ := r.model.turns()
	for n, want := range []int{0, 0, 1, 1} {
		if got := strings.Count(turns[n].Raw, "Salt it"); len(turns) != 4 || got != want {
			t.Errorf("request %d of %d tells of the edit %d times, want %d", n, len(turns), got, want)
		}
	}
	checktest.Fails(t, "a hook wrote on this machine", checktest.Err(os.Stat(filepath.Join(r.home, ".local", "state", "todo-mcp"))))
}

// Claude Code's own tasks are on the board, with their ids and the tasks that they wait for.
func TestTasksOfClaudeCode(t *testing.T) {
	r := newRig(t, client{name: "claude-tasks", files: installInClaude, command: claudeTools()})
	create := func(subject string) plan {
		return call("TaskCreate", object{"subject": subject, "description": subject, "activeForm": "At: " + subject})
	}
	r.model.agent = []plan{create("Ask a baker"), call("TaskUpdate", object{"taskId": "4", "status": "in_progress"})}
	r.run(anew, create("Read the grammar"), create("Write the lexer"), create("Run the tests"),
		call("TaskUpdate", object{"taskId": "3", "addBlockedBy": []string{"1", "2"}}),
		call("TaskUpdate", object{"taskId": "1", "status": "in_progress", "owner": "reader"}),
		call("TaskUpdate", object{"taskId": "1", "status": "completed"}),
		call("Agent", object{"description": "Ask", "prompt": agentPrompt, "subagent_type": "general-purpose", "run_in_background": false}),
		call("TaskUpdate", object{"taskId": "2", "status": "deleted"}),
		call("TaskList", object{}),
	)
	l := r.found(session, true)
	r.checkMirrored(l, todo.LeftOpen, "claude-code", "1 completed Read the grammar/3 pending Run the tests/4 in_progress Ask a baker")
	if l.Items[0].Owner != "reader" || l.Items[1].WaitsFor != "1" || len(r.lists()) != 1 {
		t.Errorf("items %+v", l.Items)
	}
}

// Claude Code accepts the plugin's manifest, and the plugin alone brings server and hooks. If `todo-mcp install` has
// set up its hooks, too, each hook runs twice, but nothing is written twice.
func TestPluginOfClaudeCode(t *testing.T) {
	plugin := checktest.Must(filepath.Abs(filepath.Join("..", "..", "packaging", "claude-code")))(t)
	r := newRig(t, client{name: "claude-plugin", files: func(*rig) {}, command: func(r *rig, first bool, w way) (args, env []string) {
		args, env = claudeTools("CLAUDE_CODE_ENABLE_TASKS=0")(r, first, w)
		return append(args, "--plugin-dir", plugin, "--allowedTools", "mcp__plugin_todo-mcp_todo__TodoWrite"), env
	}})
	r.store = filepath.Join(r.home, ".local", "state", "todo-mcp", "todo.db")
	if out, err := execute(t, r.home, r.dir, []string{program(t, "@anthropic-ai/claude-code-*/claude"), "plugin", "validate", plugin, "--strict"}, nil); err != nil {
		t.Errorf("the manifest is refused: %v\n%s", err, out)
	}
	r.run(anew,
		call("TodoWrite", newPlan("Build the parser", 3, 1).arguments()),
		call("mcp__plugin_todo-mcp_todo__TodoWrite", newPlan("Bake bread", 3, 0).arguments()))
	r.logLists()
	r.checkMirrored(r.found(session, true), todo.LeftOpen, "claude-code", "1 completed Build the parser, part 1/2 in_progress Build the parser, part 2/3 pending Build the parser, part 3")
	if ours := r.found(session, false); ours.List.Mirrored {
		t.Errorf("ours is %+v", ours.List)
	}
	r.install("claude-code")
	r.run(resume,
		call("TodoWrite", newPlan("Build the parser", 3, 2).arguments()),
		call("mcp__todo__TodoWrite", newPlan("Bake bread", 3, 1).arguments())) // the plugin's server does not start
	mirrored, ours := r.found(session, true), r.found(session, false)
	if r.writes(mirrored) != 2 || completed(mirrored) != 2 || r.writes(ours) != 2 || len(r.lists()) != 2 {
		t.Errorf("with hooks beside the plugin there are %d lists, written %d and %d times", len(r.lists()), r.writes(mirrored), r.writes(ours))
	}
}

// The list of Codex' update_plan is on the board.
func TestHooksOfCodex(t *testing.T) {
	r := newRig(t, client{name: "codex-hooks", files: func(r *rig) {
		r.codexModel()
		r.install("codex", "CODEX_HOME="+filepath.Join(r.home, "codex"))
	}, command: func(r *rig, first bool, w way) (args, env []string) {
		args, env = codex(r, first, w)
		return append(args, "--dangerously-bypass-hook-trust", "-c", "tools.update_plan.enabled=true"), env
	}})
	step := func(first, second string) plan {
		return call("update_plan", object{"plan": []object{{"step": "Read the grammar", "status": first}, {"step": "Write the lexer", "status": second}}})
	}
	r.run(anew, step("in_progress", "pending"), newPlan("Bake bread", 3, 0), step("completed", "in_progress"))
	r.checkOther("codex", "1 completed Read the grammar/2 in_progress Write the lexer")
}

// The list of Gemini CLI's write_todos is on the board.
func TestHooksOfGemini(t *testing.T) {
	r := newRig(t, client{name: "gemini-hooks", command: gemini, files: func(r *rig) {
		r.geminiSettings(nil)
		r.install("gemini")
	}})
	write := func(first, second string) plan {
		return call("write_todos", object{"todos": []object{{"description": "Read the grammar", "status": first}, {"description": "Write the lexer", "status": second}}})
	}
	r.run(anew, write("in_progress", "pending"), newPlan("Bake bread", 3, 0), write("completed", "blocked"))
	r.checkOther("gemini-cli", "1 completed Read the grammar/2 blocked Write the lexer")
	r.checkOneChat()
}

// checkOneChat checks that the list that the agent wrote with our tool is in the chat that hooks reported.
func (r *rig) checkOneChat() {
	r.t.Helper()
	n := slices.IndexFunc(r.lists(), func(s todo.Snapshot) bool { return !s.List.Mirrored })
	if n < 0 || r.lists()[n].List.Chat == "" {
		r.t.Errorf("no list of ours is of a chat that hooks know: %+v", r.lists())
	}
}

// The list of Qwen Code's todo_write is on the board, if its settings enable the tool.
func TestHooksOfQwen(t *testing.T) {
	r := newRig(t, client{name: "qwen-hooks", command: qwen, files: func(r *rig) {
		r.qwenSettings(object{"tools": object{"todoWrite": object{"enabled": true}}})
		r.install("qwen")
	}})
	write := func(first, second string) plan {
		return call("todo_write", object{"todos": []object{{"id": "a", "content": "Read the grammar", "status": first}, {"id": "b", "content": "Write the lexer", "status": second, "blockedBy": []string{"a"}}}})
	}
	r.run(anew, write("in_progress", "pending"), write("completed", "in_progress"))
	r.checkMirrored(r.lists()[0], todo.LeftOpen, "qwen", "1 completed Read the grammar/2 in_progress Write the lexer")
}

// The list of Kimi Code's TodoList is on the board. Its agent is told once of open items, at the end of its turn, and
// once of a person's edit in a list of ours, with the prompt that resumes the chat.
func TestHooksOfKimi(t *testing.T) {
	files := func(r *rig) {
		r.installWith([]string{"--hooks=all,finish", "kimi"}, "KIMI_CODE_HOME="+filepath.Join(r.home, "kimi"))
	}
	r := newRig(t, client{name: "kimi-hooks", command: kimi, files: files})
	write := func(first, second string) plan {
		return call("TodoList", object{"todos": []object{{"title": "Read the grammar", "status": first}, {"title": "Write the lexer", "status": second}}})
	}
	told := func(n, of int, text string) {
		t.Helper()
		turns, _ := r.model.turns()
		if got := strings.Count(turns[min(n, len(turns)-1)].Raw, text); len(turns) != of || got != 1 {
			t.Errorf("in %d requests its model is told %d times of %s", len(turns), got, text)
		}
	}
	r.run(anew, write("in_progress", "pending"), write("done", "in_progress"))
	told(3, 4, "Before you end your turn")
	r.checkMirrored(r.lists()[0], todo.LeftOpen, "kimi-code", "1 completed Read the grammar/2 in_progress Write the lexer")
	r = newRig(t, client{name: "kimi-edits", command: kimi, files: files})
	r.run(anew, newPlan("Bake bread", 3, 0))
	r.checkOneChat()
	r.add("Salt it")
	r.run(resume)
	told(0, 2, "Salt it")
}

// copilotInstalled is Copilot CLI as its users set it up.
var copilotInstalled = client{name: "copilot-hooks", files: func(r *rig) {
	r.install("copilot", "COPILOT_HOME="+filepath.Join(r.home, "copilot"))
}, command: func(r *rig, first bool, w way) (args, env []string) {
	args, env = copilot(r, first, w)
	extra := slices.Index(args, "--additional-mcp-config")
	return slices.Delete(args, extra, extra+2), env
}}

// The table of todos that Copilot CLI's agent writes is on the board.
func TestHooksOfCopilot(t *testing.T) {
	r := newRig(t, copilotInstalled)
	query := func(sql string) plan { return call("sql", object{"description": "Plan", "query": sql}) }
	r.run(anew, query("INSERT INTO todos (id, title, status) VALUES ('read', 'Read the grammar', 'in_progress'), ('write', 'Write the lexer', 'pending')"),
		query("UPDATE todos SET status = 'done' WHERE id = 'read'"), query("SELECT 1"))
	r.checkMirrored(r.lists()[0], todo.LeftOpen, "copilot", "1 completed Read the grammar/2 pending Write the lexer")
}

// The lists that opencode's agent and a sub-agent write with opencode's todowrite are on the board, by our plugin.
func TestPluginOfOpencode(t *testing.T) {
	r := newRig(t, client{name: "opencode-plugin", files: opencodeFiles, command: func(r *rig, _ bool, _ way) (args, env []string) {
		return []string{program(r.t, "opencode-linux-x64/bin/opencode"), "run", "go"}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
	}})
	write := func(first, second string) plan {
		return call("todowrite", object{"todos": []object{{"content": "Read the grammar", "status": first, "priority": "high"}, {"content": "Write the lexer", "status": second, "priority": "low"}}})
	}
	r.model.agent = []plan{call("todowrite", object{"todos": []object{{"content": "Bake bread", "status": "in_progress", "priority": "low"}}})}
	r.run(anew, write("in_progress", "pending"), newPlan("Paint it", 2, 0),
		call("task", object{"description": "Bake", "prompt": agentPrompt, "subagent_type": "general"}),
		write("completed", "in_progress"))
	r.logLists()
	var main, sub todo.Snapshot
	for _, l := range r.lists() {
		switch {
		case l.List.Mirrored && l.List.Agent == "":
			main = l
		case l.List.Mirrored:
			sub = l
		}
	}
	// opencode does not report that the session ends, but its process has ended.
	r.checkMirrored(main, todo.LeftOpen, "opencode", "1 completed Read the grammar/2 in_progress Write the lexer")
	// A person's edit of the list that the agent keeps by our tool reaches the agent with its next step.
	r.model.answered = func(n int) {
		if n == 0 {
			r.add("Dry it")
		}
	}
	r.run(anew, newPlan("Paint it", 2, 0), call("bash", object{"command": "true", "description": "Nothing"}), call("bash", object{"command": "true", "description": "Nothing"}))
	turns, _ := r.model.turns()
	for n, want := range []int{0, 0, 1, 1} {
		if len(turns) == 4 && strings.Count(turns[n].Raw, "Dry it") == want {
			continue
		}
		t.Errorf("request %d of %d tells of the edit %d times, want %d", n, len(turns), strings.Count(turns[n].Raw, "Dry it"), want)
	}
	if sub.List.Parent != main.List.ID || sub.Title() != "Bake bread" || r.statesNow()[sub.List.ID].State != todo.LeftOpen {
		t.Errorf("the sub-agent's list is %+v", sub)
	}
}

func opencodeFiles(r *rig) {
	r.file(".config/opencode/opencode.json", asJSON(object{
		"autoupdate": false, "model": "anthropic/claude-sonnet-4-5", "small_model": "anthropic/claude-sonnet-4-5",
		"provider": object{"anthropic": object{"options": object{"baseURL": r.model.URL + "/v1", "apiKey": "x"}}},
		"agent":    object{"general": object{"permission": object{"todowrite": "allow"}}}, // otherwise sub-agents lack it
	}))
	r.install("opencode")
}

// checkOther checks the mirrored list, and that there is exactly one other list.
func (r *rig) checkOther(client, items string) {
	r.t.Helper()
	r.logLists()
	all := r.lists()
	i := slices.IndexFunc(all, func(l todo.Snapshot) bool { return l.List.Mirrored })
	if len(all) != 2 || i < 0 {
		r.t.Fatalf("%d lists", len(all))
	}
	r.checkMirrored(all[i], todo.LeftOpen, client, items)
}

// Two processes of Claude Code in two folders, with one server over HTTP, keep their lists apart even when they write
// the same plan: the protocol names no session, so the server asks each process for its roots.
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
			b.runs++ // b must not get a's conversation id
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

// While a client runs, another client in the same folder does not go on with its list, not even with the same plan.
// After both have ended, a third client goes on with a list, unless it gives the server a chat's id, since that is new.
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
			b.runs++ // b must not get a's conversation id
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

// The prompt resume offers the list of the folder that Claude Code runs in, even if a list of another folder changed
// later. After a list was resumed by its id, the next write goes to that list, whichever folder it began in.
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

// The resource todo://list that Claude Code's model reads is the folder's list, also before the first call of a tool.
func TestRead(t *testing.T) {
	for _, name := range []string{"claude-stdio", "claude-http"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, byName(t, name))
			r.report(r.run(resume, newPlan("Bake bread", 4, 0)))
			r.report(r.run(resume, call("ReadMcpResourceTool", object{"server": "todo", "uri": "todo://list"})))
			checktest.Has(t, "the model reads", r.shown(), "Bake bread")
		})
	}
}

// resumed checks that the run's first request contains one list's text (want), and not another's (not).
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
