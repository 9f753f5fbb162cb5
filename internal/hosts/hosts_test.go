//go:build hosts && linux

// Package hosts runs real MCP clients from npm, with a stand-in for the model, against the server. It checks what the
// clients send, what they show a model, and which list a restarted client finds. `make hosts` installs the clients and
// runs these tests, which are no part of `make test`.
package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// shownAtMost is the most tokens that a client may show its model as the result of a write of ten items.
const shownAtMost = 30

// expectation is what one client does in three runs in one folder. Each client offers its model our tool at once.
type expectation struct {
	client  string
	way     way
	again   string // where the plan goes in the second run, with one more item done
	other   string // where a wholly different plan goes in the third run
	putAway bool   // the result of the third write says that the earlier plan was put away
}

// expected is the table to edit when the server changes. Lists are numbered in the order in which they began. Codex
// alone proves which conversation it is in, by its thread: in the same thread another plan puts the earlier one away.
// Claude Code over stdio and Copilot CLI give their server an id of the chat, a hint: a new id is a new chat, and
// begins a list even with the same plan (rule 4). Claude Code's -p -c has a new id each time. The other clients send no
// id: a plan that keeps enough items of a list continues that list, and any other plan begins a new list.
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

// Each client, run three times in one folder, does what [expected] says.
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

// Claude Code, Codex and Gemini CLI show their model the server's instructions, the others do not (docs/cost.md).
func TestInstructions(t *testing.T) {
	texts := checktest.Must(prompts.New("", "en"))(t)
	_, sentence, _ := strings.Cut(texts.Text("instructions"), "}}") // the text after the tool's name
	sentence, _, _ = strings.Cut(sentence, ".")
	for name, want := range map[string]bool{"claude-stdio": true, "codex": true, "gemini": true, "kimi": false, "copilot": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, byName(t, name))
			r.run(anew, newPlan("Build the parser", 2, 0))
			turns, _ := r.model.turns()
			if len(turns) == 0 {
				t.Fatal("the model was asked nothing")
			}
			checktest.Same(t, "the model is shown the instructions", strings.Contains(turns[0].Raw, sentence), want)
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

// check checks to which list and revision the last write went, and returns them.
func (r *rig) check(what, want string) string {
	r.t.Helper()
	got := r.written()
	r.t.Logf("FOUND %s: %s", what, got)
	checktest.Same(r.t, fmt.Sprintf("%s went to", what), got, want)
	return got
}

// logLists logs all lists with the conversations that began them.
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

// offered returns the name under which the first request offers our tool; empty if it does not offer our tool.
func (r *rig) offered() string {
	if turns, _ := r.model.turns(); len(turns) > 0 {
		return turns[0].toolName("")
	}
	return ""
}

// tokens estimates the number of a text's tokens as the budgets do: its runes / 4.
func tokens(text string) int { return (len([]rune(text)) + 3) / 4 }

// report logs what the client sent in one run and what the model was shown.
func (r *rig) report(rec recording) {
	r.t.Helper()
	shown := r.shown()
	r.t.Logf("servers %v were sent\n%s", rec.servers, strings.Join(rec.sent, "\n"))
	r.t.Logf("OFFERED at once as %q", r.offered())
	r.t.Logf("SHOWN %d bytes, about %d tokens: %s", len(shown), tokens(shown), shown)
}

// T10: clients pass on a status and a reason that the schema does not list, and show the model that the server accepted
// both. Clients that check calls against the schema pass both on if the schema lists them.
func TestUnlistedStatuses(t *testing.T) {
	checks := map[string]bool{"gemini": true, "kimi": true}
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c)
			if checks[c.name] {
				r.server = append(r.server, "--statuses", "all", "--tools", "TodoWrite")
				c.files(r)
			}
			p := newPlan("Ship", 3, 0)
			p.items[1].Status, p.items[1].Reason = "blocked", "no key"
			p.items[2].Status, p.items[2].Reason = "failed", "the disk is full"
			r.run(anew, p)
			if shown := r.shown(); !strings.Contains(shown, "1 in_progress, 0 pending, 1 failed, 1 blocked") && !strings.Contains(shown, "Plan updated") {
				t.Errorf("the model is shown %.500s", shown)
			}
			lists := r.lists()
			if len(lists) != 1 || len(lists[0].Items) != 3 {
				t.Fatalf("%+v", lists)
			}
			blocked, failed := lists[0].Items[1], lists[0].Items[2]
			if blocked.Status != todo.Blocked || blocked.Reason != "no key" || failed.Status != todo.Failed || failed.Reason != "the disk is full" {
				t.Errorf("stored: %+v, %+v", blocked, failed)
			}
		})
	}
}

