//go:build wine

package windows_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// home returns the Linux path of the user's home folder under Wine.
func home() string {
	return filepath.Join(os.Getenv("WINEPREFIX"), "drive_c", "users", os.Getenv("USER"))
}

// run runs a command with a text on standard input and returns what it prints.
func run(t *testing.T, in string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Stdin, cmd.Dir = strings.NewReader(in), t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// program runs todo-mcp, built for Windows.
func program(t *testing.T, in string, args ...string) string {
	t.Helper()
	return run(t, in, append([]string{os.Getenv("TODO_PROGRAM")}, args...)...)
}

func expect(t *testing.T, printed string, texts ...string) {
	t.Helper()
	checktest.Has(t, "printed", printed, texts...)
}

// A list that an agent writes over stdio is stored in the user's home folder, and the commands show it. The list of a
// chat's folder is found with either kind of slash and either case of the drive letter.
func TestProgram(t *testing.T) {
	expect(t, program(t, "", "version"), "windows/amd64")
	expect(t, program(t, servertest.Initialize(1, "claude-code")+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
		servertest.Call(2, "TodoWrite", servertest.Todos("pending", "Write the lexer", "Ship"))+"\n"), "Todo list updated")
	checktest.Check(t, checktest.Err(os.Stat(filepath.Join(home(), "AppData", "Local", "todo-mcp", "todo.db"))))
	expect(t, program(t, "", "lists"), "Write the lexer +1  0/2")
	expect(t, program(t, "", "show"), "[ ] #1 Write the lexer", "[ ] #2 Ship")
	expect(t, program(t, "", "check"), "all as they were written")
	expect(t, program(t, "", "doctor", "--addr", "127.0.0.1:0"), `✓ store     C:\users\`, "Problems: 0, warnings: 0.")
	plan := servertest.Todos("pending", "Paint")
	event := strings.NewReplacer("PLAN", plan).Replace(`{"session_id":"s","cwd":"c:/work/hull","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":PLAN,"tool_response":{"oldTodos":[],"newTodos":[]}}`)
	program(t, event, "hook")
	expect(t, program(t, "", "show", "--folder", `C:\work\hull\below`), "[ ] #1 Paint")
}

// install keeps the line endings of the clients' files that it edits, and uninstall restores the files.
func TestInstall(t *testing.T) {
	before := map[string]string{
		".cursor/mcp.json":        "{\r\n  \"mcpServers\": {\r\n    \"linear\": {\r\n      \"url\": \"https://x\"\r\n    }\r\n  }\r\n}\r\n",
		".gemini/settings.json":   "{\r\n  // mine\r\n  \"theme\": \"dark\"\r\n}\r\n",
		".codex/config.toml":      "# mine\r\nmodel = \"x\"\r\n",
		".claude/settings.json":   "{\r\n  \"model\": \"x\"\r\n}\r\n",
		"AppData/Roaming/Zed/x":   "",
		".config/opencode/x.json": "",
	}
	for name, text := range before {
		path := filepath.Join(home(), name)
		checktest.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		checktest.Check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	left := func() map[string]string {
		t.Helper()
		found := map[string]string{}
		for name := range before {
			text := checktest.Must(os.ReadFile(filepath.Join(home(), name)))(t)
			found[name] = string(text)
		}
		return found
	}
	clients := []string{"cursor", "gemini", "codex", "claude-code", "zed", "opencode"}
	program(t, "", append([]string{"install", "--hooks", "--yes"}, clients...)...)
	for name, text := range left() {
		if strings.HasSuffix(name, "x") || strings.HasSuffix(name, "x.json") {
			continue
		}
		if !strings.Contains(text, "todo-mcp.exe") || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
			t.Errorf("%s: %q", name, text)
		}
	}
	expect(t, program(t, "", "doctor", "--addr", "127.0.0.1:0"), "✓ clients   Claude Code", "Zed", "Cursor", "opencode", "Problems: 0")
	program(t, "", append([]string{"uninstall", "--yes"}, clients...)...)
	checktest.Same(t, "(-before +after)", cmp.Diff(before, left()), "")
}

// cmd.exe, in which plugins run the hook, can run a program whose path has spaces.
func TestHookInCmd(t *testing.T) {
	folder := filepath.Join(os.Getenv("WINEPREFIX"), "drive_c", "Program Files", "todo mcp")
	checktest.Check(t, os.MkdirAll(folder, 0o755))
	checktest.Check(t, os.Link(os.Getenv("TODO_PROGRAM")+".exe", filepath.Join(folder, "todo-mcp.exe")))
	plugin := filepath.Join(home(), ".config", "opencode", "plugin", "todo-mcp.js")
	checktest.Check(t, os.MkdirAll(filepath.Join(home(), ".config", "opencode"), 0o755))
	program := []string{os.Getenv("WINE"), filepath.Join(folder, "todo-mcp.exe")}
	run(t, "", append(program, "install", "--hooks", "--yes", "opencode")...)
	written := checktest.Must(os.ReadFile(plugin))(t)
	const command = `"C:/Program Files/todo mcp/todo-mcp.exe" hook`
	expect(t, string(written), `"\"C:/Program Files/todo mcp/todo-mcp.exe\" hook"`)
	event := `{"session_id":"c","cwd":"C:\\work","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":` +
		servertest.Todos("pending", "Called by cmd") + `,"tool_response":{}}`
	batch := filepath.Join(t.TempDir(), "hook.bat") // Wine splits an argument with quotation marks into words
	checktest.Check(t, os.WriteFile(batch, []byte("@"+command+"\r\n"), 0o600))
	run(t, event, os.Getenv("WINE"), "cmd", "/c", batch)
	expect(t, run(t, "", append(program, "lists")...), "Called by cmd")
	run(t, "", append(program, "uninstall", "--yes", "opencode")...)
	checktest.Fails(t, "the plugin is left", checktest.Err(os.Stat(plugin)))
}

// A list's page of `serve` shows the items that an agent writes. An item ticked there is ticked in the list's Markdown.
func TestPanel(t *testing.T) {
	p := checktest.Must(programtest.Start(t, os.Getenv("TODO_PROGRAM"), t.TempDir(), nil, "serve", "--addr", "127.0.0.1:0", "--store", "memory"))(t)
	base := checktest.Must(p.URL())(t)
	write := servertest.Writer(t, base, "claude-code")
	write(servertest.Todos("pending", "One", "Two"))
	list := base + "/lists/" + servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, list)
	write(servertest.Todos("pending", "One", "Two", "Three"))
	servertest.Until(t, ctx, `document.querySelectorAll('#items [data-item]').length === 3`)
	servertest.Eval[bool](t, ctx, `document.querySelector('#i-2 .tick').click(), true`)
	servertest.Until(t, ctx, `document.querySelector('#i-2').matches('.completed')`)
	servertest.Until(t, ctx, `fetch('`+list+`.md').then((r) => r.text()).then((text) => { window.text = text }), window.text?.includes('- [x] Two')`)
}
