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
	maxReminder = 900 // bytes of a reminder, about 250 tokens
	maxReminded = 100 // characters of an item's text in it
)

// Reminder returns the reminder for an agent that may have forgotten its list: title, how many items are done, and
// the open ones; empty if none is open. It says that texts are data, since a person or another program may have
// written them.
func Reminder(w prompts.Words, s todo.Snapshot) string { return reminder(w, s, w.Reminder, w.GoOn) }

// Unfinished returns the reminder for an agent that is about to end its turn with open items.
func Unfinished(w prompts.Words, s todo.Snapshot) string { return reminder(w, s, w.Reminder, w.Finish) }

// Earlier returns the reminder of a list that the session before left open.
func Earlier(w prompts.Words, s todo.Snapshot) string {
	return reminder(w, s, w.Earlier, w.GoOnEarlier)
}

// Left returns the text, added to a result, about an open list of an earlier session that may be the agent's own. It
// has all items, so that the agent can send them again. If they do not all fit, or there is only one, sending them
// proves nothing; the agent is then told to write a list of its own.
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

// reminder returns a sentence about a list, its open items with their numbers, and how to go on.
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

// saying joins what say returns for items, each after mark, as many as fit into a reminder that has some bytes
// already. It also returns how many do not fit.
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

// News returns what others changed in an agent's list; empty if nothing concerns its work. It has one phrase for each
// item, with the whole text.
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
