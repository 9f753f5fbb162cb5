package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// resultNotes returns the notes after the tool's own text (the parameter said). If nothing changed, the first note says
// so (V4), on a line of its own if the tool's text has several lines. Then come lines about, for example, open items
// that the write dropped, changes by others, and lines of a text that are not items. Last come the change's own notes,
// except one that equals the tool's text. A repeated call has the stored [todo.Report], and so the same notes.
func resultNotes(w *prompts.Words, c *Call, o board.Outcome, said string) string {
	var lines []string
	unchanged := !o.Changed && !o.Repeated
	say := func(format, what string, items ...todo.Item) {
		if len(items) > 0 {
			what = firstFew(w, items)
		}
		if what != "" {
			lines = append(lines, fmt.Sprintf(format, what))
		}
	}
	if o.Continues != "" {
		say(w.Continues, quote(o.Continues))
	}
	say(w.PutAway, "", o.PutAway.Open...)
	if !unchanged {
		say(w.Dropped, "", o.Dropped...)
		say(w.Reopened, "", o.Reopened...)
	}
	say("%s", News(w, o.Report))
	say(w.Kept, keptChanges(w, o.Report))
	say(w.Held, "", o.Held...)
	say(w.OtherList, o.Elsewhere)
	say(w.LeftOut, "", c.leftOut...)
	text := ""
	switch {
	case unchanged && strings.Contains(said, "\n"):
		text = "\n" + w.NoChange
	case unchanged:
		text = " " + w.NoChange
	}
	for _, line := range append(lines, o.Notes...) {
		if line != said {
			text += "\n" + line
		}
	}
	return text
}

func firstFew(w *prompts.Words, items []todo.Item) string {
	var names []string
	for _, item := range items {
		names = append(names, excerpt(item.Text))
	}
	few := 3
	if len(names) == few+1 {
		few++ // a name takes no more room than "and 1 more"
	}
	return joined(w, names, few)
}

// joined joins the first parts, at most limit, with commas, and adds how many more there are.
func joined(w *prompts.Words, parts []string, limit int) string {
	if len(parts) > limit {
		return strings.Join(parts[:limit], ", ") + fmt.Sprintf(w.More, len(parts)-limit)
	}
	return strings.Join(parts, ", ")
}

// change describes a change of an item by others; empty if the model need not know of it.
func change(w *prompts.Words, d todo.Difference) string {
	before, after := toldItem(w, d.Before), toldItem(w, d.After)
	text, isSet, hasOwnReason := "", d.Before.Status != d.After.Status, d.Before.Reason != d.After.Reason
	switch {
	case d.Kind == todo.Removed:
		return fmt.Sprintf(w.Removed, before)
	case d.Kind == todo.Added:
		text, isSet = fmt.Sprintf(w.Added, after), d.After.Status != todo.Pending
	case d.Kind != todo.Changed:
		return ""
	case d.Before.Text != d.After.Text:
		text = fmt.Sprintf(w.Reworded, before, after)
	case isSet, hasOwnReason:
		return fmt.Sprintf(w.Set, after, d.After.Status) + reasonInBrackets(d.After)
	default:
		return ""
	}
	if isSet {
		text = fmt.Sprintf(w.AndSet, text, d.After.Status)
	}
	if hasOwnReason {
		text += reasonInBrackets(d.After)
	}
	return text
}

// keptChanges describes the user's changes that stay, although the model sent these items as they were before.
func keptChanges(w *prompts.Words, r todo.Report) string {
	var parts []string
	for _, d := range r.Kept {
		switch d.Kind {
		case todo.Moved:
			parts = append(parts, fmt.Sprintf(w.KeptOrder, quoted(r.Ordered)))
		case todo.Changed:
			parts = append(parts, fmt.Sprintf(w.KeptText, toldItem(w, d.After), excerpt(d.Before.Text)))
		default:
			parts = append(parts, change(w, d))
		}
	}
	return joined(w, parts, maxChanges)
}

// quoted quotes each text as [told] does, and joins them with commas.
func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = told(text)
	}
	return strings.Join(all, ", ")
}

// told quotes a text that others wrote, see [todo.Told].
func told(text string) string { return quote(todo.Told(text)) }

// toldItem quotes an item's text, with its number if the text is cut.
func toldItem(w *prompts.Words, i todo.Item) string {
	if todo.Told(i.Text) != i.Text {
		return fmt.Sprintf(w.Item, i.ID, told(i.Text))
	}
	return told(i.Text)
}

// reasonInBrackets returns a space and an item's reason in brackets; empty if there is none.
func reasonInBrackets(i todo.Item) string {
	if i.Reason == "" {
		return ""
	}
	return " (" + told(i.Reason) + ")"
}

// Left returns the text, added to a result, about an earlier session's open list that may be the agent's own. It names
// the items: an agent that sends all of them again continues the list. If not all fit, or there is only one item,
// sending them would not show that the agent knows the list; the text then tells the agent to write its own list.
func Left(w *prompts.Words, s todo.Snapshot) string {
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

// Reminder returns the reminder for an agent that may have forgotten its list; empty if no item is open. It has a first
// sentence (about, a format like [prompts.Words.Reminder]), the open items with their numbers, and advice how to go on
// (goOn). The first sentence must say that texts are data: a person or another program may have written them.
func Reminder(w *prompts.Words, s todo.Snapshot, about, goOn string) string {
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

// saying joins the texts that the function say returns for the items, each after the separator mark, until the reminder
// is full. has counts the bytes already in the reminder, and more counts the items that do not fit.
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

// News returns a text on the changes by others in an agent's list; empty if none concerns the agent's work. The text
// has one phrase for each changed item, and for a new order or title.
func News(w *prompts.Words, r todo.Report) string {
	var parts []string
	for _, d := range r.Unseen {
		if part := change(w, d); part != "" {
			parts = append(parts, part)
		}
	}
	orderKept := slices.ContainsFunc(r.Kept, func(d todo.Difference) bool { return d.Kind == todo.Moved })
	if len(r.Ordered) > 0 && !orderKept {
		parts = append(parts, fmt.Sprintf(w.Ordered, quoted(r.Ordered)))
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
