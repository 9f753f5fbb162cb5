package clients_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/clients"
)

// Find does not take another program of the same maker for a known client.
func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"@cline/core": "cline", "@Cline/cli": "", "OpenAI-mcp": "chatgpt", "openai-agents": "", "somebody": "",
	} {
		if got := clients.Find(name).Name; got != want {
			t.Errorf("%s is known as %q, want %q", name, got, want)
		}
	}
}
