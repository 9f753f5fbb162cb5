//go:build unix

package change_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/cli/clitest"
)

// delete --purge asks first, and Ctrl-C is a no.
func TestPurgeOnATerminal(t *testing.T) {
	env := []string{"XDG_STATE_HOME=" + t.TempDir()}
	clitest.OnTerminal(t, 80, env, "TodoWrite", "--list", "plan", `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`)
	for _, no := range []string{clitest.CtrlC, "\n", "n\n", clitest.CtrlD} {
		s := clitest.StartSession(t, env, "delete", "--purge", "plan")
		s.Expect(`Delete "plan" and its history for good? [y/N] `)
		s.Types(no)
		s.Expect("nothing was deleted")
		if status := s.Ends(); status != 1 {
			t.Errorf("after %q it ends with status %d", no, status)
		}
	}
	// Of several each is asked for.
	clitest.OnTerminal(t, 80, env, "TodoWrite", "--list", "other", `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`)
	s := clitest.StartSession(t, env, "delete", "--purge", "plan", "other")
	s.Expect(`Delete "plan"`)
	s.Types("y\n")
	s.Expect(`Deleted for good "plan"`)
	s.Expect(`Delete "other"`)
	s.Types("y\n")
	s.Expect(`Deleted for good "other"`)
	if status := s.Ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.Seen)
	}
}

// Without $EDITOR, edit takes one of the usual editors that is there.
func TestEditWithoutEditor(t *testing.T) {
	bin, state := t.TempDir(), "XDG_STATE_HOME="+t.TempDir()
	const script = "#!/bin/sh\necho '- [ ] From nano' >> \"$1\"\n"
	if err := os.WriteFile(filepath.Join(bin, "nano"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.OnTerminal(t, 80, []string{state}, "TodoWrite", "--list", "plan", `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`)
	s := clitest.StartSession(t, []string{state, "PATH=" + bin, "EDITOR=", "VISUAL="}, "edit", "plan")
	s.Expect("From nano")
	if status := s.Ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.Seen)
	}
	s = clitest.StartSession(t, []string{state, "PATH=" + t.TempDir(), "EDITOR=", "VISUAL="}, "edit", "plan")
	s.Expect("set EDITOR")
	s.Ends()
}

// C5: on a terminal TodoWrite draws the list as a box of the terminal's width,
// without colours if NO_COLOR is set.
func TestTodoWriteOnATerminal(t *testing.T) {
	const todos = `{"todos":[{"content":"Analyze","activeForm":"Analyzing","status":"completed"},{"content":"写测试","activeForm":"正在写测试","status":"in_progress"},{"content":"Run tests","activeForm":"Running tests","status":"pending"}]}`
	env := []string{"XDG_STATE_HOME=" + t.TempDir(), "TERM=xterm", "NO_COLOR=1"}
	got := clitest.OnTerminal(t, 32, env, "TodoWrite", todos)
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
	coloured := clitest.OnTerminal(t, 32, []string{"XDG_STATE_HOME=" + t.TempDir(), "TERM=xterm", "NO_COLOR="}, "TodoWrite", todos)
	if !strings.Contains(coloured, "\x1b[33m") {
		t.Errorf("no yellow in %q", coloured)
	}
}