// installed is a client whose own program can list its servers.
type installed struct {
	name string   // the client's name for `todo-mcp install`
	file string   // its configuration file before install, below the home
	text string   // the content of that file
	list []string // its command that lists servers
	// stdio and http are texts in that list, for a server over stdio and over HTTP.
	stdio, http string
}

// listing returns the clients whose own program lists its servers. Most lists say whether each server was reached.
func listing(t *testing.T) []installed {
	return []installed{
		{name: "claude-code", list: []string{program(t, "@anthropic-ai/claude-code-*/claude"), "mcp", "list"}, stdio: "todo: todo-mcp  - ✔ Connected", http: "/mcp (HTTP) - ✔ Connected"},
		{
			name: "codex", file: ".codex/config.toml", text: "model = \"gpt-5\" # mine\n", list: []string{program(t, ".bin/codex"), "mcp", "list"},
			stdio: "todo  todo-mcp  -     -    -    enabled", http: "/mcp  -                     enabled",
		},
		{
			name: "gemini", file: ".gemini/settings.json", text: "{\n  // all of mine\n  \"security\": {\"folderTrust\": {\"enabled\": false}}\n}\n", list: []string{program(t, ".bin/gemini"), "mcp", "list"},
			stdio: "✓ todo: todo-mcp  (stdio) - Connected", http: "/mcp (http) - Connected",
		},
		{name: "qwen", list: []string{program(t, ".bin/qwen"), "mcp", "list"}, stdio: "todo: todo-mcp  (stdio) - Connected", http: "/mcp (http) - Connected"},
		{
			name: "opencode", file: ".config/opencode/opencode.jsonc", text: "{\n\t\"$schema\": \"https://opencode.ai/config.json\", // made by itself\n}\n",
			list: []string{program(t, "opencode-linux-x64/bin/opencode"), "mcp", "list"}, stdio: "todo connected\n│      todo-mcp\n", http: "todo connected\n│      http://",
		},
		{name: "cline", list: []string{program(t, "@cline/cli-linux-x64/bin/cline"), "config", "mcp"}, stdio: "todo [stdio]", http: "todo [streamableHttp]"},
		{name: "copilot", list: []string{program(t, "@github/copilot-linux-*/copilot"), "mcp", "list"}, stdio: "todo (local)", http: "todo (http)"},
	}
}

