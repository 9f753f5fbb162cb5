//go:build unix

package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
)

// A folder, a link or a pipe in the place of a host's own file of a chat is ignored (BAD-INPUT 171).
func TestNoSession(t *testing.T) {
	for kind, plant := range strangers {
		r := newRig(t)
		host, _ := newHost(t)
		r.sendFrom(host, "s", asks)
		home := t.TempDir()
		path := writeSession(t, home, fileOf(host, "idle"))
		victim := filepath.Join(home, "victim.json")
		checktest.Check(t, os.Rename(path, victim))
		checktest.Check(t, plant(path, victim))
		hook.LookAtSessions(r.Context(), home, r.lists)
		checktest.Same(t, kind, r.does(), "waits: run `rm -r build`?")
	}
}

// strangers are functions that make a folder, a link to victim, or a pipe at a path.
var strangers = map[string]func(path, victim string) error{
	"a folder": func(path, _ string) error { return os.Mkdir(path, 0o700) },
	"a link":   func(path, victim string) error { return os.Symlink(victim, path) },
	"a pipe":   func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
}

// BAD-INPUT 114: a link or pipe in place of the spool, or a link, pipe or folder in place of its lock, is not followed,
// waited for or changed. An error says what is wrong; if the spool cannot be used, a hook applies its event at once.
func TestNoSpool(t *testing.T) {
	for _, place := range []string{"", "-apply"} {
		for kind, plant := range strangers {
			r := newSpoolRig(t)
			r.Left = func() {}
			victim := filepath.Join(filepath.Dir(r.Folder), "victim")
			checktest.Check(t, plant(r.Folder+place, victim))
			if _, err := r.tell(steps("b", "1")); place == "" && kind != "a folder" && (err == nil || !strings.Contains(err.Error(), "not a folder")) {
				t.Errorf("%s as %q: %v", kind, place, err)
			}
			_, _ = r.lists.Find(t.Context(), board.Query{})
			if _, err := os.Stat(victim); err == nil {
				t.Errorf("%s as %q was followed", kind, place)
			}
			if place == "-apply" && (len(r.logged) != 1 || !strings.Contains(r.logged[0], "not a regular file")) {
				t.Errorf("%s as %q: %q", kind, place, r.logged)
			}
			if place == "" && len(r.all()) != 1 {
				t.Errorf("%s as %q: the event is on %d lists", kind, place, len(r.all()))
			}
		}
	}
}
