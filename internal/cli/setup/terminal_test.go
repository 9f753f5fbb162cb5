//go:build unix

package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// install in a terminal asks about each client found. The answer "all" also counts for the clients after it. An answer
// other than yes or all changes nothing.
func TestInstallOnATerminal(t *testing.T) {
	home := t.TempDir()
	files := []string{".cursor/mcp.json", ".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json"}
	for _, file := range files {
		checktest.Check(t, os.Mkdir(filepath.Join(home, filepath.Dir(file)), 0o700))
	}
	// expect runs a command and checks its exit status and which of the files exist afterwards.
	expect := func(command string, want int, changed string, steps ...string) (seen string) {
		t.Helper()
		status, seen := programtest.Terminal{Env: []string{"HOME=" + home}}.Run(t, strings.Fields(command), steps...)
		var got []string
		for _, file := range files {
			if _, err := os.Stat(filepath.Join(home, file)); err == nil {
				got = append(got, file)
			}
		}
		if status != want || strings.Join(got, " ") != changed {
			t.Errorf("%s ends with status %d and leaves %q, want %d and %q:\n%s", command, status, got, want, changed, seen)
		}
		return seen
	}
	for _, no := range []string{programtest.CtrlC, "\n", "n\n", programtest.CtrlD, "yess\n"} {
		expect("install cursor", 1, "", "remind   the agent is told", "", "Add them to Cursor? [y/N] ", "n\n",
			"Change ~/.cursor/mcp.json? [y]es, [n]o, [a]ll that follow, too ", no, "nothing was changed")
	}
	seen := expect("install", 1, "", "Let Gemini CLI, Qwen Code run them without asking?", "\n", "Add them to Cursor, Codex, Gemini CLI, Qwen Code?", "n\n", "Change ~/.cursor/mcp.json?", programtest.CtrlC, "nothing was changed")
	if strings.Contains(seen, "config.toml?") {
		t.Errorf("it asks on after Ctrl-C:\n%s", seen)
	}
	seen = expect("install", 0, ".codex/config.toml .gemini/settings.json .qwen/settings.json",
		"Found Cursor, Codex, Gemini CLI, Qwen Code.", "", "run them without asking?", "y\n",
		install.HookCost, "", "Add them to", "y\n", "hook --host cursor at postToolUse, sessionEnd", "",
		"Change ~/.cursor/mcp.json and ~/.cursor/hooks.json?", "n\n", "Change ~/.codex/config.toml and ~/.codex/hooks.json?", "Y\n",
		"Codex: changed.", "", "Change ~/.gemini/settings.json?", "all\n", "Qwen Code: changed.", "", "Next, give an agent", "")
	for _, file := range files[2:] {
		if text, err := os.ReadFile(filepath.Join(home, file)); !strings.Contains(string(text), `"trust": true`) {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
	if strings.Contains(seen, "Change ~/.qwen") {
		t.Errorf("it asks after all:\n%s", seen)
	}
	expect("uninstall qwen", 0, ".codex/config.toml .gemini/settings.json",
		"Change ~/.qwen/settings.json?", "y\n", "Qwen Code: changed.")
	// BAD-INPUT 167: the output names a copy that differs from the file.
	path := filepath.Join(home, files[0])
	for file, text := range map[string]string{path: `{"b": 2, "mcpServers": {"todo": {"command": "todo-mcp"}}}`, path + ".todo-mcp.bak": `{"a": 1}`} {
		checktest.Check(t, os.WriteFile(file, []byte(text), 0o600))
	}
	expect("uninstall cursor", 0, ".cursor/mcp.json .codex/config.toml .gemini/settings.json", "Change ~/.cursor/mcp.json?", "y\n",
		"is in ~/.cursor/mcp.json.todo-mcp.bak")
}
