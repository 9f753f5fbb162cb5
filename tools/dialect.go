package tools

import (
	"fmt"
	"strings"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// listResult is the structured content of the whole-list tools that hosts have themselves.
// Its counts are in core statuses.
type listResult = result[listShown, todoWriteCountsAll]

type listShown struct {
	ID        string   `json:"id,omitempty"`
	Title     string   `json:"title"`
	Status    string   `json:"status"`
	Priority  string   `json:"priority,omitempty"`
	BlockedBy []string `json:"blockedBy,omitempty"` // what is open
}

// dialect returns a whole-list tool that a host has itself, with its arguments. Callers may
// also send the statuses that its view does not list, and reasons (docs/spec/variants.md
// T10). ack words a write that was accepted; nil counts the statuses.
func dialect(s shape, input any, ack func(w prompts.Words) string) variant {
	listed := s.view
	s.reasons, s.lenient, s.view.Unlisted = true, true, true
	return variant{view: s.view, input: input, output: listResult{}, read: s.reader(), failure: planFailure,
		answer: func(w prompts.Words, c *Call, out board.Outcome) Result {
			waiting := todo.OpenWaits(out.After.Items)
			shown, n := show(listed, out.After, func(l todo.Line, item todo.Item) listShown {
				shown := listShown{Title: l.Text, Status: l.Status, Priority: item.Priority, BlockedBy: listed.IDs(waiting(item))}
				if listed.Keys {
					shown.ID = l.ID
				}
				return shown
			})
			text := ""
			switch {
			case c.Change == nil:
				text = listing(w, listed, out.After)
			case ack != nil:
				text = ack(w) + resultNotes(w, out)
			default:
				text = w.ListUpdated + ": " + countsText(s.view, out.After.Items) + readyNext(w, listed, out.After.Items) + resultNotes(w, out)
			}
			return newResult(text, text, out.After, shown, countsOf(listed, n))
		}}
}

// countsOf returns how many items have each status, of which n has a view's words.
func countsOf(view todo.View, n map[string]int) (c todoWriteCountsAll) {
	for word, count := range n {
		switch status, _ := view.Core(word); status {
		case todo.Completed:
			c.Completed += count
		case todo.InProgress:
			c.InProgress += count
		case todo.Pending:
			c.Pending += count
		case todo.Failed:
			c.Failed += count
		case todo.Blocked:
			c.Blocked += count
		default:
			c.Cancelled += count
		}
	}
	return c
}

// countsText returns how many items have each of a view's words: the three usual ones
// always, the others where there are some.
func countsText(view todo.View, items []todo.Item) string {
	n, left := make(map[string]int), 0
	for _, item := range items {
		if line, ok := view.Show(item); ok {
			n[line.Status]++
		} else {
			left++
		}
	}
	var parts []string
	for i, status := range todo.Statuses() {
		word := view.Words[status]
		if word == "" || i > 2 && word != string(status) {
			word = string(status)
		}
		if n[word] > 0 || i < 3 {
			parts = append(parts, fmt.Sprintf("%d %s", n[word], word))
		}
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d cancelled", left))
	}
	return strings.Join(parts, ", ")
}

// readyNext names the items that can be begun, on a list on which some wait for others;
// empty where none does.
func readyNext(w prompts.Words, view todo.View, items []todo.Item) string {
	var ready []todo.Item
	waits, waiting := false, todo.OpenWaits(items)
	for _, i := range items {
		waits = waits || i.WaitsFor != ""
		if i.Status == todo.Pending && len(waiting(i)) == 0 {
			ready = append(ready, i)
		}
	}
	if !waits || len(ready) == 0 {
		return ""
	}
	return fmt.Sprintf(w.Ready, strings.Join(view.IDs(ready[:min(len(ready), maxReady)]), ", "))
}

// maxReady is how many of the items that can be begun an answer names.
const maxReady = 5

// withCancelled returns the view of a tool with the usual words that also has cancelled
// items, as which it shows failed ones.
func withCancelled(keys bool) todo.View {
	v := wholeListView(false, "completed")
	v.Keys, v.Words[todo.Cancelled], v.Words[todo.Failed] = keys, "cancelled", "cancelled"
	return v
}
