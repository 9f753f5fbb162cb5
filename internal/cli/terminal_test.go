//go:build unix

package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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

// session is a program on a pseudo-terminal, with a person at it.
type session struct {
	t    *testing.T
	cmd  *exec.Cmd
	term *os.File
	read chan string // what the program wrote; closed at its end
	seen string
}

func startSession(t *testing.T, env []string, args ...string) *session {
	t.Helper()
	path, err := exec.LookPath("todo-mcp")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, cmd: exec.Command(path, args...), read: make(chan string, 1000)}
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

// expect waits until the program has written a text.
func (s *session) expect(text string) {
	s.t.Helper()
	for !strings.Contains(s.seen, text) {
		select {
		case more, open := <-s.read:
			if !open {
				s.t.Fatalf("the program ended without %q:\n%s", text, s.seen)
			}
			s.seen += more
		case <-time.After(20 * time.Second):
			s.t.Fatalf("the program does not write %q:\n%s", text, s.seen)
		}
	}
}

func (s *session) types(keys string) {
	s.t.Helper()
	if _, err := s.term.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the program's end and returns its exit status.
func (s *session) ends() int {
	s.t.Helper()
	for more := range s.read {
		s.seen += more
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

const ctrlC, ctrlD = "\x03", "\x04"

// import in a terminal says what it waits for, and ends on Ctrl-C as on the end of
// what is pasted.
func TestImportOnATerminal(t *testing.T) {
	env := []string{"XDG_STATE_HOME=" + t.TempDir()}
	s := startSession(t, env, "import")
	s.expect("Paste what `todo-mcp export` wrote")
	s.expect("Ctrl-C stops")
	s.types(ctrlC)
	s.expect("stopped; nothing was imported")
	if status := s.ends(); status != 1 {
		t.Errorf("it ends with status %d", status)
	}
	s = startSession(t, env, "import", "--format", "markdown", "--list", "pasted")
	s.expect("lines such as `- [ ] Write tests`")
	s.types("- [ ] Buy milk\n" + ctrlD)
	s.expect("Buy milk")
	if status := s.ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.seen)
	}
}

// delete --purge asks first, and Ctrl-C is a no.
func TestPurgeOnATerminal(t *testing.T) {
	env := []string{"XDG_STATE_HOME=" + t.TempDir()}
	onTerminal(t, 80, env, "TodoWrite", "--list", "plan", `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`)
	for _, no := range []string{ctrlC, "\n", "n\n", ctrlD} {
		s := startSession(t, env, "delete", "--purge", "plan")
		s.expect(`Delete "plan" and its history for good? [y/N] `)
		s.types(no)
		s.expect("nothing was deleted")
		if status := s.ends(); status != 1 {
			t.Errorf("after %q it ends with status %d", no, status)
		}
	}
	// Of several each is asked for.
	onTerminal(t, 80, env, "TodoWrite", "--list", "other", `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`)
	s := startSession(t, env, "delete", "--purge", "plan", "other")
	s.expect(`Delete "plan"`)
	s.types("y\n")
	s.expect(`Deleted for good "plan"`)
	s.expect(`Delete "other"`)
	s.types("y\n")
	s.expect(`Deleted for good "other"`)
	if status := s.ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.seen)
	}
}

// install on a terminal asks for each client found; "all" is for those that follow, and
// what is not a yes changes nothing.
func TestInstallOnATerminal(t *testing.T) {
	home := t.TempDir()
	env := []string{"HOME=" + home}
	for _, client := range []string{".cursor", ".codex", ".gemini", ".qwen"} {
		if err := os.Mkdir(filepath.Join(home, client), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	changed := func(want ...string) {
		t.Helper()
		var got []string
		for _, name := range []string{".cursor/mcp.json", ".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json"} {
			if _, err := os.Stat(filepath.Join(home, name)); err == nil {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("changed are %q, want %q", got, want)
		}
	}
	for _, no := range []string{ctrlC, "\n", "n\n", ctrlD, "yess\n"} {
		s := startSession(t, env, "install", "cursor")
		s.expect("Change ~/.cursor/mcp.json? [y]es, [n]o, [a]ll ")
		s.types(no)
		s.expect("nothing was changed")
		if status := s.ends(); status != 1 {
			t.Errorf("after %q it ends with status %d", no, status)
		}
		changed()
	}
	s := startSession(t, env, "install")
	s.expect("Change ~/.cursor/mcp.json?")
	s.types(ctrlC)
	s.expect("nothing was changed")
	if status := s.ends(); status != 1 || strings.Contains(s.seen, "config.toml?") {
		t.Errorf("it ends with status %d:\n%s", status, s.seen)
	}
	changed()
	s = startSession(t, env, "install")
	s.expect("Found Cursor, Codex, Gemini CLI, Qwen Code.")
	s.expect("Change ~/.cursor/mcp.json?")
	s.types("n\n")
	s.expect("Change ~/.codex/config.toml?")
	s.types("Y\n")
	s.expect("Codex: changed.")
	s.expect("Change ~/.gemini/settings.json?")
	s.types("all\n")
	s.expect("Qwen Code: changed.")
	if status := s.ends(); status != 0 || strings.Contains(s.seen, "Change ~/.qwen") {
		t.Errorf("it ends with status %d:\n%s", status, s.seen)
	}
	changed(".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json")
	s = startSession(t, env, "uninstall", "qwen")
	s.expect("Change ~/.qwen/settings.json?")
	s.types("y\n")
	s.expect("Qwen Code: changed.")
	if status := s.ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.seen)
	}
}

// Without $EDITOR, edit takes one of the usual editors that is there.
func TestEditWithoutEditor(t *testing.T) {
	bin, state := t.TempDir(), "XDG_STATE_HOME="+t.TempDir()
	const script = "#!/bin/sh\necho '- [ ] From nano' >> \"$1\"\n"
	if err := os.WriteFile(filepath.Join(bin, "nano"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	onTerminal(t, 80, []string{state}, "TodoWrite", "--list", "plan", `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`)
	s := startSession(t, []string{state, "PATH=" + bin, "EDITOR=", "VISUAL="}, "edit", "plan")
	s.expect("From nano")
	if status := s.ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.seen)
	}
	s = startSession(t, []string{state, "PATH=" + t.TempDir(), "EDITOR=", "VISUAL="}, "edit", "plan")
	s.expect("set EDITOR")
	s.ends()
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
