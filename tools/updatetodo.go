package tools

import (
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// updateTodoInput is the arguments of update_todo (system 5).
type updateTodoInput struct {
	ID     string `json:"id"`
	Status string `json:"status" jsonschema:"enum=running,enum=completed,enum=failed"`
}

// updateWords returns the statuses that update_todo accepts. A step begins as
// pending and does not become pending again.
func updateWords() []string { return []string{"running", "completed", "failed"} }

func updateTodo(w prompts.Words) variant {
	view := planView()
	return variant{
		words:  w,
		view:   view,
		input:  updateTodoInput{},
		output: planResult{},
		read: func(r *reader, args value) *Call {
			args = r.arguments(args, "id")
			id := r.id(args.get("id"), "id", true)
			word := r.stepStatus(args.get("status"), w)
			return &Call{Item: id, Change: func(d *todo.Draft) error {
				return setStepStatus(d, view, id, word, w)
			}}
		},
		Result: func(c *Call, out todo.Outcome) Result {
			item, _ := out.After.Item(c.Item)
			return planAnswer(w, fmt.Sprintf(w.Updated, item.ID, item.Text, view.Words[item.Status]), out)
		},
		failure: func(err *todo.InputError) Result { return planFailure(w, err) },
	}
}

func (r *reader) stepStatus(v value, w prompts.Words) string {
	if v.kind == '"' && slices.Contains(updateWords(), v.text) {
		return v.text
	}
	received := v.name()
	if v.kind == '"' {
		received = unquotedExcerpt(v.text)
	}
	r.sentence(w.UnknownStatus, received, strings.Join(updateWords(), ", "))
	return ""
}

// setStepStatus sets one step's status, only forwards
// (docs/spec/variants.md P2, P4).
func setStepStatus(d *todo.Draft, view todo.View, id, word string, w prompts.Words) error {
	item, ok := d.Item(id)
	if !ok {
		return refuse(fmt.Sprintf(w.UnknownID, unquotedExcerpt(id)) + "\n" + planText(w, d.Before()))
	}
	switch current := view.Words[item.Status]; current {
	case word:
		return nil // a core status that shares the word stays
	case "completed", "failed":
		return refuse(fmt.Sprintf(w.Backwards, item.ID, unquotedExcerpt(item.Text), current, word))
	}
	status, _ := view.Core(word)
	d.SetStatus(id, status)
	return nil
}
