package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, spec := range []string{"", "memory", "sqlite:" + filepath.Join(dir, "x", "named file?#%.db")} {
		s, err := Open(spec, filepath.Join(dir, "default"), todo.Keep{})
		if err != nil {
			t.Errorf("%q: %v", spec, err)
			continue
		}
		list := todo.Snapshot{List: todo.List{ID: "a", Scope: todo.Scope{Conversation: "c"}}, Revision: 1}
		if _, err := s.Save(t.Context(), list); err != nil {
			t.Errorf("%q: save: %v", spec, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%q: close: %v", spec, err)
		}
	}
	for _, file := range []string{"default/todo.db", "x/named file?#%.db"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// Errors say what is allowed, and never a password.
func TestOpenRefuses(t *testing.T) {
	for spec, says := range map[string]string{
		"postgres://user:secret@host/db":    "allowed are memory and sqlite:PATH",
		"postgres:password=secret dbname=d": "allowed are memory and sqlite:PATH",
		"redis:x":                           "allowed are memory and sqlite:PATH",
		"Memory":                            "allowed are memory and sqlite:PATH",
		"/tmp/todo.db":                      "allowed are memory and sqlite:PATH",
		"sqlite":                            "name a file",
		"sqlite:":                           "name a file",
		"sqlite:folder/":                    "name a file",
		"sqlite::memory:":                   "called memory",
		"sqlite://host/todo.db":             "a plain path",
		"sqlite:~/todo.db":                  "a plain path",
		"sqlite:" + t.TempDir():             "is a folder",
	} {
		_, err := Open(spec, t.TempDir(), todo.Keep{})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

func TestDefaultDir(t *testing.T) {
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string // empty: refused
	}{
		{"linux", map[string]string{"HOME": "/home/u"}, "/home/u/.local/state/todo-mcp"},
		{"linux", map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "/state"}, "/state/todo-mcp"},
		{"linux", map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "relative"}, "/home/u/.local/state/todo-mcp"},
		{"linux", nil, ""},
		{"darwin", map[string]string{"HOME": "/Users/u"}, "/Users/u/Library/Application Support/todo-mcp"},
		{"darwin", nil, ""},
		{"windows", map[string]string{"LocalAppData": "C:/L"}, "C:/L/todo-mcp"},
		{"windows", map[string]string{"USERPROFILE": "C:/U"}, "C:/U/AppData/Local/todo-mcp"},
		{"windows", nil, ""},
	} {
		got, err := defaultDir(c.goos, func(name string) string { return c.env[name] })
		if filepath.ToSlash(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %v: %q, %v", c.goos, c.env, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "--store") {
			t.Errorf("%s: %v does not say what to do", c.goos, err)
		}
	}
}
