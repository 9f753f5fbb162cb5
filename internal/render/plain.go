package render

import (
	"fmt"
	"strings"

	"todo-mcp/internal/todo"
)

// Plain shows a list as lines without drawing, for whatever is not a terminal:
// a header ("release (rev 7, 3 of 6 done)") and a line an item ("[x] #1 text").
// Cancelled items are listed but do not count in the header.
func Plain(s todo.Snapshot) string {
	var b strings.Builder
	n := s.Progress()
	fmt.Fprintf(&b, "%s (rev %d, %d of %d done)\n", Safe(s.List.Title()), s.Revision, n.Done, n.Total)
	for _, item := range s.Items {
		fmt.Fprintf(&b, "%s #%s %s%s\n", marker(item.Status), Safe(item.ID), Safe(item.Title()), blockedNote(item))
	}
	if len(s.Items) == 0 {
		b.WriteString("No tasks\n")
	}
	return b.String()
}

func marker(status todo.Status) string {
	switch status {
	case todo.InProgress:
		return "[>]"
	case todo.Completed:
		return "[x]"
	case todo.Failed:
		return "[!]"
	case todo.Blocked:
		return "[#]"
	case todo.Cancelled:
		return "[-]"
	}
	return "[ ]"
}

// StatusLine says in one line, at most width cells (0 or less: no limit), where
// a list stands: "3/7 Writing tests", and when all is settled "7/7 done" or
// "6/7 done, 1 failed". An empty list gives "". Cancelled items do not count.
func StatusLine(s todo.Snapshot, width int) string {
	if len(s.Items) == 0 {
		return ""
	}
	n := s.Progress()
	return limit(fmt.Sprintf("%d/%d %s", n.Done, n.Total, standing(s)), width)
}

// standing is what a list with items is at: its current item, else the next
// pending, else what it waits for, else how it ended.
func standing(s todo.Snapshot) string {
	if item, ok := s.Current(); ok {
		return Safe(item.Title())
	}
	if item, ok := first(s, todo.Pending); ok {
		return Safe(item.Text)
	}
	if item, ok := first(s, todo.Blocked); ok {
		return "blocked: " + Safe(item.Text) + reason(item)
	}
	if failed := s.Progress().Failed; failed > 0 {
		return fmt.Sprintf("done, %d failed", failed)
	}
	return "done"
}

func first(s todo.Snapshot, status todo.Status) (todo.Item, bool) {
	for _, item := range s.Items {
		if item.Status == status {
			return item, true
		}
	}
	return todo.Item{}, false
}

// blockedNote says behind an item's text that it is blocked, and why when
// somebody said; empty in any other status.
func blockedNote(item todo.Item) string {
	switch {
	case item.Status != todo.Blocked:
		return ""
	case item.Reason == "":
		return " (blocked)"
	}
	return " (blocked: " + Safe(item.Reason) + ")"
}

// word is a status for people.
func word(status todo.Status) string {
	return Safe(strings.ReplaceAll(string(status), "_", " "))
}
