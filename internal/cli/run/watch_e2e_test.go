//go:build e2e

package run_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/cli"
	"todo-mcp/internal/cli/clitest"
)

// terminal is a tmux server, separate from any that the user runs, with one
// window.
type terminal struct {
	t       *testing.T
	sockets string // the folder of its socket
}

// newTerminal starts a shell in a detached tmux. The shell's todo-mcp is a
// symbolic link to the test binary, which runs the program when called by that
// name (see TestMain).
func newTerminal(t *testing.T, db string) terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("this test needs tmux: apt-get install tmux, or `make deps`")
	}
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "todo-mcp")); err != nil {
		t.Fatal(err)
	}
	term := terminal{t, t.TempDir()}
	term.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
		"env", "PATH="+bin+":"+os.Getenv("PATH"), "TODO_STORE=sqlite:"+db, "HOME="+bin, "GORACE=atexit_sleep_ms=0", "PS1=prompt> ", "ENV=", "sh")
	t.Cleanup(func() { _ = term.command("kill-server").Run() })
	term.waitForText("prompt>")
	return term
}

// command returns a tmux command for this terminal's server.
func (t terminal) command(args ...string) *exec.Cmd {
	c := exec.Command("tmux", append([]string{"-L", "w"}, args...)...)
	c.Env = append(os.Environ(), "TMUX_TMPDIR="+t.sockets, "TMUX=")
	return c
}

func (t terminal) tmux(args ...string) string {
	t.t.Helper()
	out, err := t.command(args...).CombinedOutput()
	if err != nil {
		t.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (t terminal) press(keys ...string) {
	t.t.Helper()
	t.tmux(append([]string{"send-keys"}, keys...)...)
}

func (t terminal) run(line string) { t.t.Helper(); t.press(line, "Enter") }

func (t terminal) screen() string { t.t.Helper(); return t.tmux("capture-pane", "-p") }

// waitUntil polls the screen until ok accepts it and returns it; after 10 s it
// fails the test.
func (t terminal) waitUntil(what string, ok func(screen string) bool) string {
	t.t.Helper()
	screen := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if screen = t.screen(); ok(screen) {
			return screen
		}
	}
	t.t.Fatalf("%s: not within 10 s:\n%s", what, screen)
	return ""
}

// waitForText waits until the screen contains text and returns the screen.
func (t terminal) waitForText(text string) string {
	t.t.Helper()
	return t.waitUntil("shows "+strconv.Quote(text), func(s string) bool { return strings.Contains(s, text) })
}

// waitForRestored waits until the viewer has ended and checks that it restored
// the terminal: the screen, which contained before, the cursor and the line
// mode.
func (t terminal) waitForRestored(before string) {
	t.t.Helper()
	t.waitUntil("the screen is restored", func(s string) bool {
		return strings.Contains(s, before) && !strings.Contains(s, "live")
	})
	const state = "#{alternate_on} #{cursor_flag} #{wrap_flag}"
	t.waitUntil("the cursor is back", func(string) bool {
		return strings.TrimSpace(t.tmux("display-message", "-p", state)) == "0 1 1"
	})
	t.run("stty -a | tr ' ' '\\n' | grep -c -x -e icanon -e echo; echo mode t''old")
	t.waitForText("2\nmode told\n")
}

// write writes a list with the TodoWrite command; the first item is in
// progress.
func write(t *testing.T, db, list string, texts ...string) {
	t.Helper()
	var todos []string
	for i, text := range texts {
		status := "pending"
		if i == 0 {
			status = "in_progress"
		}
		todos = append(todos, `{"content":`+strconv.Quote(text)+`,"activeForm":`+strconv.Quote(text)+`,"status":"`+status+`"}`)
	}
	writeJSON(t, db, list, todos...)
}

// writeJSON writes a list whose items are given as TodoWrite takes them.
func writeJSON(t *testing.T, db, list string, todos ...string) {
	t.Helper()
	err := cli.Run(t.Context(), []string{"todo-mcp", "TodoWrite", "--list", list, `{"todos":[` + strings.Join(todos, ",") + `]}`},
		cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(name string) string {
			return map[string]string{"TODO_STORE": "sqlite:" + db}[name]
		}})
	if err != nil {
		t.Fatal(err)
	}
}

