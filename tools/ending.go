package tools

import (
	"fmt"
	"strings"

	"todo-mcp/internal/todo"
)

// answerEnding is what stands behind every result's own words: lines on what
// else happened to the list, and whether the call changed anything.
type answerEnding struct {
	lines     []string
	unchanged bool // VARIANTS.md V4
}

// ending words an outcome's report: open items that the write left out, what a
// person changed before it, and what the change itself noted. A repeated call
// has the same report and so the same ending.
func ending(o todo.Outcome) answerEnding {
	e := answerEnding{unchanged: !o.Changed && !o.Repeated}
	if len(o.Dropped) > 0 && !e.unchanged {
		e.lines = append(e.lines, "Dropped while open: "+fewOf(o.Dropped))
	}
	if changes := personsChanges(o.Unseen); changes != "" {
		e.lines = append(e.lines, "The user changed the list: "+changes)
	}
	e.lines = append(e.lines, o.Notes...)
	return e
}

const noChange = "(no change)"

// text is the ending as it continues a sentence.
func (e answerEnding) text() string {
	text := ""
	for _, line := range e.lines {
		text += "\n" + line
	}
	if e.unchanged {
		text += " " + noChange
	}
	return text
}

// afterPlan is the ending as it stands behind a plan, where it must not read
// like part of the last step.
func (e answerEnding) afterPlan() string {
	if len(e.lines) == 0 && e.unchanged {
		return "\n" + noChange
	}
	return e.text()
}

// fewOf names the first few of many items.
func fewOf(items []todo.Item) string {
	const most = 3
	names := texts(items)
	if len(names) > most+1 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// personsChanges says in one line, for a model, what a person changed since the
// model last saw the list.
func personsChanges(changes []todo.Difference) string {
	var parts []string
	for _, d := range changes {
		switch {
		case d.Kind == todo.Added:
			parts = append(parts, "added "+excerpt(d.After.Text))
		case d.Kind == todo.Removed:
			parts = append(parts, "removed "+excerpt(d.Before.Text))
		case d.Kind == todo.Changed && d.Before.Status != d.After.Status:
			parts = append(parts, "set "+excerpt(d.After.Text)+" to "+string(d.After.Status)+reasonInBrackets(d.After))
		case d.Kind == todo.Changed && d.Before.Reason != d.After.Reason:
			parts = append(parts, excerpt(d.After.Text)+" is blocked"+reasonInBrackets(d.After))
		case d.Kind == todo.Changed:
			parts = append(parts, "reworded "+excerpt(d.Before.Text)+" to "+excerpt(d.After.Text))
		}
	}
	const most = 6
	if len(parts) > most {
		return strings.Join(parts[:most], ", ") + fmt.Sprintf(" and %d more", len(parts)-most)
	}
	return strings.Join(parts, ", ")
}

// reasonInBrackets returns a blocked item's reason, to stand behind its status;
// empty when there is none.
func reasonInBrackets(i todo.Item) string {
	if i.Reason == "" {
		return ""
	}
	return " (" + excerpt(i.Reason) + ")"
}
