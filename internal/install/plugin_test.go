package install

import (
	"strings"
	"testing"
)

// The plugin for opencode runs the command that it is given, whatever is in it, and it
// is known again.
func TestPlugin(t *testing.T) {
	const command = `'/opt/a "b"\c/todo-mcp' hook`
	var p pluginFile
	if changed, err := p.set(command); !changed || err != nil {
		t.Fatal(err)
	}
	text := string(p)
	if !strings.Contains(text, `const command = "'/opt/a \"b\"\\c/todo-mcp' hook"`) {
		t.Error(text)
	}
	for text, want := range map[string]string{
		text: command,
		strings.Replace(text, "const command = ", "const other = ", 1): "",
		text[:200]: "",
	} {
		if p := pluginFile(text); p.at() != want {
			t.Errorf("%v is run by\n%s", p.at(), text)
		}
	}
	if p := pluginFile("// another plugin"); p.at() != nil {
		t.Errorf("%v", p.at())
	}
}
