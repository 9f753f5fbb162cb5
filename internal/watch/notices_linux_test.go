package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// desktop puts a program of the desktop onto the PATH, and returns what it was called with.
func desktop(t *testing.T, program string) (called func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\nprintf '%s|' \"$@\" >" + log + ".new && mv " + log + ".new " + log + "\n"
	if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			if data, err := os.ReadFile(log); err == nil {
				return string(data)
			}
		}
		return "nothing within 5 s"
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

// With Notify the viewer rings the bell and starts the desktop's program.
func TestNotify(t *testing.T) {
	called := desktop(t, "notify-send")
	lists := newLists(t)
	writeItems(t, lists, "release", "Ship")
	c := newTerminal()
	done := make(chan error)
	go func() {
		done <- run(t.Context(), Local{Lists: lists}, c, Options{Notify: true, Getenv: environment("DISPLAY=:0")})
	}()
	c.waitFor(t, "Ship")
	_, err := lists.Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "x"}},
		Change: func(d *todo.Draft) error { d.SetStatus(d.Append("Begun and ended")[0].ID, todo.Completed); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if got := called(); got != "--app-name=todo-mcp|--|todo-mcp|Finished: Begun and ended (1 of 1)|" {
		t.Errorf("called with %q", got)
	}
	c.SendRaw([]byte("q"))
	if err := <-done; err != nil {
		t.Error(err)
	}
	if c.Bells() == 0 {
		t.Error("the bell did not ring")
	}
}

// A page is opened by the desktop's program, and only where there is a desktop.
func TestBrowse(t *testing.T) {
	called := desktop(t, "xdg-open")
	if Browse(t.Context(), environment(""), "http://y") == nil {
		t.Error("a browser is opened in the terminal")
	}
	if err := Browse(t.Context(), environment("WAYLAND_DISPLAY=w"), "http://x"); err != nil || called() != "http://x|" {
		t.Errorf("%v, called with %q", err, called())
	}
}
