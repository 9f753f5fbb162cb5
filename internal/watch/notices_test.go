package watch

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/todo"
)

// What a person is told: what finished, failed, is blocked or waits, once; not
// what a person did, nor what was there at the start.
func TestNotices(t *testing.T) {
	a := func(revision int64, items ...string) todo.Snapshot { return list("a", revision, revision, 0, items...) }
	byPerson := func(s todo.Snapshot) todo.Snapshot { s.Writer.Person = true; return s }
	for name, c := range map[string]struct {
		before, after []todo.Snapshot
		want          []string
	}{
		"finished":              {[]todo.Snapshot{a(1, "in_progress x")}, []todo.Snapshot{a(2, "completed x")}, []string{"Finished: a (1 of 1)"}},
		"finished with failure": {[]todo.Snapshot{a(1, "in_progress x", "completed y")}, []todo.Snapshot{a(2, "failed x", "completed y")}, []string{"Finished: a (1 of 2, 1 failed)"}},
		"began and ended":       {nil, []todo.Snapshot{a(3, "completed x")}, []string{"Finished: a (1 of 1)"}},
		"failed":                {[]todo.Snapshot{a(1, "in_progress x", "pending y")}, []todo.Snapshot{a(2, "failed x", "in_progress y")}, []string{"Failed: a: x"}},
		"blocked":               {[]todo.Snapshot{a(1, "in_progress x", "pending y")}, []todo.Snapshot{a(2, "blocked x|no key", "in_progress y")}, []string{"Blocked: a: no key"}},
		"waits":                 {[]todo.Snapshot{a(1, "in_progress x", "pending y")}, []todo.Snapshot{a(2, "blocked x", "pending y")}, []string{"Waits for you: a: x"}},
		"still blocked":         {[]todo.Snapshot{a(1, "blocked x", "pending y")}, []todo.Snapshot{a(2, "blocked x", "in_progress y")}, nil},
		"begun":                 {nil, []todo.Snapshot{a(1, "in_progress x")}, nil},
		"by a person":           {[]todo.Snapshot{a(1, "in_progress x")}, []todo.Snapshot{byPerson(a(2, "completed x"))}, nil},
		"sent twice":            {[]todo.Snapshot{a(2, "completed x")}, []todo.Snapshot{a(2, "completed x")}, nil},
		"a sub-agent's":         {nil, []todo.Snapshot{subList(a(1, "completed x"), "main")}, nil},
	} {
		m := newModel("")
		m.now = noon()
		if got := m.receiveLists(c.before, true).notices; got != nil {
			t.Errorf("%s: told at the start: %q", name, got)
		}
		if diff := cmp.Diff(c.want, m.receiveLists(c.after, false).notices); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// After the connection was lost, what finished meanwhile is told.
func TestNoticesAfterLoss(t *testing.T) {
	m := newModel("")
	m.receiveLists([]todo.Snapshot{list("a", 1, 1, 0, "in_progress x")}, true)
	m.lose(io.EOF)
	got := m.receiveLists([]todo.Snapshot{list("a", 3, 3, 0, "completed x"), list("b", 5, 2, 0, "completed y")}, true).notices
	if diff := cmp.Diff([]string{"Finished: a (1 of 1)", "Finished: b (1 of 1)"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A terminal is told in the sequence that it understands, and the desktop by a
// program where it understands none.
func TestNoticeSequences(t *testing.T) {
	for _, c := range []struct {
		environment, want string
		ok                bool
	}{
		{"TERM=xterm-kitty", "\a\x1b]99;;todo-mcp: a; b\x1b\\", true},
		{"TERM_PROGRAM=iTerm.app", "\a\x1b]9;a; b\x1b\\", true},
		{"TERM_PROGRAM=WezTerm", "\a\x1b]9;a; b\x1b\\", true},
		{"WT_SESSION=1", "\a\x1b]9;a; b\x1b\\", true},
		{"TERM=foot", "\a\x1b]777;notify;todo-mcp;a, b\x1b\\", true},
		{"TERM=rxvt-unicode-256color", "\a\x1b]777;notify;todo-mcp;a, b\x1b\\", true},
		{"TERM=tmux-256color TERM_PROGRAM=iTerm.app", "\a", false},
		{"TERM=xterm-256color", "\a", false},
	} {
		got, ok := desktop{getenv: environment(c.environment)}.noticeSequence("a; b")
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.environment, got, ok)
		}
	}
}

// environment returns a getenv of variables "A=1 B=2".
func environment(variables string) func(string) string {
	return func(name string) string {
		for _, v := range strings.Fields(variables) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// programs records which programs were started.
type programs chan []string

func (p programs) start(_ context.Context, input, name string, args ...string) error {
	p <- append([]string{name, input}, args...)
	return nil
}

// With Notify the viewer rings the bell and starts the desktop's program.
func TestNotify(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program is another one")
	}
	board := newBoard(t)
	writeItems(t, board, "release", "Ship")
	keys, typing := io.Pipe()
	c := newConsole(keys)
	started := make(programs, 9)
	done := make(chan error)
	go func() {
		done <- run(t.Context(), Local{Lists: board.As("")}, c, Options{Notify: true, Getenv: environment("DISPLAY=:0"), start: started.start})
	}()
	c.waitFor(t, "Ship")
	_, err := board.As("").Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "x"}},
		Change: func(d *todo.Draft) error { d.SetStatus(d.Append("Begun and ended")[0].ID, todo.Completed); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-started:
		if !slices.Equal(got, []string{"notify-send", "", "--app-name=todo-mcp", "--", "todo-mcp", "Finished: Begun and ended (1 of 1)"}) {
			t.Errorf("started %q", got)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("no program was started")
	}
	c.waitFor(t, "\a")
	io.WriteString(typing, "yq")
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.waitFor(t, "\x1b]52;c;")
}

// What is copied and opened, by which program.
func TestDesktopPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs are others")
	}
	for variables, want := range map[string]string{"DISPLAY=:0": "xclip", "WAYLAND_DISPLAY=w DISPLAY=:0": "wl-copy", "": "", "DISPLAY=:0 SSH_CONNECTION=x": ""} {
		started := make(programs, 1)
		desktop{environment(variables), started.start}.copy(t.Context(), "text")
		got := ""
		select {
		case call := <-started:
			got = call[0]
		default:
		}
		if got != want {
			t.Errorf("%q copies by %q, want %q", variables, got, want)
		}
	}
	started := make(programs, 1)
	if err := (desktop{environment(""), started.start}).browse(t.Context(), "http://x"); err == nil || len(started) > 0 {
		t.Error("a browser is opened in the terminal")
	}
	if err := (desktop{environment("DISPLAY=:0"), started.start}).browse(t.Context(), "http://x"); err != nil || (<-started)[0] != "xdg-open" {
		t.Errorf("browse: %v", err)
	}
}
