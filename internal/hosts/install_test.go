//go:build hosts && linux

package hosts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// installed is a client that lists its servers itself.
type installed struct {
	name string   // as `todo-mcp install` has it
	file string   // what it was configured with before, below the home
	text string   // what that holds
	list []string // its command that lists servers
	// stdio and http are in what it lists, for the two ways to the server.
	stdio, http string
}

// listing are the clients whose own program lists the servers that it is given, most
// of them with whether it reached them.
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

// Each client whose program can list its servers lists the one that `todo-mcp install`
// gave it, over both transports, and none after `todo-mcp uninstall`, which leaves its
// file as it was.
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
				if !strings.Contains(listed, expect) {
					t.Errorf("%q is not listed", expect)
				}
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

// Kimi Code lists no servers; with the one that it was given its model is offered the
// tool and writes a list.
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

// A client that `install --allow` set up calls the tool in its own mode of permissions, where
// nobody could be asked, and after `install --allow=false` it does not. `doctor` says which.
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
				if said := run(serverFile, "doctor", "--addr", "127.0.0.1:0"); !strings.Contains(said, c.title+": "+says) {
					t.Errorf("doctor does not say %q", says)
				}
				r.model.begin(newPlan("Plan "+allow, 2, 0))
				run(args...)
			}
			if all := r.lists(); len(all) != 1 || all[0].Items[0].Text != "Plan --allow, part 1" {
				t.Errorf("the lists are %+v", all)
			}
		})
	}
}
