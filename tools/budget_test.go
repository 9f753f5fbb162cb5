package tools_test

import (
	"encoding/json"
	"testing"
)

// The token budgets of a result: a TodoWrite call with ten items.
func TestResultBudget(t *testing.T) {
	s := newSession(t, nil)
	var lines []string
	for i, text := range []string{"Read the specification", "Design the storage layer", "Write the schema migration", "Implement the save path", "Handle revision conflicts",
		"Add the watcher interface", "Write the conformance suite", "Measure group commit speed", "Document the promises made", "Review the whole change"} {
		lines = append(lines, string("cccippppppp"[i])+" "+text)
	}
	got := s.call("TodoWrite", todos(lines...), "")
	raw, err := json.Marshal(got.Structured)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("text %d tokens, structured content %d tokens", tokens(got.Text), tokens(string(raw)))
	if n := tokens(got.Text); n >= 30 {
		t.Errorf("the text uses %d tokens: %s", n, got.Text)
	}
	if n := tokens(string(raw)); n > 260 {
		t.Errorf("the structured content uses %d tokens: %s", n, raw)
	}
}
