package tools

import (
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// planResult is the structured content of create_todos and update_todo. Its
// items have ids, since update_todo needs them.
type planResult = result[planItem, planCounts]

type planItem struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status" jsonschema:"enum=pending,enum=running,enum=completed,enum=failed"`
}

type planCounts struct {
	Completed int `json:"completed"`
	Running   int `json:"running"`
	Pending   int `json:"pending"`
	Failed    int `json:"failed"`
}

// planView returns the view in the last column of the table in
// docs/spec/variants.md.
func planView() todo.View {
	return todo.View{Words: map[todo.Status]string{
		todo.Pending: "pending", todo.InProgress: "running", todo.Completed: "completed",
		todo.Failed: "failed", todo.Blocked: "pending", todo.Cancelled: "failed",
	}}
}

// planText returns the plan as text for a model (docs/spec/variants.md P3).
func planText(w prompts.Words, s todo.Snapshot) string {
	if len(s.Items) == 0 {
		return w.Empty
	}
	marks := map[string]string{"pending": "[ ]", "running": "[>]", "completed": "[x]", "failed": "[!]"}
	return w.Plan + planLines(planView(), s, func(word string) string { return marks[word] })
}

// planAnswer returns the text and the structured content of a successful call:
// a first line and the plan.
func planAnswer(w prompts.Words, first string, out todo.Outcome) Result {
	notes := resultNotes(w, out)
	shown, n := show(planView(), out.After, func(l todo.Line) planItem { return planItem{l.ID, l.Text, l.Status} })
	return newResult(first+"\n"+planText(w, out.After)+afterPlan(notes), first+notes, out.After, shown,
		planCounts{n["completed"], n["running"], n["pending"], n["failed"]})
}

// planFailure words an error, one problem per line. Sentences stay as they are.
func planFailure(w prompts.Words, err *todo.InputError) Result {
	lines := make([]string, len(err.Problems))
	for i, p := range err.Problems {
		if lines[i] = p.String(); !p.Sentence {
			lines[i] = w.Error + lines[i]
		}
	}
	return Result{Text: strings.Join(lines, "\n")}
}

// refuse returns an [*todo.InputError] with one sentence.
func refuse(sentence string) error {
	return &todo.InputError{Problems: []todo.Problem{{Message: sentence, Sentence: true}}}
}
