package hook_test

import (
	"strings"
	"testing"

	"todo-mcp/internal/hook"
)

// A client's hooks are of different events.
func TestSetups(t *testing.T) {
	for _, client := range []string{"claude-code", "codex", "gemini", "cursor"} {
		s, ok := hook.FindSetup(client)
		events := make(map[string]bool)
		for _, e := range s.Entries {
			events[e.Event] = true
		}
		if !ok || len(events) == 0 || len(events) != len(s.Entries) {
			t.Errorf("%s: %+v", client, s)
		}
	}
	if s, ok := hook.FindSetup("zed"); ok {
		t.Errorf("%+v", s)
	}
}

// The plugin for opencode runs the command that it is given, whatever is in it, and it
// is known again.
func TestPlugin(t *testing.T) {
	const command = `'/opt/a "b"\c/todo-mcp' hook`
	text := hook.Plugin(command)
	if !strings.Contains(text, `const command = "'/opt/a \"b\"\\c/todo-mcp' hook"`) {
		t.Error(text)
	}
	for text, want := range map[string]string{
		text: command,
		strings.Replace(text, "const command = ", "const other = ", 1): "",
		text[:200]: "",
	} {
		if got, ok := hook.ReadPlugin(text); got != want || !ok {
			t.Errorf("%q (%t) is run by\n%s", got, ok, text)
		}
	}
	if got, ok := hook.ReadPlugin("// another plugin"); got != "" || ok {
		t.Errorf("%q", got)
	}
}
