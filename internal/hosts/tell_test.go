//go:build hosts && linux

package hosts

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// told is a client whose hooks tell its agent of its list.
type told struct {
	name  string // the client's name for `todo-mcp install`
	title string // its name for people
	files func(r *rig)
	// command runs the client without a person; talk runs it at a terminal, with the prompt "go".
	command func(r *rig, first bool, w way) (args, env []string)
	talk    func(r *rig) (args, env []string)
	// runs returns a call of the client's tool for shell commands.
	runs func(command string) plan
	// compact is what a person types so that the conversation is summarized.
	compact string
	// Texts on the screen: asks if the client asks whether it may run a command, compacted after a summary, rested when
	// the client takes a next command. With an empty rested it takes one as soon as hooks report that the agent rests.
	asks, compacted, rested string
}

// toldClients returns the clients whose hooks can tell their agents something.
func toldClients() []told {
	return []told{
		{
			name: "claude-code", title: "Claude Code", command: toldClaude, talk: talkToClaude, compact: "/compact",
			runs: func(command string) plan { return call("Bash", object{"command": command}) },
			asks: "Do you want to proceed", compacted: "Compacted",
			files: func(r *rig) {
				r.file(".claude.json", asJSON(object{
					"hasCompletedOnboarding": true, "theme": "dark",
					"customApiKeyResponses": object{"approved": []string{"x"}, "rejected": []string{}},
					"projects":              object{r.dir: object{"hasTrustDialogAccepted": true}},
				}))
			},
		},
		{
			name: "codex", title: "Codex", command: toldCodex, talk: talkToCodex, compact: "/compact",
			runs: func(command string) plan { return call("exec_command", codexCommand(command)) },
			asks: "Press enter to confirm", compacted: "compacted", rested: "Worked for",
			files: func(r *rig) { r.codexModel("[projects."+asJSON(r.dir)+"]", `trust_level = "trusted"`) },
		},
		{
			name: "gemini", title: "Gemini CLI", command: gemini, talk: talkToGemini, compact: "/compress",
			runs: runShellCommand, asks: "Allow execution", compacted: "compressed from",
			files: func(r *rig) { r.geminiSettings(nil) },
		},
		{
			name: "qwen", title: "Qwen Code", command: qwen, talk: talkToQwen, compact: "/compress",
			runs: runShellCommand, asks: "Allow execution", compacted: "compressed from",
			files: func(r *rig) { r.qwenSettings(nil) },
		},
	}
}

// codexCommand returns the input by which Codex runs a command. Codex asks a person before any command but "true".
func codexCommand(command string) object {
	if command == "true" {
		return object{"cmd": command}
	}
	return object{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "Run it?"}
}

func runShellCommand(command string) plan {
	return call("run_shell_command", object{"command": command, "is_background": false})
}

// rig returns a rig of the client, installed as its users do it, with additional flags of install.
func (c told) rig(t *testing.T, flags ...string) *rig {
	return newRig(t, client{name: c.name, command: c.command, files: func(r *rig) {
		c.files(r)
		r.installWith(append(flags, c.name), "CODEX_HOME="+filepath.Join(r.home, "codex"))
	}})
}

func toldClaude(r *rig, first bool, w way) (args, env []string) {
	args, env = claude(r, first, w)
	strict := slices.Index(args, "--strict-mcp-config")               // --mcp-config FILE follows
	return append(slices.Delete(args, strict, strict+3), "Bash"), env // allows Bash, too
}

func toldCodex(r *rig, first bool, w way) (args, env []string) {
	args, env = codex(r, first, w)
	return append(args, "--dangerously-bypass-hook-trust"), env
}

// add adds an item, in an editor, to the newest list that a person can change.
func (r *rig) add(item string) { r.t.Helper(); r.edit("[ ] " + item) }

// edit is like add, but the item begins with its own marker, such as [+].
func (r *rig) edit(item string) {
	r.t.Helper()
	editor := r.file("editor", "#!/bin/sh\necho '- "+item+"' >> \"$1\"\n")
	checktest.Check(r.t, os.Chmod(editor, 0o700))
	all := slices.DeleteFunc(r.lists(), func(l todo.Snapshot) bool { return l.List.Mirrored })
	list := all[0].List.ID
	output, err := execute(r.t, r.home, r.dir, []string{serverFile, "edit", "--store", "sqlite:" + r.store, list}, []string{"EDITOR=" + editor})
	if err != nil {
		r.t.Errorf("edit: %v: %s", err, output)
	}
}

