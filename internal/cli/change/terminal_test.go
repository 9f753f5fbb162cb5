//go:build unix

package change_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// delete --purge asks about each list, and Ctrl-C counts as no.
func TestPurgeOnATerminal(t *testing.T) {
	person := programtest.Terminal{Env: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	for _, list := range []string{"plan", "other"} {
		person.Run(t, []string{"TodoWrite", "--list", list, servertest.Todos("pending", "A")})
	}
	for _, no := range []string{programtest.CtrlC, "\n", "n\n", programtest.CtrlD} {
		status, seen := person.Run(t, []string{"delete", "--purge", "plan"},
			`Delete "plan" and its history for good? [y/N] `, no, "nothing was deleted")
		if status != 1 {
			t.Errorf("after %q it ends with status %d:\n%s", no, status, seen)
		}
	}
	status, seen := person.Run(t, []string{"delete", "--purge", "plan", "other"}, `Delete "plan"`, "y\n",
		`Deleted for good "plan"`, "", `Delete "other"`, "y\n", `Deleted for good "other"`)
	if status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, seen)
	}
}

// Without $EDITOR, edit runs a usual editor that is installed.
func TestEditWithoutEditor(t *testing.T) {
	bin, state := t.TempDir(), "XDG_STATE_HOME="+t.TempDir()
	const script = "#!/bin/sh\necho '- [ ] From nano' >> \"$1\"\n"
	checktest.Check(t, os.WriteFile(filepath.Join(bin, "nano"), []byte(script), 0o700))
	programtest.Terminal{Env: []string{state}}.Run(t, []string{"TodoWrite", "--list", "plan", servertest.Todos("pending", "A")})
	for path, want := range map[string]string{bin: "From nano", t.TempDir(): "set EDITOR"} {
		person := programtest.Terminal{Env: []string{state, "PATH=" + path, "EDITOR=", "VISUAL="}}
		if status, seen := person.Run(t, []string{"edit", "plan"}, want); (status == 0) != (path == bin) {
			t.Errorf("it ends with status %d:\n%s", status, seen)
		}
	}
}

// C5: on a terminal TodoWrite draws the list as a box of the terminal's width,
// without colours if NO_COLOR is set.
func TestTodoWriteOnATerminal(t *testing.T) {
	const todos = `{"todos":[{"content":"Analyze","activeForm":"Analyzing","status":"completed"},{"content":"写测试","activeForm":"正在写测试","status":"in_progress"},{"content":"Run tests","activeForm":"Running tests","status":"pending"}]}`
	draw := func(noColor string) string {
		person := programtest.Terminal{Env: []string{"XDG_STATE_HOME=" + t.TempDir(), "TERM=xterm", "NO_COLOR=" + noColor}, Columns: 32}
		_, seen := person.Run(t, []string{"TodoWrite", todos})
		return seen
	}
	const want = `┌─ Tasks ──────────────────────┐
│ ✓ Analyze                    │
│ ● 正在写测试...              │
│ ○ Run tests                  │
└──────────────────────────────┘
Todo list updated: 1 completed, 1 in_progress, 1 pending
`
	checktest.Same(t, "drew", draw("1"), want)
	checktest.Has(t, "no yellow in", draw(""), "\x1b[33m")
}
