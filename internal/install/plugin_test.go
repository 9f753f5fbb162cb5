package install

import (
	"strings"
	"testing"
)

// The plugin for opencode runs the command that it is given, whatever is in it, and it
// is known again.
func TestPlugin(t *testing.T) {
	const command = `'/opt/a "b"\c/todo-mcp' hook`
	text := plugin(command)
	if !strings.Contains(text, `const command = "'/opt/a \"b\"\\c/todo-mcp' hook"`) {
		t.Error(text)
	}
	for text, want := range map[string]string{
		text: command,
		strings.Replace(text, "const command = ", "const other = ", 1): "",
		text[:200]: "",
	} {
		if got, ok := readPlugin(text); got != want || !ok {
			t.Errorf("%q (%t) is run by\n%s", got, ok, text)
		}
	}
	if got, ok := readPlugin("// another plugin"); got != "" || ok {
		t.Errorf("%q", got)
	}
}
