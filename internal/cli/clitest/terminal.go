//go:build unix

package clitest

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// OnTerminal runs the program on a new pseudo-terminal with so many columns and
// returns everything it wrote.
func OnTerminal(t *testing.T, columns uint16, env []string, args ...string) string {
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

// Session is a program on a pseudo-terminal, with a person at it.
type Session struct {
	t    *testing.T
	cmd  *exec.Cmd
	term *os.File
	read chan string // what the program wrote; closed at its end
	Seen string
}

func StartSession(t *testing.T, env []string, args ...string) *Session {
	t.Helper()
	path, err := exec.LookPath("todo-mcp")
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{t: t, cmd: exec.Command(path, args...), read: make(chan string, 1000)}
	s.cmd.Env = append(s.cmd.Environ(), env...)
	s.cmd.Dir = t.TempDir()
	term, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { term.Close() })
	defer tty.Close()
	if err := pty.Setsize(term, &pty.Winsize{Rows: 24, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	// Of Ctrl-C the kernel first tells the program and then throws away what stands in
	// the terminal, in which the program's answer may be already.
	noflsh := exec.Command("stty", "noflsh")
	noflsh.Stdin = tty
	if out, err := noflsh.CombinedOutput(); err != nil {
		t.Fatalf("stty: %v: %s", err, out)
	}
	s.term, s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = term, tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.read)
		buf := make([]byte, 4096)
		for {
			n, err := s.term.Read(buf)
			if err != nil { // at the program's end
				return
			}
			s.read <- string(buf[:n])
		}
	}()
	return s
}

// Expect waits until the program has written a text.
func (s *Session) Expect(text string) {
	s.t.Helper()
	for !strings.Contains(s.Seen, text) {
		select {
		case more, open := <-s.read:
			if !open {
				s.t.Fatalf("the program ended without %q:\n%s", text, s.Seen)
			}
			s.Seen += more
		case <-time.After(20 * time.Second):
			s.t.Fatalf("the program does not write %q:\n%s", text, s.Seen)
		}
	}
}

func (s *Session) Types(keys string) {
	s.t.Helper()
	if _, err := s.term.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// Ends waits for the program's end and returns its exit status.
func (s *Session) Ends() int {
	s.t.Helper()
	for more := range s.read {
		s.Seen += more
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

const CtrlC, CtrlD = "\x03", "\x04"
