package render

import (
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/todo"
)

// Diff tells what happened between two snapshots of a list, a line a change:
//
//   - added text
//   - removed text
//     ~ text: pending → completed
//     ~ old text → new text
//     ~ text: moved to 2
//
// An item added in another status than pending has it in brackets. It is empty
// when nothing changed.
func Diff(before, after todo.Snapshot) string {
	var b strings.Builder
	for _, d := range todo.Diff(before, after) {
		b.WriteString(diffLine(d, after) + "\n")
	}
	return b.String()
}

func diffLine(d todo.Difference, after todo.Snapshot) string {
	switch d.Kind {
	case todo.Added:
		if d.After.Status != todo.Pending {
			return fmt.Sprintf("+ %s (%s)", Safe(d.After.Text), word(d.After.Status))
		}
		return "+ " + Safe(d.After.Text)
	case todo.Removed:
		return "- " + Safe(d.Before.Text)
	case todo.Moved:
		place := slices.IndexFunc(after.Items, func(i todo.Item) bool { return i.ID == d.After.ID })
		return fmt.Sprintf("~ %s: moved to %d", Safe(d.After.Text), place+1)
	}
	return "~ " + changeLine(d.Before, d.After)
}

func changeLine(before, after todo.Item) string {
	line := Safe(after.Text)
	if before.Text != after.Text {
		line = Safe(before.Text) + " → " + line
	}
	if before.Status != after.Status {
		return line + ": " + word(before.Status) + " → " + word(after.Status) + reason(after)
	}
	if before.Reason != after.Reason {
		return line + ": " + word(after.Status) + reason(after)
	}
	if before.Text == after.Text {
		return line + ": shown as " + Safe(after.ActiveText())
	}
	return line
}

// reason is why an item is blocked, behind the word.
func reason(i todo.Item) string {
	if i.Reason == "" {
		return ""
	}
	return " (" + Safe(i.Reason) + ")"
}
