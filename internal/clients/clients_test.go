package clients_test

import (
	"testing"

	"todo-mcp/internal/clients"
)

// People are shown other programs of a known client's maker as that client, but
// nothing else that is known of it holds for them.
func TestFamilies(t *testing.T) {
	for name, want := range map[string]struct{ title, known string }{
		"@cline/core":   {"Cline", "cline"},
		"@Cline/cli":    {"Cline", ""},
		"openai-mcp":    {"ChatGPT", "chatgpt"},
		"openai-agents": {"ChatGPT", ""},
		"somebody":      {"", ""},
	} {
		if got := clients.Shown(name).Title; got != want.title {
			t.Errorf("%s is shown as %q", name, got)
		}
		if got := clients.Find(name).Name; got != want.known {
			t.Errorf("%s is known as %q", name, got)
		}
	}
}
