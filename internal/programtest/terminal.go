//go:build unix

package programtest

import (
	"cmp"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// CtrlC and CtrlD are keys that a person may type.
const CtrlC, CtrlD = "\x03", "\x04"

// Terminal is a pseudo-terminal at which a person runs the program.
type Terminal struct {
	Env     []string // added to the variables of the tests
	Dir     string   // the working folder; a new one if it is empty
	Columns uint16   // 120 if it is 0
}

// Run runs the program until it ends, and returns its exit status and everything that it showed on the terminal. Steps
// alternate between a text that the program must show and a text that the person then types.
func (p Terminal) Run(t *testing.T, args []string, steps ...string) (status int, seen string) {
	t.Helper()
	path, err := exec.LookPath("todo-mcp")
	if err != nil {
		t.Fatal(err)
	}
	term, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	if err := pty.Setsize(term, &pty.Winsize{Rows: 24, Cols: cmp.Or(p.Columns, 120)}); err != nil {
		t.Fatal(err)
	}
	// On Ctrl-C the kernel signals the program and then empties the terminal's buffers, which may already hold the
	// program's answer. With noflsh it keeps them.
	noflsh := exec.Command("stty", "noflsh")
	noflsh.Stdin = tty
	if out, err := noflsh.CombinedOutput(); err != nil {
		t.Fatalf("stty: %v: %s", err, out)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = append(cmd.Environ(), p.Env...), cmp.Or(p.Dir, t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	limit := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	buf := make([]byte, 4096)
	for i, step := range append(steps, "") {
		if i%2 == 1 {
			if _, err := io.WriteString(term, step); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for i == len(steps) || !strings.Contains(seen, step) {
			n, err := term.Read(buf)
			if seen += string(buf[:n]); err != nil { // at the program's end
				break
			}
		}
		if !strings.Contains(seen, step) {
			t.Errorf("%q ends, or waits for ever, without %q", args, step)
		}
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(seen, "\r\n", "\n")
}