// The fixed beginnings of the texts that the model is told.
var (
	news     = beginning(func(w *prompts.Words) string { return w.UserChanged })
	reminder = beginning(func(w *prompts.Words) string { return w.Reminder })
)

// beginning returns the part of a text before its first placeholder.
func beginning(text func(*prompts.Words) string) string {
	before, _, _ := strings.Cut(text(prompts.WordsIn("en")), "%")
	return before
}

// saw checks how often texts are in a request of the model, and logs the news and reminders in it.
func (r *rig) saw(when string, req modelRequest, want map[string]int) {
	r.t.Helper()
	for text, n := range want {
		checktest.Same(r.t, fmt.Sprintf("%s the model sees %q", when, text), strings.Count(req.Raw, text), n)
	}
	for _, m := range regexp.MustCompile(`[\w ]*changed the list: `+`(?:\\"|[^"\\<])*|`+regexp.QuoteMeta(reminder)+`(?:\\n|\\"|[^"\\<])*`).FindAllString(req.Raw, -1) {
		r.t.Logf("SEEN %s: %d tokens: %s", when, tokens(m), m)
	}
}

// A person's edit between two calls of other tools reaches the agent with the next request, and only once: not again
// with the next answer, nor as news after a resume. After a resume the agent is reminded of its list as it is now.
func TestAgentsAreToldOfEdits(t *testing.T) {
	for _, c := range toldClients() {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t)
			r.model.answered = func(n int) {
				if n == 0 {
					r.add("Buy salt")
				}
			}
			r.run(anew, newPlan("Bake bread", 3, 0), c.runs("true"), c.runs("true"), newPlan("Bake bread", 3, 1))
			turns, _ := r.model.turns()
			for i, want := range []int{0, 0, 1, 1, 1} {
				r.saw(fmt.Sprintf("in request %d", i+1), turns[i], map[string]int{news: want})
			}
			r.add("Buy flour")
			r.model.answered = nil
			r.run(resume)
			turns, _ = r.model.turns() // Qwen Code may send more requests, for its own notes
			r.saw("after resume", turns[0], map[string]int{reminder: 1, "Buy flour": 1})
		})
	}
}

// With hooks of the kind finish a turn that ends with open items goes on, once, and the agent is told these items.
func TestTurnsAreFinished(t *testing.T) {
	for _, c := range toldClients() {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t, "--hooks=all,finish")
			r.run(anew, newPlan("Bake bread", 3, 1))
			turns, _ := r.model.turns()
			if len(turns) != 3 {
				t.Fatalf("the model was asked %d times, want 3: its plan, the end, the end again", len(turns))
			}
			r.saw("before the end", turns[1], map[string]int{reminder: 0})
			r.saw("at the end", turns[2], map[string]int{reminder: 1, "2. [in_progress]": 1})
		})
	}
}

func talkToClaude(r *rig) (args, env []string) {
	args, env = toldClaude(r, true, anew)
	args = slices.Delete(args, 1, 2) // removes -p
	return append(args[:len(args)-1], "--permission-mode", "default"), env
}

func talkToCodex(r *rig) (args, env []string) {
	_, env = codex(r, true, anew)
	return []string{program(r.t, ".bin/codex"), "--dangerously-bypass-hook-trust", "--no-alt-screen", "-a", "on-request", "-s", "read-only", "go"}, env
}

func talkToGemini(r *rig) (args, env []string) {
	_, env = gemini(r, true, anew)
	return []string{program(r.t, ".bin/gemini"), "--skip-trust", "-m", "gemini-2.5-pro", "--allowed-tools", "mcp_todo_TodoWrite", "-i", "go"}, env
}

func talkToQwen(r *rig) (args, env []string) {
	_, env = qwen(r, true, anew)
	return []string{program(r.t, ".bin/qwen"), "--auth-type", "openai", "--approval-mode", "default", "--allowed-tools", "mcp__todo__todo_write", "-i", "go"}, env
}

