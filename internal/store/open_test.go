package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func opened(setting, state string) (board.Store, error) {
	place, err := Locate(setting, func(name string) string {
		return map[string]string{"XDG_STATE_HOME": state, "HOME": state, "LocalAppData": state}[name]
	})
	if err != nil {
		return nil, err
	}
	return place.Open(board.Keep{})
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, setting := range []string{"", "memory", "sqlite:" + filepath.Join(dir, "x", "named file?#%.db")} {
		s, err := opened(setting, filepath.Join(dir, "state"))
		if err != nil {
			t.Fatal(err)
		}
		_, saving := storetest.Save(t.Context(), s, todo.Snapshot{List: todo.List{ID: "a"}, Revision: 1})
		if err := errors.Join(saving, s.Close()); err != nil {
			t.Errorf("%q: %v", setting, err)
		}
	}
	for _, file := range []string{"state/todo-mcp/todo.db", "x/named file?#%.db"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// A Place says whether its store is in memory, and shows its file, with the home folder as "~".
func TestPlace(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	for setting, want := range map[string]struct {
		memory bool
		text   string
	}{
		"memory": {true, "memory"},
		"sqlite:" + filepath.Join(home, "a", "t.db"): {false, filepath.Join("~", "a", "t.db")},
		"sqlite:rel.db": {false, "rel.db"},
	} {
		p, err := Locate(setting, func(string) string { return "" })
		if err != nil || p.Memory() != want.memory || p.String(home) != want.text {
			t.Errorf("%s: memory %v, text %s, %v", setting, p.Memory(), p.String(home), err)
		}
	}
}

// A setting that is refused gets an error that says what is allowed and never shows a password.
func TestOpenRefuses(t *testing.T) {
	for spec, says := range map[string]string{
		"postgres://user:secret@host:port/db": "the address of the database is not valid",
		"host=h user=u password=secret":       "allowed are memory, sqlite:PATH and postgres://",
		"postgres:password=secret dbname=d":   "allowed are memory, sqlite:PATH and postgres://",
		"redis:x":                             "allowed are memory, sqlite:PATH and postgres://",
		"Memory":                              "allowed are memory, sqlite:PATH and postgres://",
		"/tmp/todo.db":                        "allowed are memory, sqlite:PATH and postgres://",
		"sqlite":                              "name a file",
		"sqlite:":                             "name a file",
		"sqlite:folder/":                      "name a file",
		"sqlite::memory:":                     "called memory",
		"sqlite://host/todo.db":               "a plain path",
		"sqlite:~/todo.db":                    "a plain path",
		"sqlite:" + t.TempDir():               "is a folder",
	} {
		_, err := opened(spec, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

func TestStateDir(t *testing.T) {
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
		got, err := stateDir(c.goos, func(name string) string { return c.env[name] })
		if filepath.ToSlash(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %v: %q, %v", c.goos, c.env, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "--store") {
			t.Errorf("%s: %v does not say what to do", c.goos, err)
		}
	}
}

type calls struct {
	mu    sync.Mutex
	ended map[string]int
}

func (c *calls) count(_ time.Duration, labels ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[strings.Join(labels, " ")]++
}

// An observer is called after each write and read of lists, with the name of the operation and its outcome.
func TestObservedTells(t *testing.T) {
	c := &calls{ended: map[string]int{}}
	st := &Opened{Store: storetest.NewMemoryKeeping(board.Keep{Lists: 1}), Observer: c.count}
	ctx, gone := context.WithCancel(t.Context())
	gone()
	begin := todo.Snapshot{List: todo.List{ID: "a"}, Revision: 1}
	refuse := func(err error) error {
		return st.Update(t.Context(), board.Key{}, func(board.Tx) error { return err })
	}
	_ = []error{ // the outcomes of these calls are in want, below
		second(storetest.Save(t.Context(), st, begin)), second(storetest.Save(t.Context(), st, todo.Snapshot{List: todo.List{ID: "b"}, Revision: 1})),
		second(storetest.Save(ctx, st, begin)), refuse(&todo.InputError{}), refuse(board.ErrNotFound), refuse(errors.New("disk on fire")),
		refuse(context.DeadlineExceeded), refuse(fmt.Errorf("update: %w (%w)", board.ErrUnknownOutcome, context.Canceled)),
		second(st.Load(t.Context(), "a", 0)), second(st.Load(t.Context(), "x", 0)),
		second(st.Find(t.Context(), board.Query{})), second(st.History(t.Context(), "a", 0, 0)),
	}
	func() {
		defer func() { _ = recover() }()
		_ = st.Update(t.Context(), board.Key{}, func(board.Tx) error { panic("on purpose") })
	}()
	want := map[string]int{
		"update applied": 1, "update full": 1, "update cancelled": 1, "update refused": 1, "update missing": 1, "update failed": 3, "update unknown": 1,
		"load applied": 1, "load missing": 1, "find applied": 1, "history applied": 1,
	}
	if diff := cmp.Diff(want, c.ended); diff != "" {
		t.Error(diff)
	}
}

func second[T any](_ T, err error) error { return err }