// watch, in a real terminal, shows what another process writes, follows a resize
// from one pane to two, and shows earlier revisions.
func TestWatchTerminal(t *testing.T) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "Write tests", "Ship")
	term := newTerminal(t, db)
	term.run("echo before; todo-mcp watch")
	screen := term.waitForText("◐ Write tests")
	if !strings.Contains(screen, "0/2") || !strings.Contains(screen, "● live") || strings.Contains(screen, "before") {
		t.Errorf("the first screen is:\n%s", screen)
	}
	write(t, db, "release", "Tell everybody", "Ship 发布 🚀")
	term.waitForText("◐ Tell everybody")
	term.tmux("resize-window", "-x", "110", "-y", "12")
	term.waitUntil("has two panes", func(s string) bool {
		return strings.Contains(s, "╭─ Lists ─") && strings.Contains(s, "╭─ release ─") && strings.Contains(s, "││ ○ Ship 发布 🚀")
	})
	term.press("h")
	term.waitForText("revision 2 of 2")
	term.press("[")
	term.waitForText("revision 1 of 2")
	term.press("Escape", "?")
	term.waitForText("╭─ Keys ─")
	term.press("Escape")
	term.waitUntil("the keys are closed", func(s string) bool { return !strings.Contains(s, "╭─ Keys ─") })
	term.press("C-z")
	term.waitForText("before")
	term.run("fg")
	term.waitForText("╭─ Lists ─")
	term.press("q")
	term.waitForRestored("before")
}

// A person ticks, rewords, adds, renames, undoes and archives in the terminal;
// what the agent has not seen is marked, and its next write is merged.
func TestWatchEdits(t *testing.T) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "Write tests", "Ship")
	term := newTerminal(t, db)
	term.run("echo before; todo-mcp watch")
	term.waitForText("◐ Write tests")
	term.press("x")
	term.waitForText("1/2")
	term.press("u")
	term.waitUntil("is undone", func(s string) bool { return strings.Contains(s, "Undone") && strings.Contains(s, "0/2") })
	term.press("Enter", "Down", "e")
	term.waitForText("Reword: Ship")
	term.press(" it", "Enter")
	term.waitUntil("is reworded and marked", func(s string) bool {
		return strings.Contains(s, "○ Ship it") && strings.Contains(s, "waits to be seen")
	})
	term.press("n", "Celebrate 🎉", "Enter")
	term.waitForText("○ Celebrate 🎉")
	term.press("b", "no key", "Enter")
	term.waitForText("no key")
	write(t, db, "release", "Write tests", "Ship")
	term.waitUntil("the agent's write is merged, and it has seen all", func(s string) bool {
		return strings.Contains(s, "○ Celebrate") && strings.Contains(s, "Ship it") && !strings.Contains(s, "waits to be seen")
	})
	term.press("Escape", "r")
	term.waitForText("Title: release")
	term.press("C-u", "The release", "Enter")
	term.waitUntil("has its title", func(s string) bool { return strings.Contains(s, "▌◐ The release") })
	term.press("a")
	term.waitForText("Nothing is open")
	term.press("u")
	term.waitForText("▌◐ The release")
	term.press("D", "y")
	term.waitForText("No lists yet")
	term.press("u")
	term.waitForText("▌◐ The release")
	term.press("/", "celeb")
	term.waitForText("/ celeb")
	term.waitForText("The release")
	term.press("xyz")
	term.waitForText("Nothing matches “celebxyz”")
	term.press("Escape", "q")
	term.waitForRestored("before")
}

// SIGTERM, and SIGHUP as of a closed session, end watch with exit status 0 and
// restore the terminal.
func TestWatchTerminated(t *testing.T) {
	for _, signal := range []string{"-TERM", "-HUP"} {
		t.Run(signal, func(t *testing.T) { watchTerminated(t, signal) })
	}
}

func watchTerminated(t *testing.T, signal string) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "Write tests")
	term := newTerminal(t, db)
	term.run("echo before; (todo-mcp watch release; echo ended with $?) ")
	term.waitForText("◐ Write tests")
	pid := strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_pid}"))
	if out, err := exec.Command("pkill", signal, "-s", pid, "todo-mcp").CombinedOutput(); err != nil {
		t.Fatalf("pkill: %v: %s", err, out)
	}
	term.waitForText("ended with 0")
	term.waitForRestored("before")
}

// A list's texts cannot control a real terminal (BAD-INPUT 37, 38); Ctrl-C ends
// watch and restores the terminal.
func TestWatchHostile(t *testing.T) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "wipe \u202e me", "c1 \u200b end", "tail")
	term := newTerminal(t, db)
	term.run("echo before; todo-mcp watch")
	if s := term.waitForText("tail"); !strings.Contains(s, `wipe \u202e me`) || !strings.Contains(s, `c1 \u200b end`) {
		t.Errorf("hostile text is shown as:\n%s", s)
	}
	term.press("C-c")
	term.waitForRestored("before")
}

// `todo-mcp watch | head` ends when head ends, and on a dumb terminal watch
// prints plain lines.
func TestWatchPlain(t *testing.T) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "Write tests", "Ship")
	term := newTerminal(t, db)
	term.run("todo-mcp watch | head -n 1; echo piped")
	term.waitUntil("ends with head", func(s string) bool {
		return strings.Contains(s, "release  0/2  working: Write tests\npiped\n")
	})
	term.run("clear; echo cle''ared")
	term.waitUntil("cleared", func(s string) bool { return strings.Contains(s, "cleared\n") && !strings.Contains(s, "piped") })
	term.run("TERM=dumb todo-mcp watch release")
	if s := term.waitForText("release  0/2"); strings.Contains(s, "live") {
		t.Errorf("a dumb terminal shows\n%s", s)
	}
	term.press("C-c")
	term.waitUntil("back at the prompt", func(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), "prompt>") })
	term.run("echo aft''er")
	term.waitForText("after\n")
}

