//go:build hosts && linux

package hosts

import (
	"strings"
	"testing"

	"todo-mcp/prompts"
)

// Which clients show their model the server's instructions, for docs/cost.md.
func TestInstructions(t *testing.T) {
	texts, err := prompts.New("")
	if err != nil {
		t.Fatal(err)
	}
	instructions, err := texts.Text("instructions")
	if err != nil {
		t.Fatal(err)
	}
	sentence, _, _ := strings.Cut(instructions, ".")
	for name, want := range map[string]bool{"claude-stdio": true, "codex": true, "gemini": true, "kimi": false, "copilot": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, byName(t, name))
			r.run(anew, newPlan("Build the parser", 2, 0))
			turns, _ := r.model.turns()
			if len(turns) == 0 {
				t.Fatal("the model was asked nothing")
			}
			if shown := strings.Contains(turns[0].Raw, sentence); shown != want {
				t.Errorf("the model is shown the instructions: %t", shown)
			}
		})
	}
}
