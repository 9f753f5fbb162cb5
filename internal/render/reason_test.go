package render_test

import (
	"testing"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// A blocked item's reason is part of what changed, and safe to show.
func TestDiffTellsTheReason(t *testing.T) {
	at := func(s todo.Status, reason string) todo.Snapshot {
		return todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "Ship", Status: s, Reason: reason}}}
	}
	if got := render.Diff(at(todo.Pending, ""), at(todo.Blocked, "no key\x1b")); got != "~ Ship: pending → blocked (no key\\x1b)\n" {
		t.Errorf("%q", got)
	}
	if got := render.Diff(at(todo.Blocked, "no key"), at(todo.Blocked, "no door")); got != "~ Ship: blocked (no door)\n" {
		t.Errorf("%q", got)
	}
}