// watch --notify rings the terminal's bell, also for a list that began and ended
// unseen.
func TestWatchNotify(t *testing.T) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "Write tests")
	term := newTerminal(t, db)
	term.tmux("set-window-option", "-g", "monitor-bell", "on")
	term.tmux("new-window", "-d") // the bell of a window in the background stays marked
	term.run("todo-mcp watch --notify")
	term.waitForText("◐ Write tests")
	term.tmux("select-window", "-t", ":1")
	bell := func() string {
		return strings.TrimSpace(term.tmux("display-message", "-p", "-t", ":0", "#{window_bell_flag}"))
	}
	if bell() != "0" {
		t.Fatal("it has rung already")
	}
	writeJSON(t, db, "other", `{"content":"Begun and ended","activeForm":"x","status":"completed"}`)
	for end := time.Now().Add(10 * time.Second); bell() != "1"; {
		if time.Now().After(end) {
			t.Fatal("it did not ring within 10 s")
		}
	}
}

// watch --server reconnects to a server that was stopped and started again, and
// shows what was written in between.
func TestWatchServer(t *testing.T) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "Write tests")
	s := clitest.Serve(t, "--store", "sqlite:"+db)
	term := newTerminal(t, db)
	term.run("todo-mcp watch --server " + s.URL)
	term.waitForText("◐ Write tests")
	s.Stop()
	<-s.Done
	term.waitForText("○ not live")
	write(t, db, "release", "Written meanwhile")
	again := clitest.Serve(t, "--store", "sqlite:"+db, "--addr", strings.TrimPrefix(s.URL, "http://"))
	if screen := term.waitForText("◐ Written meanwhile"); !strings.Contains(screen, "● live") {
		t.Errorf("after the reconnection:\n%s", screen)
	}
	write(t, db, "release", "Live again")
	term.waitForText("◐ Live again")
	term.press("x")
	term.waitForText("1/1")
	term.press("q")
	again.Stop()
}

// Over --server a person does all that can be done on this machine, and has it
// back: rename, archive, delete, the removal of an item and a restore.
func TestWatchServerEdits(t *testing.T) {
	db := filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "Write tests", "Ship")
	s := clitest.Serve(t, "--store", "sqlite:"+db)
	term := newTerminal(t, db)
	term.tmux("resize-window", "-x", "110", "-y", "40")
	term.run("todo-mcp watch --server " + s.URL)
	term.waitForText("╭─ release ─")
	undone := func(text string) {
		t.Helper()
		term.waitForText("u undo") // the list may change before the edit is answered
		term.press("u")
		term.waitUntil("is undone: "+text, func(s string) bool { return strings.Contains(s, "Undone") && strings.Contains(s, text) })
	}
	term.press("?")
	if screen := term.waitForText("rename the list"); strings.Contains(screen, "Not over") {
		t.Errorf("the keys over --server:\n%s", screen)
	}
	term.press("Escape", "r")
	term.waitForText("Title: release")
	term.press("C-u", "The release", "Enter")
	term.waitForText("╭─ The release ─")
	undone("╭─ release ─")
	term.press("a")
	term.waitForText("Nothing is open")
	undone("╭─ release ─")
	term.press("D", "y")
	term.waitForText("No lists yet")
	undone("╭─ release ─")
	term.press("Enter", "End", "d")
	term.waitUntil("Ship is removed", func(s string) bool { return strings.Contains(s, "Removed “Ship”") && strings.Contains(s, "0/1") })
	undone("○ Ship")
	write(t, db, "release", "Write tests", "Ship", "Celebrate")
	term.waitForText("○ Celebrate")
	term.press("h")
	term.waitForText("revision 10 of 10")
	term.press("Home")
	term.waitForText("revision 1 of 10")
	term.press("R", "y")
	term.waitForText("Restored revision 1 as a new one")
	term.press("Escape")
	term.waitUntil("Celebrate is gone", func(s string) bool { return strings.Contains(s, "0/2") && !strings.Contains(s, "Celebrate") })
	undone("○ Celebrate")
	term.press("q")
	s.Stop()
}

// Wrong arguments are reported before watch writes anything.
func TestWatchMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		"one list at a time":         {"a", "b"},
		"must be a URL":              {"--server", "localhost"},
		"seen by their own process":  {"--store", "memory"},
		"must be printable ASCII":    {"--server", "http://x", "--token", "a b"},
		"there is no flag --nothing": {"--nothing"},
	} {
		var out bytes.Buffer
		err := cli.Run(context.Background(), append([]string{"todo-mcp", "watch"}, args...),
			cli.Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }})
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%q: %v, want %q; wrote %q", args, err, want, out.String())
		}
	}
}
