//go:build e2e

package run_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// terminal is a tmux server, separate from any that the user runs, with one window.
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
	checktest.Check(t, os.Symlink(checktest.Must(os.Executable())(t), filepath.Join(bin, "todo-mcp")))
	term := terminal{t, t.TempDir()}
	term.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
		"env", "PATH="+bin+":"+os.Getenv("PATH"), "TODO_STORE=sqlite:"+db, "HOME="+bin, "GORACE=atexit_sleep_ms=0", "PS1=prompt> ", "ENV=", "sh")
	t.Cleanup(func() { _ = term.command("kill-server").Run() })
	term.see("prompt>")
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

// run types a command and waits until the screen fits texts, see [terminal.see].
func (t terminal) run(line string, texts ...string) string {
	t.t.Helper()
	t.press(line, "Enter")
	return t.see(texts...)
}

// do presses the keys in a text such as "Escape|?", and waits until the screen fits texts, see [terminal.see].
func (t terminal) do(keys string, texts ...string) string {
	t.t.Helper()
	t.press(strings.Split(keys, "|")...)
	return t.see(texts...)
}

// patience is how long a test waits for a change that takes milliseconds on an idle machine.
const patience = time.Minute

// see waits until the screen shows each of texts; a text after a "!" must not be shown. It returns the screen.
func (t terminal) see(texts ...string) (screen string) {
	t.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		screen = t.tmux("capture-pane", "-p")
		if !slices.ContainsFunc(texts, func(text string) bool {
			text, not := strings.CutPrefix(text, "!")
			return strings.Contains(screen, text) == not
		}) {
			return screen
		}
	}
	t.t.Fatalf("%q: never shown:\n%s", texts, screen)
	return ""
}

// await polls tmux until it prints the text want for the format in args.
func (t terminal) await(want string, args ...string) {
	t.t.Helper()
	got := ""
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if got = strings.TrimSpace(t.tmux(append([]string{"display-message", "-p"}, args...)...)); got == want {
			return
		}
	}
	t.t.Fatalf("%q is %q, want %q", args, got, want)
}

// waitForRestored waits until the viewer has ended and checks that it restored the terminal: the cursor, the line mode
// and the earlier screen, with the text in the parameter before.
func (t terminal) waitForRestored(before string) {
	t.t.Helper()
	t.see(before, "!live")
	t.await("0 1 1", "#{alternate_on} #{cursor_flag} #{wrap_flag}")
	t.run("stty -a | tr ' ' '\\n' | grep -c -x -e icanon -e echo; echo mode t''old", "2\nmode told\n")
}

func write(t *testing.T, db, list, status string, texts ...string) {
	t.Helper()
	programtest.Succeeds(t, "TodoWrite", "--list", list, "--store", "sqlite:"+db, servertest.Todos(status, texts...))
}

// watching returns the path of a store with one list, and a terminal.
func watching(t *testing.T, texts ...string) (db string, term terminal) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "todo.db")
	write(t, db, "release", "pending", texts...)
	return db, newTerminal(t, db)
}

// watch, in a real terminal, shows what another process writes, follows a resize
// from one pane to two, and shows the history.
func TestWatchTerminal(t *testing.T) {
	t.Parallel()
	db, term := watching(t, "Write tests", "Ship")
	term.run("echo before; todo-mcp watch", "○ Write tests", "0/2", "● live", "!before")
	write(t, db, "release", "pending", "Tell everybody", "Ship 发布 🚀")
	term.see("○ Tell everybody")
	term.tmux("resize-window", "-x", "110", "-y", "12")
	term.see("╭─ Lists ─", "╭─ release ─", "││ ○ Ship 发布 🚀")
	term.do("h", "revision 2  ", "+ Tell everybody", "revision 1  ")
	term.do("Escape|?", "╭─ Keys ─")
	term.do("Escape", "!╭─ Keys ─")
	term.do("q")
	term.waitForRestored("before")
}

