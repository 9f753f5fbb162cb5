package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

const (
	// maxReminder is how long a reminder may be, in bytes: about 250 tokens.
	maxReminder = 900
	// maxReminded is how much of an item's text a reminder has, in characters.
	maxReminded = 100
)

// Reminder returns what an agent is told of its list when it may have forgotten it: its
// title, how many items are done, and the open ones; empty where none is open. It says
// that texts are data: a person or another program may have written them.
func Reminder(w prompts.Words, s todo.Snapshot) string { return reminder(w, s, w.Reminder, w.GoOn) }

// Unfinished returns what an agent is told that is about to end its turn with open items.
func Unfinished(w prompts.Words, s todo.Snapshot) string {
	return reminder(w, s, w.Reminder, w.Finish)
}

// Earlier returns what an agent is told of a list that the session before it left open.
func Earlier(w prompts.Words, s todo.Snapshot) string {
	return reminder(w, s, w.Earlier, w.GoOnEarlier)
}

// Left returns what an agent is told, beside a result, of a list that an earlier session left
// open and that may be its own: all its items, so that it can send them again. Some of them, or
// one alone, do not show that it knows the list: then it is to write a list of its own.
func Left(w prompts.Words, s todo.Snapshot) string {
	n, goOn := s.Progress(), w.GoOnLeft
	texts, more := saying(s.Items, ", ", 0, func(i todo.Item, text string) string { return fmt.Sprintf("%s %s (%s)", i.ID, text, i.Status) })
	if more > 0 {
		texts += fmt.Sprintf(w.More, more)
	}
	if more > 0 || len(s.Items) == 1 {
		goOn = w.GoOnEarlier
	}
	return fmt.Sprintf(w.Left, quote(todo.Cut(s.Title(), maxReminded)), n.Done, n.Total, strings.TrimPrefix(texts, ", ")) + " " + goOn
}

// reminder returns a sentence about a list, its open items by their numbers, and how to
// go on.
func reminder(w prompts.Words, s todo.Snapshot, about, goOn string) string {
	if !s.Open() {
		return ""
	}
	n := s.Progress()
	about = fmt.Sprintf(about, quote(todo.Cut(s.Title(), maxReminded)), n.Done, n.Total)
	open, more := saying(s.PutAway().Open, "\n", len(about), func(i todo.Item, text string) string { return fmt.Sprintf("%s. [%s] %s", i.ID, i.Status, text) })
	if more > 0 {
		open += "\n" + strings.TrimSpace(fmt.Sprintf(w.More, more))
	}
	return about + open + "\n" + goOn
}

// saying returns what is said of items, each behind a mark, as many as fit into a reminder
// beside what it has already (bytes), and how many do not.
func saying(items []todo.Item, mark string, has int, say func(i todo.Item, text string) string) (said string, more int) {
	for n, i := range items {
		next := mark + say(i, quote(todo.Cut(i.Text, maxReminded)))
		if has+len(said)+len(next) > maxReminder {
			return said, len(items) - n
		}
		said += next
	}
	return said, 0
}

// News returns what an agent is told of what others changed in its list; empty where that
// is nothing that concerns its work. All that happened to an item is in one phrase, with its
// whole text.
func News(w prompts.Words, r todo.Report) string {
	var parts []string
	for _, d := range r.Unseen {
		if part := change(w, d); part != "" {
			parts = append(parts, part)
		}
	}
	orderKept := slices.ContainsFunc(r.Kept, func(d todo.Difference) bool { return d.Kind == todo.Moved })
	if len(r.Ordered) > 0 && !orderKept {
		parts = append(parts, fmt.Sprintf(w.Ordered, quoted(r.Ordered, told)))
	}
	if r.Titled != "" {
		parts = append(parts, fmt.Sprintf(w.Titled, quote(r.Titled)))
	}
	if len(parts) == 0 {
		return ""
	}
	who := map[todo.Others]string{todo.Agents: w.AgentChanged, todo.PeopleAndAgents: w.BothChanged}
	return fmt.Sprintf(cmp.Or(who[r.By], w.UserChanged), joined(w, parts, maxChanges))
}
