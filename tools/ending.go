package tools

import (
	"fmt"
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// answerEnding is what follows the tool's own text in every result: lines on
// what else happened to the list, and whether the call changed anything.
type answerEnding struct {
	lines     []string
	unchanged bool // docs/spec/variants.md V4
	words     prompts.Words
}

// ending words an outcome's report: the open items that the write dropped, what
// people changed before it, and the notes of the change. A repeated call has
// the same report and so the same ending.
func ending(w prompts.Words, o todo.Outcome) answerEnding {
	e := answerEnding{unchanged: !o.Changed && !o.Repeated, words: w}
	if len(o.Dropped) > 0 && !e.unchanged {
		e.lines = append(e.lines, fmt.Sprintf(w.Dropped, firstFew(w, o.Dropped)))
	}
	if changes := personsChanges(w, o.Unseen); changes != "" {
		e.lines = append(e.lines, fmt.Sprintf(whoChanged(w, o.By), changes))
	}
	if o.Elsewhere != "" {
		e.lines = append(e.lines, fmt.Sprintf(w.OtherList, o.Elsewhere))
	}
	e.lines = append(e.lines, o.Notes...)
	return e
}

// whoChanged returns the sentence on who changed the list besides the agent.
func whoChanged(w prompts.Words, by todo.Others) string {
	switch by {
	case todo.Agents:
		return w.AgentChanged
	case todo.PeopleAndAgents:
		return w.BothChanged
	}
	return w.UserChanged
}

// text returns the ending to append to a sentence.
func (e answerEnding) text() string {
	text := ""
	for _, line := range e.lines {
		text += "\n" + line
	}
	if e.unchanged {
		text += " " + e.words.NoChange
	}
	return text
}

// afterPlan returns the ending to append to a plan. It always begins on a new
// line, so that it is not read as part of the last step.
func (e answerEnding) afterPlan() string {
	if len(e.lines) == 0 && e.unchanged {
		return "\n" + e.words.NoChange
	}
	return e.text()
}

// firstFew names the first few of many items.
func firstFew(w prompts.Words, items []todo.Item) string {
	const limit = 3
	names := excerpts(items)
	if len(names) > limit+1 {
		return strings.Join(names[:limit], ", ") + fmt.Sprintf(w.More, len(names)-limit)
	}
	return strings.Join(names, ", ")
}

// personsChanges describes in one line, for a model, what people changed since
// the model last saw the list.
func personsChanges(w prompts.Words, changes []todo.Difference) string {
	var parts []string
	for _, d := range changes {
		switch {
		case d.Kind == todo.Added:
			parts = append(parts, fmt.Sprintf(w.Added, excerpt(d.After.Text)))
		case d.Kind == todo.Removed:
			parts = append(parts, fmt.Sprintf(w.Removed, excerpt(d.Before.Text)))
		case d.Kind == todo.Changed && d.Before.Status != d.After.Status:
			parts = append(parts, fmt.Sprintf(w.Set, excerpt(d.After.Text), d.After.Status)+reasonInBrackets(d.After))
		case d.Kind == todo.Changed && d.Before.Reason != d.After.Reason:
			parts = append(parts, fmt.Sprintf(w.Blocked, excerpt(d.After.Text))+reasonInBrackets(d.After))
		case d.Kind == todo.Changed && (d.Before.Text != d.After.Text || d.Before.Active != d.After.Active):
			parts = append(parts, fmt.Sprintf(w.Reworded, excerpt(d.Before.Text), excerpt(d.After.Text)))
		}
	}
	const limit = 6
	if len(parts) > limit {
		return strings.Join(parts[:limit], ", ") + fmt.Sprintf(w.More, len(parts)-limit)
	}
	return strings.Join(parts, ", ")
}

// reasonInBrackets returns a blocked item's reason in brackets, after a space;
// "" when there is none.
func reasonInBrackets(i todo.Item) string {
	if i.Reason == "" {
		return ""
	}
	return " (" + excerpt(i.Reason) + ")"
}