// A person ticks, edits in an editor, undoes and archives in the terminal; edits that the agent has not seen are
// marked, and its next write is merged with them.
func TestWatchEdits(t *testing.T) {
	t.Parallel()
	db, term := watching(t, "Write tests", "Ship")
	term.run(`export VISUAL="sed -i -e 's/Ship/Ship it/' -e '\$a- [ ] Celebrate 🎉'"`, "prompt>")
	term.run("echo before; todo-mcp watch", "○ Write tests")
	term.do("x", "1/2")
	term.do("u", "Undone", "0/2")
	term.do("Enter|e", "○ Ship it", "○ Celebrate 🎉", "waits to be seen")
	term.do("G|b", "‖ Celebrate 🎉")
	write(t, db, "release", "pending", "Write tests", "Ship")
	term.see("‖ Celebrate", "Ship it", "!waits to be seen") // the write is merged, and the agent has seen all edits
	term.do("Escape|A", "Nothing is open")
	term.do("u", "▌‖ release")
	term.do("/|celeb", "/ celeb", "release")
	term.do("xyz", "Nothing matches “celebxyz”")
	term.do("Escape|q")
	term.waitForRestored("before")
}

// SIGTERM, and SIGHUP when a session is closed, end watch with exit status 0 and restore the terminal.
func TestWatchTerminated(t *testing.T) {
	for _, signal := range []string{"-TERM", "-HUP"} {
		t.Run(signal, func(t *testing.T) {
			_, term := watching(t, "Write tests")
			term.run("echo before; (todo-mcp watch release; echo ended with $?) ", "○ Write tests")
			pid := strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_pid}"))
			if out, err := exec.Command("pkill", signal, "-s", pid, "todo-mcp").CombinedOutput(); err != nil {
				t.Fatalf("pkill: %v: %s", err, out)
			}
			term.see("ended with 0")
			term.waitForRestored("before")
		})
	}
}

// A list's texts cannot control a real terminal (BAD-INPUT 37); Ctrl-C ends
// watch and restores the terminal.
func TestWatchHostile(t *testing.T) {
	_, term := watching(t, "wipe \u202e me", "c1 \u200b end", "tail")
	term.run("echo before; todo-mcp watch release", "tail", `wipe \u202e me`, `c1 \u200b end`)
	term.do("C-c")
	term.waitForRestored("before")
}

// `todo-mcp watch | head` ends at the first change after head has ended. In a dumb terminal watch prints plain lines.
func TestWatchPlain(t *testing.T) {
	db, term := watching(t, "Write tests", "Ship")
	term.run("todo-mcp watch | head -n 1; echo piped", "release  0/2", "Write tests\n")
	write(t, db, "other", "pending", "Written to nobody")
	term.see("Write tests\npiped\n")
	term.run("clear; echo cle''ared", "cleared\n", "!piped")
	term.run("TERM=dumb todo-mcp watch release", "release  0/2", "!live")
	term.do("C-c", "^Cprompt>")
	term.run("echo aft''er", "after\n")
}

// watch --notify rings the terminal's bell, also for a list that begins and ends in one write.
func TestWatchNotify(t *testing.T) {
	db, term := watching(t, "Write tests")
	term.tmux("set-window-option", "-g", "monitor-bell", "on")
	term.tmux("new-window", "-d") // the bell of a window in the background stays marked
	term.run("todo-mcp watch --notify", "○ Write tests")
	term.tmux("select-window", "-t", ":1")
	term.await("0", "-t", ":0", "#{window_bell_flag}")
	write(t, db, "other", "completed", "Begun and ended")
	term.await("1", "-t", ":0", "#{window_bell_flag}")
}

// watch --server reconnects to a server that was stopped and started again, shows what was written in between, and lets
// a person edit and archive as with a local store.
func TestWatchServer(t *testing.T) {
	t.Parallel()
	db, term := watching(t, "Write tests")
	s := programtest.Serve(t, "--store", "sqlite:"+db)
	term.run("export VISUAL='sed -i /Ship/d'", "prompt>")
	term.run("todo-mcp watch --server "+s.URL, "○ Write tests")
	s.End(t)
	term.see("○ not live")
	write(t, db, "release", "pending", "Written meanwhile")
	again := programtest.Serve(t, "--store", "sqlite:"+db, "--addr", strings.TrimPrefix(s.URL, "http://"))
	term.see("○ Written meanwhile", "● live")
	write(t, db, "release", "pending", "Live again", "Ship")
	term.see("○ Live again")
	for _, c := range []struct{ key, made, undone string }{
		{"x", "1/2", "0/2"}, {"A", "Nothing is open", "○ Live again"}, {"e", "0/1", "0/2"},
	} {
		term.do(c.key, c.made)
		term.do("u", "Undone", c.undone)
	}
	term.do("h", "revision 9 ", "+ Ship")
	term.do("Escape", "○ Live again")
	term.do("q")
	again.Stop()
}
