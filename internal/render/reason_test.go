package render_test

import (
	"fmt"
	"testing"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Diff shows the reason of a blocked item, made safe, also when only the reason
// changed.
func TestDiffShowsReason(t *testing.T) {
	snapshotWith := func(s todo.Status, reason string) todo.Snapshot {
		return todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "Ship", Status: s, Reason: reason}}}
	}
	if got := fmt.Sprint(render.Diff(snapshotWith(todo.Pending, ""), snapshotWith(todo.Blocked, "no key\x1b"))); got != "[~ Ship: pending → blocked (no key\\x1b)]" {
		t.Errorf("%q", got)
	}
	if got := fmt.Sprint(render.Diff(snapshotWith(todo.Blocked, "no key"), snapshotWith(todo.Blocked, "no door"))); got != "[~ Ship: blocked (no door)]" {
		t.Errorf("%q", got)
	}
}
