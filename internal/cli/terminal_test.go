//go:build unix

package cli_test

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// onTerminal runs the program on a new pseudo-terminal with so many columns and
// returns everything it wrote.
func onTerminal(t *testing.T, columns uint16, env []string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("todo-mcp")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.Dir = t.TempDir()
	term, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	drawn, _ := io.ReadAll(term) // reading a pty returns an error when the program ends
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, drawn)
	}
	return strings.ReplaceAll(string(drawn), "\r\n", "\n")
}

// C5: on a terminal TodoWrite draws the list as a box of the terminal's width,
// without colours if NO_COLOR is set.
func TestTodoWriteOnATerminal(t *testing.T) {
	const todos = `{"todos":[{"content":"Analyze","activeForm":"Analyzing","status":"completed"},{"content":"写测试","activeForm":"正在写测试","status":"in_progress"},{"content":"Run tests","activeForm":"Running tests","status":"pending"}]}`
	env := []string{"XDG_STATE_HOME=" + t.TempDir(), "TERM=xterm", "NO_COLOR=1"}
	got := onTerminal(t, 32, env, "TodoWrite", todos)
	const want = `┌─ Tasks ──────────────────────┐
│ ✓ Analyze                    │
│ ● 正在写测试...              │
│ ○ Run tests                  │
└──────────────────────────────┘
Todo list updated: 1 completed, 1 in_progress, 1 pending
`
	if got != want {
		t.Errorf("drew\n%s\nwant\n%s", got, want)
	}
	coloured := onTerminal(t, 32, []string{"XDG_STATE_HOME=" + t.TempDir(), "TERM=xterm", "NO_COLOR="}, "TodoWrite", todos)
	if !strings.Contains(coloured, "\x1b[33m") {
		t.Errorf("no yellow in %q", coloured)
	}
}