// A client's question for a permission is shown with its list until the person answers. The agent learns of a person's
// edit between two prompts with the next prompt. After a summary of the conversation it is reminded of its list.
func TestAtTheTerminal(t *testing.T) {
	for _, c := range toldClients() {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t)
			asked := r.asked()
			r.model.begin(newPlan("Bake bread", 3, 0), c.runs("npm publish --dry-run"))
			s := r.open(c.talk(r))
			s.await(c.asks)
			const question = "run `npm publish --dry-run`?"
			r.awaitList("question", func(l todo.Snapshot) bool { return r.statesNow()[l.List.ID].Asks == question })
			for command, asks := range map[string]string{"lists": question, "show": "asks: " + question} {
				if output := r.lines(command); !strings.Contains(output, "waiting") || !strings.Contains(output, asks) {
					t.Errorf("%s says\n%s", command, output)
				}
			}
			s.enter()
			r.awaitList("list whose agent rests", func(l todo.Snapshot) bool { return r.statesNow()[l.List.ID] == (todo.Standing{State: todo.Idle}) })

			r.add("Buy salt")
			s.typed("quokka")
			s.await("quokka")
			q := await(t, "request", asked, tells("quokka"), s.enter)
			r.saw("at the next prompt", q, map[string]int{news: 1, "Buy salt": 1})
			r.awaitList("list whose agent rests again", func(l todo.Snapshot) bool { return r.statesNow()[l.List.ID].State == todo.Idle })
			if c.rested != "" {
				s.await(c.rested)
			}
			s.typed(c.compact)
			s.await(c.compact)
			s.await(c.compacted, s.enter)
			s.typed("wombat")
			s.await("wombat")
			q = await(t, "request", asked, tells("wombat"), s.enter)
			r.saw("after a summary", q, map[string]int{reminder: 1, "4. [pending]": 1}) // Gemini CLI keeps the news, too
		})
	}
}

// A failure of the model is shown with the list, even if the host reports it to no hook, or not clearly.
func TestModelFails(t *testing.T) {
	for _, c := range toldClients() {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t)
			r.model.begin(newPlan("Bake bread", 2, 0))
			r.model.fails = 1
			r.open(c.talk(r))
			followed := make(chan error)
			go r.read(func(ctx context.Context, s board.Store) error {
				b := board.NewBoard(s)
				defer b.Close()
				ctx, cancel := context.WithCancel(ctx)
				go func() { followed <- nil; cancel() }()
				hook.FollowSessions(ctx, func(name string) string {
					return map[string]string{"HOME": r.home, "CODEX_HOME": filepath.Join(r.home, "codex")}[name]
				}, b.As(""))
				return nil
			})
			r.awaitList("list whose model failed", func(l todo.Snapshot) bool {
				return strings.Contains(r.statesNow()[l.List.ID].Asks, refusal)
			})
			<-followed
		})
	}
}

// lines runs a command of todo-mcp with the rig's store, and returns its output.
func (r *rig) lines(args ...string) string {
	r.t.Helper()
	output, err := execute(r.t, r.home, r.dir, append([]string{serverFile}, append(args, "--store", "sqlite:"+r.store)...), nil)
	if err != nil {
		r.t.Errorf("%q: %v: %s", args, err, output)
	}
	return output
}

// awaitList waits until the newest list satisfies a condition. An error names the awaited list, given as what.
func (r *rig) awaitList(what string, is func(todo.Snapshot) bool) {
	r.t.Helper()
	r.read(func(ctx context.Context, s board.Store) error {
		b := board.NewBoard(s)
		defer b.Close()
		changes := b.As("").Watch(nil)
		defer changes.Close()
		now, err := b.As("").Find(ctx, board.Query{})
		for err == nil && (len(now) == 0 || !is(now[0])) {
			now, err = changes.Next(ctx)
		}
		if err != nil {
			return fmt.Errorf("there is no %s: %w", what, err)
		}
		return nil
	})
}

