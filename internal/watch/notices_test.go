package watch

import (
	"io"
	"strings"
	"testing"

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
		if got := received(m, c.before, true); got != nil {
			t.Errorf("%s: told at the start: %q", name, got)
		}
		if diff := cmp.Diff(c.want, received(m, c.after, false)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// received returns what a person is told of lists that come from the source.
func received(m *model, lists []todo.Snapshot, all bool) []string {
	m.receiveLists(lists, all)
	return m.take().notices
}

// After the connection was lost, what finished meanwhile is told.
func TestNoticesAfterLoss(t *testing.T) {
	m := newModel("")
	m.receiveLists([]todo.Snapshot{list("a", 1, 1, 0, "in_progress x")}, true)
	m.lose(io.EOF)
	got := received(m, []todo.Snapshot{list("a", 3, 3, 0, "completed x"), list("b", 5, 2, 0, "completed y")}, true)
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
