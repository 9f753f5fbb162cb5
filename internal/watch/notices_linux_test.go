package watch

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// programs records which programs were started.
type programs chan []string

func (p programs) start(_ context.Context, input, name string, args ...string) error {
	p <- append([]string{name, input}, args...)
	return nil
}

// With Notify the viewer rings the bell and starts the desktop's program.
func TestNotify(t *testing.T) {
	lists := newLists(t)
	writeItems(t, lists, "release", "Ship")
	c := newTerminal()
	started := make(programs, 9)
	done := make(chan error)
	go func() {
		done <- run(t.Context(), Local{Lists: lists}, c, Options{Notify: true, Getenv: environment("DISPLAY=:0"), start: started.start})
	}()
	c.waitFor(t, "Ship")
	_, err := lists.Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "x"}},
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
	if c.Bells() == 0 {
		t.Error("the bell did not ring")
	}
	c.SendRaw([]byte("yq"))
	if err := <-done; err != nil {
		t.Error(err)
	}
	if written := c.bytes(); !strings.Contains(written, "\x1b]52;c;") {
		t.Errorf("the list was not copied: %q", written)
	}
}

// What is copied and opened, by which program.
func TestDesktopPrograms(t *testing.T) {
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
