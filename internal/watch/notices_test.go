package watch

import (
	"strings"
	"testing"
)

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
