//go:build e2e && linux

package install_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
)

// node runs a script that imports names from a plugin that install wrote, and returns the script's output. The plugin's
// commands run the rig's program.
func (r *rig) node(plugin, imports, script string) string {
	r.Helper()
	path := filepath.Join(r.T.TempDir(), "plugin.mjs")
	r.write(path, strings.ReplaceAll(r.read(plugin), `from "@opentui/solid"`, `from "./solid.mjs"`))
	r.write(filepath.Join(filepath.Dir(path), "solid.mjs"), "export const createElement = (kind) => ({ kind })")
	cmd := exec.Command("node", "--input-type=module", "-e", "import { "+imports+` } from "`+path+"\"\n"+script)
	cmd.Env = append(os.Environ(), "TZ=UTC", "PATH="+filepath.Dir(r.m.Executable)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// program puts a shell script in the place of this program.
func (r *rig) program(script string) {
	r.write(r.m.Executable, "#!/bin/sh\n"+script)
	checktest.Check(r.T, os.Chmod(r.m.Executable, 0o700))
}

// The plugin for opencode reports the events that its kinds need. After a compaction each request has the reminder,
// until the agent writes its list.
func TestPluginOfOpencode(t *testing.T) {
	script := `
const client = { session: { promptAsync: async (prompt) => console.log(JSON.stringify(prompt)) } }
const p = await TodoMCP({ directory: "/w", client })
const on = (type, properties) => p.event({ event: { type, properties } })
const system = async () => { const output = { system: [] }; await p["experimental.chat.system.transform"]({ sessionID: "s" }, output); return output.system }
on("session.created", { info: { id: "s" } })
on("session.created", { info: { id: "sub", parentID: "s", agent: "general" } })
for (const type of ["busy", "busy", "idle", undefined]) on("session.status", { sessionID: "s", status: type && { type } })
on("session.status", { sessionID: "sub", status: { type: "busy" } })
on("permission.asked", { sessionID: "s", permission: "bash", patterns: ["x"], metadata: { command: "npm publish" } })
on("permission.replied", { sessionID: "s" })
on("question.asked", { sessionID: "s", questions: [{ question: "Which store?" }] })
on("question.rejected", { sessionID: "s" })
on("session.status", { sessionID: "s", status: { type: "retry", attempt: 1, message: "Overloaded", next: 0 } })
on("session.status", { sessionID: "s", status: { type: "busy" } })
on("session.error", { sessionID: "s", error: { name: "UnknownError", data: { message: "Refused" } } })
on("session.idle", { sessionID: "s" })
on("session.error", { sessionID: "s", error: { name: "MessageAbortedError" } })
on("session.idle", { sessionID: "sub" })
on("session.idle", { sessionID: "s" })
on("session.compacted", { sessionID: "s" })
console.log(JSON.stringify([await system(), await system()]))
on("todo.updated", { sessionID: "s", todos: [] })
console.log(JSON.stringify(await system()))
on("session.deleted", { info: { id: "s" } })`
	for kinds, want := range map[string]string{
		"all":    `{"path":{"id":"s"},"body":{"parts":[{"type":"text","text":"Your list"}]}} {"path":{"id":"s"},"body":{"parts":[{"type":"text","text":"Your list"}]}} [["Your list"],["Your list"]] [] SessionStart:: PermissionDenied:: PermissionRequest:npm publish: PermissionDenied:: PermissionRequest:Which store?: PermissionDenied:: PermissionRequest:Overloaded; next try 00:00: PermissionDenied:: StopFailure:Refused: SubagentStop::sub Stop:: SessionStart:: PostToolUse:: SessionEnd::`,
		"mirror": `[[],[]] [] SubagentStop::sub PostToolUse:: SessionEnd::`,
		"remind": `[["Your list"],["Your list"]] [] SessionStart::`,
	} {
		r := newRig(t, "opencode")
		chosen := checktest.Must(install.ParseKinds(kinds))(t)
		r.install(install.Options{Hooks: chosen})
		log := filepath.Join(r.m.Home, "log")
		r.program("cat >> " + log + "; echo >> " + log + "\necho '{\"hookSpecificOutput\":{\"additionalContext\":\"Your list\"}}'")
		got := strings.Fields(r.node(r.hooksFile(), "TodoMCP", script))
		words := strings.Join(got, " ")
		for line := range strings.Lines(r.read(log)) {
			var e struct {
				Name  string `json:"hook_event_name"`
				Input struct {
					Command   string
					Questions []struct{ Question string }
				} `json:"tool_input"`
				Agent   string `json:"agent_id"`
				Failure string `json:"error_message"`
			}
			checktest.Check(t, json.Unmarshal([]byte(line), &e))
			for _, q := range e.Input.Questions {
				e.Input.Command = q.Question
			}
			words += " " + e.Name + ":" + e.Input.Command + e.Failure + ":" + e.Agent
		}
		checktest.Same(t, kinds, words, want)
	}
}

// The sidebar's lines are short and few, whatever a list contains, and a text in it cannot begin a new line. If the
// command fails, the sidebar is empty.
func TestSidebarOfOpencode(t *testing.T) {
	r := newRig(t, "opencode")
	r.install(install.Options{Hooks: install.Kinds()})
	plugin := filepath.Join(filepath.Dir(filepath.Dir(r.hooksFile())), "todo-mcp-sidebar.js")
	script := `
const slots = {}
await plugin.tui({ state: { path: { directory: "/" } }, lifecycle: { onDispose() {} }, event: { on() {} }, slots: { register: (s) => Object.assign(slots, s.slots) } })
const node = slots.sidebar_content({}, { session_id: "ses_1" })
let tries = 0
const look = () => (node.content || tries++ > 40 ? (console.log(node.content), process.exit()) : setTimeout(look, 50))
look()`
	items := `{"text":"a\u001b[2J\u202e\nb` + strings.Repeat(" long", 100) + `","status":"in_progress"}` + strings.Repeat(`,{"text":"next","status":"pending"}`, 40)
	for name, c := range map[string]struct{ program, first string }{
		"a list":       {`printf '%s' '` + strings.ReplaceAll(`{"title":"T","state":"working","asks":"run\nit?","items":[`+items+`]}`, `\`, `\`) + `'`, "T  0/41"},
		"left open":    {`printf '{"title":"T","state":"left open","items":[{"text":"a","status":"pending"}]}'`, ""},
		"no JSON":      {"echo {", ""},
		"no list":      {"exit 1", ""},
		"without end":  {"yes", ""},
		"another form": {`echo '{"items":{"length":1}}'`, ""},
	} {
		r.program(`[ "$*" = "show --json --chat ses_1" ] || exit 1` + "\n" + c.program)
		lines := strings.Split(strings.TrimSpace(r.node(plugin, "default as plugin", script)), "\n")
		if lines[0] != c.first || len(lines) > 16 || strings.ContainsAny(strings.Join(lines, ""), "\x1b\u202e") {
			t.Errorf("%s is drawn as %q", name, lines)
		}
		for _, line := range lines {
			if len([]rune(line)) > 110 {
				t.Errorf("%s: a line has %d characters", name, len(line))
			}
		}
	}
}