// await waits for a value that satisfies a condition. It calls each function in do, and repeats the calls while no such
// value comes, since a client that is busy with its hooks misses keys.
func await[T any](t *testing.T, what string, from <-chan T, is func(T) bool, do ...func()) (found T) {
	t.Helper()
	limit := time.After(patience)
	again := time.NewTicker(patience / 20)
	defer again.Stop()
	for heard := false; ; {
		for _, f := range do {
			if !heard {
				f()
			}
		}
		heard = true
		select {
		case found = <-from:
			if is(found) {
				return found
			}
		case <-again.C:
			heard = false
		case <-limit:
			t.Fatalf("there is no %s", what)
		}
	}
}

// screen is a terminal at which a person uses a client.
type screen struct {
	t    *testing.T
	term *os.File
	more chan string // the texts added to the screen
	text string      // all texts added so far, without escapes
	from int         // where in text the next search begins
}

// open runs a client at a terminal until the test ends.
func (r *rig) open(args, env []string) *screen {
	r.t.Helper()
	cmd := command(r.t.Context(), r.t, r.home, r.dir, args, append(env, "TERM=xterm-256color"))
	cmd.SysProcAttr = nil // pty sets its own
	term := checktest.Must(pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 160}))(r.t)
	s := &screen{t: r.t, term: term, more: make(chan string, 1<<16)}
	go s.read()
	r.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		_ = term.Close()
		if r.t.Failed() {
			r.t.Logf("on the screen: %s", s.text[max(0, len(s.text)-5000):])
		}
	})
	return s
}

// read reads the output to the screen, and answers the queries that programs send to a terminal.
func (s *screen) read() {
	answers := strings.NewReplacer("\x1b[6n", "\x1b[1;1R", "\x1b[c", "\x1b[?62c", "\x1b[0c", "\x1b[?62c")
	buf := make([]byte, 1<<16)
	for {
		n, err := s.term.Read(buf)
		if err != nil {
			return
		}
		added := string(buf[:n])
		for _, query := range []string{"\x1b[6n", "\x1b[c", "\x1b[0c"} {
			if strings.Contains(added, query) {
				_, _ = s.term.WriteString(answers.Replace(query))
			}
		}
		s.more <- added
	}
}

