package tools

import (
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// planResult is the structured content of create_todos and update_todo, which
// work by id.
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

// planView is the last column of VARIANTS.md's table.
func planView() todo.View {
	return todo.View{Words: map[todo.Status]string{
		todo.Pending: "pending", todo.InProgress: "running", todo.Completed: "completed",
		todo.Failed: "failed", todo.Blocked: "pending", todo.Cancelled: "failed",
	}}
}

// planText is the plan as a model reads it (VARIANTS.md P3).
func planText(w prompts.Words, s todo.Snapshot) string {
	if len(s.Items) == 0 {
		return w.Empty
	}
	return w.Plan + planLines(planView(), s, planMarker)
}

func planMarker(word string) string {
	switch word {
	case "running":
		return "[>]"
	case "completed":
		return "[x]"
	case "failed":
		return "[!]"
	default:
		return "[ ]"
	}
}

// planAnswer puts a first line and the plan together.
func planAnswer(w prompts.Words, first string, out todo.Outcome) (string, any) {
	end := ending(out)
	n := tally(planView(), out.After)
	return first + "\n" + planText(w, out.After) + end.afterPlan(), planResult{
		Message: first + end.text(),
		Display: show(planView(), out.After, func(l todo.Line) planItem { return planItem{l.ID, l.Text, l.Status} }),
		place:   placeOf(out.After),
		Counts:  planCounts{n["completed"], n["running"], n["pending"], n["failed"]},
	}
}

// planFailure words an error as the language table has it: whole sentences.
func planFailure(err *todo.InputError) (string, any) {
	text := ""
	for i, p := range err.Problems {
		if i > 0 {
			text += "\n"
		}
		if !p.Sentence {
			text += "Error: "
		}
		text += p.String()
	}
	return text, nil
}

// refuse makes an error of one sentence.
func refuse(sentence string) error {
	return &todo.InputError{Problems: []todo.Problem{{Message: sentence, Sentence: true}}}
}
