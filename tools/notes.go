package tools

import (
	"fmt"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// resultNotes returns what follows the tool's own text in each result: that nothing changed (V4), or lines about open
// items that the write dropped, changes of other people and agents, and the notes of the change. A repeated call has
// the same report, and so the same notes.
func resultNotes(w prompts.Words, o board.Outcome) string {
	var lines []string
	unchanged := !o.Changed && !o.Repeated
	say := func(format string, items []todo.Item) {
		if len(items) > 0 {
			lines = append(lines, fmt.Sprintf(format, firstFew(w, items)))
		}
	}
	if o.Continues != "" {
		lines = append(lines, fmt.Sprintf(w.Continues, quote(o.Continues)))
	}
	say(w.PutAway, o.PutAway.Open)
	if !unchanged {
		say(w.Dropped, o.Dropped)
		say(w.Reopened, o.Reopened)
	}
	if news := News(w, o.Report); news != "" {
		lines = append(lines, news)
	}
	if kept := keptChanges(w, o.Report); kept != "" {
		lines = append(lines, fmt.Sprintf(w.Kept, kept))
	}
	say(w.Held, o.Held)
	if o.Elsewhere != "" {
		lines = append(lines, fmt.Sprintf(w.OtherList, o.Elsewhere))
	}
	text := ""
	if unchanged {
		text = " " + w.NoChange
	}
	for _, line := range append(lines, o.Notes...) {
		text += "\n" + line
	}
	return text
}

// afterPlan returns notes that stand below a plan. They begin on a new line, so that they are not read as part of the
// last step.
func afterPlan(notes string) string {
	if text, unchanged := strings.CutPrefix(notes, " "); unchanged {
		return "\n" + text
	}
	return notes
}

func firstFew(w prompts.Words, items []todo.Item) string {
	var names []string
	for _, item := range items {
		names = append(names, excerpt(item.Text))
	}
	few := 3
	if len(names) == few+1 {
		few++ // no longer than "and 1 more", and it says more
	}
	return joined(w, names, few)
}

// maxChanges is how many changes of others an answer lists; more are counted.
const maxChanges = 30

// joined joins the first parts with commas, and says how many more there are.
func joined(w prompts.Words, parts []string, limit int) string {
	if len(parts) > limit {
		return strings.Join(parts[:limit], ", ") + fmt.Sprintf(w.More, len(parts)-limit)
	}
	return strings.Join(parts, ", ")
}

// change describes what others did to an item; empty if the model need not know.
func change(w prompts.Words, d todo.Difference) string {
	before, after := toldItem(w, d.Before), toldItem(w, d.After)
	if d.Kind == todo.Changed && d.Before.Text != d.After.Text {
		after = told(d.After.Text)
		if isCut(d.After.Text) && !isCut(d.Before.Text) {
			before = fmt.Sprintf(w.Item, d.Before.ID, before)
		}
	}
	text, reworded, set := "", d.Before.Text != d.After.Text, d.Before.Status != d.After.Status
	switch {
	case d.Kind == todo.Removed:
		return fmt.Sprintf(w.Removed, before)
	case d.Kind == todo.Added:
		text, set = fmt.Sprintf(w.Added, after), d.After.Status != todo.Pending
	case d.Kind != todo.Changed:
		return ""
	case reworded:
		text = fmt.Sprintf(w.Reworded, before, after)
	case set, d.Before.Reason != d.After.Reason && d.After.Status != todo.Blocked:
		return fmt.Sprintf(w.Set, after, d.After.Status) + reasonInBrackets(d.After)
	case d.Before.Reason != d.After.Reason:
		text = fmt.Sprintf(w.Blocked, after)
	default:
		return ""
	}
	if set {
		text = fmt.Sprintf(w.AndSet, text, d.After.Status)
	}
	if d.Before.Reason == d.After.Reason {
		return text
	}
	return text + reasonInBrackets(d.After)
}

// keptChanges describes what the user changed and keeps, although the model sent it as it was before.
func keptChanges(w prompts.Words, r todo.Report) string {
	var parts []string
	for _, d := range r.Kept {
		switch d.Kind {
		case todo.Moved:
			parts = append(parts, fmt.Sprintf(w.KeptOrder, quoted(r.Ordered, told)))
		case todo.Changed:
			parts = append(parts, fmt.Sprintf(w.KeptText, toldItem(w, d.After), excerpt(d.Before.Text)))
		default:
			parts = append(parts, change(w, d))
		}
	}
	return joined(w, parts, maxChanges)
}

// quoted joins texts with commas, each quoted by a function.
func quoted(texts []string, quote func(string) string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = quote(text)
	}
	return strings.Join(all, ", ")
}

// told quotes a text that others wrote, see [todo.Told].
func told(text string) string { return quote(todo.Told(text)) }

// toldItem quotes an item's text, with its number if the text is cut.
func toldItem(w prompts.Words, i todo.Item) string {
	if isCut(i.Text) {
		return fmt.Sprintf(w.Item, i.ID, told(i.Text))
	}
	return told(i.Text)
}

// isCut reports whether told cuts a text.
func isCut(text string) bool { return todo.Told(text) != text }

// reasonInBrackets returns a space and an item's reason in brackets; empty if there is none.
func reasonInBrackets(i todo.Item) string {
	if i.Reason == "" {
		return ""
	}
	return " (" + told(i.Reason) + ")"
}
