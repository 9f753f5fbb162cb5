//go:build hosts && linux

package hosts

import (
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// T10: clients pass on a status and a reason that the schema does not list, and the model
// is shown that they were taken. Those that check calls themselves by the schema pass them
// on where it lists them.
func TestUnlistedStatuses(t *testing.T) {
	checks := map[string]bool{"gemini": true, "kimi": true}
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c)
			if checks[c.name] {
				r.server = append(r.server, "--statuses", "all", "--tools", "TodoWrite")
				c.files(r)
			}
			p := newPlan("Ship", 3, 0)
			p.items[1].Status, p.items[1].Reason = "blocked", "no key"
			p.items[2].Status, p.items[2].Reason = "failed", "the disk is full"
			r.run(anew, p)
			if shown := r.shown(); !strings.Contains(shown, "1 in_progress, 0 pending, 1 failed, 1 blocked") && !strings.Contains(shown, "Plan updated") {
				t.Errorf("the model is shown %.500s", shown)
			}
			lists := r.lists()
			if len(lists) != 1 || len(lists[0].Items) != 3 {
				t.Fatalf("%+v", lists)
			}
			blocked, failed := lists[0].Items[1], lists[0].Items[2]
			if blocked.Status != todo.Blocked || blocked.Reason != "no key" || failed.Status != todo.Failed || failed.Reason != "the disk is full" {
				t.Errorf("stored: %+v, %+v", blocked, failed)
			}
		})
	}
}