// Each client whose program can list its servers lists the one that `todo-mcp install` added, over both transports. It
// lists none after `todo-mcp uninstall`, which leaves the client's file as it was.
func TestInstalledServersAreListed(t *testing.T) {
	for _, c := range listing(t) {
		t.Run(c.name, func(t *testing.T) {
			r := &rig{t: t, model: newModel(t), home: t.TempDir(), dir: t.TempDir(), recording: os.DevNull}
			r.store = filepath.Join(r.home, "state", "todo.db")
			r.serveHTTP()
			env := []string{"COPILOT_OFFLINE=true"}
			if c.file != "" {
				r.file(c.file, c.text)
			}
			run := func(args ...string) string {
				t.Helper()
				output, err := execute(t, r.home, r.dir, args, env)
				if err != nil {
					t.Errorf("%q: %v", args, err)
				}
				return colours.ReplaceAllString(output, "")
			}
			for way, expect := range map[string]string{"": c.stdio, r.url: c.http} {
				install := []string{serverFile, "install", "--yes", c.name}
				if way != "" {
					install = append(install, "--http", way)
				}
				t.Log(run(install...))
				listed := run(c.list...)
				t.Logf("LISTED\n%s", listed)
				checktest.Has(t, "listed", listed, expect)
			}
			run(serverFile, "uninstall", "--yes", c.name)
			if listed := run(c.list...); strings.Contains(listed, "todo") {
				t.Errorf("still listed:\n%s", listed)
			}
			if c.file == "" {
				return
			}
			if after, err := os.ReadFile(filepath.Join(r.home, c.file)); err != nil || string(after) != c.text {
				t.Errorf("%s is not as before (%v):\n%s", c.file, err, after)
			}
		})
	}
}

var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Kimi Code cannot list its servers. After `todo-mcp install` its model is offered the tool and writes a list.
func TestInstalledInKimi(t *testing.T) {
	r := newRig(t, client{name: "kimi", files: func(*rig) {}, command: kimi})
	env := []string{"KIMI_CODE_HOME=" + filepath.Join(r.home, "kimi"), "TODO_STORE=sqlite:" + r.store}
	if output, err := execute(t, r.home, r.dir, []string{serverFile, "install", "--yes", "kimi"}, env); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	r.model.begin(newPlan("Build the parser", 3, 1))
	args, more := kimi(r, true, anew)
	if output, err := execute(t, r.home, r.dir, args, append(more, env...)); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if r.offered() == "" {
		t.Error("the tool is not offered")
	}
	r.check("the plan", "list 1 revision 1")
}

// After `install --allow` a client that cannot ask anybody calls the tool in its usual mode of permissions; after
// `install --allow=false` it does not. `doctor` says which is set.
func TestAllowedTools(t *testing.T) {
	for _, c := range []struct {
		name, title string
		files       func(*rig)
		command     func(*rig) (args, env []string)
	}{
		{"claude-code", "Claude Code", func(*rig) {}, func(r *rig) ([]string, []string) {
			_, env := claude(r, true, anew)
			return []string{program(r.t, "@anthropic-ai/claude-code-*/claude"), "-p", "go", "--permission-mode", "default"}, env
		}},
		{"gemini", "Gemini CLI", func(r *rig) { r.geminiSettings(nil) }, func(r *rig) ([]string, []string) {
			args, env := gemini(r, true, anew)
			return slices.DeleteFunc(args, func(arg string) bool { return arg == "--yolo" }), env
		}},
		{"qwen", "Qwen Code", func(r *rig) { r.qwenSettings(nil) }, func(r *rig) ([]string, []string) {
			args, env := qwen(r, true, anew)
			return slices.DeleteFunc(args, func(arg string) bool { return arg == "--yolo" }), env
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, client{name: c.name, files: c.files})
			args, env := c.command(r)
			env = append(env, "TODO_STORE=sqlite:"+r.store)
			run := func(args ...string) string {
				t.Helper()
				output, err := execute(t, r.home, r.dir, args, env)
				t.Logf("%q: %v\n%s", args, err, output)
				return output
			}
			for _, allow := range []string{"--allow", "--allow=false"} {
				run(serverFile, "install", "--yes", allow, c.name)
				says := map[string]string{"--allow": "its tools are allowed", "--allow=false": "it asks each time"}[allow]
				checktest.Has(t, fmt.Sprintf("doctor does not say %q", says), run(serverFile, "doctor", "--addr", "127.0.0.1:0"), c.title+": "+says)
				r.model.begin(newPlan("Plan "+allow, 2, 0))
				run(args...)
			}
			if all := r.lists(); len(all) != 1 || all[0].Items[0].Text != "Plan --allow, part 1" {
				t.Errorf("the lists are %+v", all)
			}
		})
	}
}