// escapes matches white space and the sequences that move the cursor or colour the text.
var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|\s+`)

// await waits until a text, compared without its spaces, is added to the screen.
func (s *screen) await(text string, do ...func()) {
	s.t.Helper()
	text = strings.ReplaceAll(text, " ", "")
	await(s.t, fmt.Sprintf("%q on the screen", text), s.more, func(added string) bool {
		s.text += escapes.ReplaceAllString(added, "")
		at := strings.Index(s.text[s.from:], text)
		if at >= 0 {
			s.from += at + len(text)
		}
		return at >= 0
	}, do...)
}

// typed types keys.
func (s *screen) typed(keys string) { s.t.Helper(); checktest.Must(s.term.WriteString(keys))(s.t) }

// enter sends what was typed.
func (s *screen) enter() { s.typed("\r") }

// An item that a person adds for the end of a turn is in no request of that turn. When the turn ends, the agent is told
// of the item, once, and goes on with it.
func TestAfterThis(t *testing.T) {
	type host struct {
		name string
		rig  func(t *testing.T) *rig
		runs func(string) plan
	}
	claude := toldClients()[0]
	all := []host{
		{"kimi", func(t *testing.T) *rig {
			return newRig(t, client{name: "kimi", command: kimi, files: func(r *rig) {
				r.install("kimi", "KIMI_CODE_HOME="+filepath.Join(r.home, "kimi"))
			}})
		}, claude.runs},
		{"copilot", func(t *testing.T) *rig { return newRig(t, copilotInstalled) }, bash},
		{"opencode", func(t *testing.T) *rig { return newRig(t, client{name: "opencode", files: opencodeFiles}) }, bash},
	}
	for _, c := range toldClients() {
		all = append(all, host{c.name, func(t *testing.T) *rig { return c.rig(t) }, c.runs})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t)
			r.model.answered = func(n int) {
				if n == 1 { // by then even a plugin, for which no host waits, has reported the list
					r.edit("[+] Buy salt")
				}
			}
			script := []plan{newPlan("Bake bread", 2, 0), c.runs("true"), c.runs("true"), newPlan("Bake bread", 2, 1)}
			if c.name == "opencode" { // the command "opencode run" would end with the turn
				asked := r.asked()
				r.model.begin(script...)
				r.serveOpencode()("go")
				await(t, "request with which it goes on", asked, tells("Buy salt"))
			} else {
				r.run(anew, script...)
			}
			turns, _ := r.model.turns()
			for n, q := range turns {
				r.saw("request", q, map[string]int{"Buy salt": max(0, n-len(script))})
				t.Logf("REQUEST %d ends with the result %q; %q", n+1, q.Results[max(0, len(q.Results)-1):], regexp.MustCompile(`.{0,80}Buy salt.{0,40}`).FindString(q.Raw))
			}
			if l := r.lists()[0]; len(turns) != len(script)+2 || len(l.Later) > 0 || l.Items[2].Text != "Buy salt" {
				t.Errorf("after %d requests the list has %+v, and later %+v", len(turns), l.Items, l.Later)
			}
		})
	}
}

// An agent at rest goes on when a person adds an item, and is told of the item once.
func TestWake(t *testing.T) {
	claude := toldClients()[0]
	for name, start := range map[string]func(t *testing.T) (*rig, func()){
		"claude-code": func(t *testing.T) (*rig, func()) {
			r := claude.rig(t, "--hooks=all,wake")
			return r, func() { r.open(claude.talk(r)) }
		},
		"opencode": func(t *testing.T) (*rig, func()) {
			r := newRig(t, client{name: "opencode", files: func(r *rig) { opencodeFiles(r); r.installWith([]string{"--hooks=all,wake", "opencode"}) }})
			return r, func() { r.serveOpencode()("go") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, run := start(t)
			asked := r.asked()
			r.model.begin(newPlan("Bake bread", 2, 0))
			run()
			rests := func(l todo.Snapshot) bool { return r.statesNow()[l.List.ID].State == todo.Idle }
			for n, item := range []string{"Buy salt", "Buy flour"} {
				r.awaitList("list whose agent rests", rests)
				r.add(item)
				q := await(t, "request with which it goes on", asked, tells(item))
				r.saw("as it wakes", q, map[string]int{"Buy salt": 1, "Buy flour": n})
				t.Logf("WAKES with %q", regexp.MustCompile(`.{0,120}`+item+`.{0,60}`).FindString(q.Raw))
			}
			r.awaitList("list whose agent rests", rests)
			if turns, _ := r.model.turns(); len(turns) != 4 {
				t.Errorf("the model was asked %d times, want 2, and once for each item", len(turns))
			}
		})
	}
}

// bash returns the call that runs a command in Copilot CLI and opencode.
func bash(command string) plan {
	return call("bash", object{"command": command, "description": "Nothing"})
}

// asked returns a channel of the model's requests from now on.
func (r *rig) asked() <-chan modelRequest {
	asked := make(chan modelRequest, 64)
	r.model.asked = func(q modelRequest) { asked <- q }
	return asked
}

// tells returns a function that reports whether a request contains a text.
func tells(text string) func(modelRequest) bool {
	return func(q modelRequest) bool { return strings.Contains(q.Raw, text) }
}

// serveOpencode runs opencode without a terminal until the test ends, and returns a function that sends a prompt to the
// agent of a new chat.
func (r *rig) serveOpencode() func(prompt string) {
	r.t.Helper()
	cmd := command(r.t.Context(), r.t, r.home, r.dir, []string{program(r.t, "opencode-linux-x64/bin/opencode"), "serve", "--port", "0"},
		[]string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"})
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	checktest.Check(r.t, err)
	r.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text())
	}
	post := func(path string, body object) (answer struct{ ID string }) {
		resp, err := http.Post(address+path, "application/json", strings.NewReader(asJSON(body)))
		checktest.Check(r.t, err)
		defer resp.Body.Close()
		if _ = json.NewDecoder(resp.Body).Decode(&answer); resp.StatusCode >= 300 {
			r.t.Fatalf("%s: %s", path, resp.Status)
		}
		return answer
	}
	return func(prompt string) {
		post("/session/"+post("/session", object{}).ID+"/prompt_async", object{"parts": []object{{"type": "text", "text": prompt}}})
	}
}
