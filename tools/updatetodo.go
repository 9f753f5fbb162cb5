package tools

import (
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// The arguments of update_todo (system 5).
type updateTodoInput struct {
	ID     string `json:"id"`
	Status string `json:"status" jsonschema:"enum=running,enum=completed,enum=failed"`
}

// updateWords are the statuses update_todo takes; a step begins as pending and
// does not go back to it.
func updateWords() []string { return []string{"running", "completed", "failed"} }

func updateTodo(o Options, w prompts.Words) variant {
	view := planView()
	return variant{
		view:   view,
		input:  updateTodoInput{},
		output: planResult{},
		read: func(r *reader, args value) *Call {
			args = r.arguments(args, "id")
			id := r.id(args.get("id"), "id")
			if id == "" && len(r.problems) == 0 {
				r.problem("id", "Required")
			}
			word := r.stepStatus(args.get("status"), w)
			return &Call{Item: id, Change: func(d *todo.Draft) error {
				return move(d, view, id, word, w, o.FreeTransitions)
			}}
		},
		result: func(c *Call, out todo.Outcome) (string, any) {
			item, _ := out.After.Item(c.Item)
			return planAnswer(w, fmt.Sprintf(w.Updated, item.ID, item.Text, view.Words[item.Status]), out)
		},
		failure: planFailure,
	}
}

func (r *reader) stepStatus(v value, w prompts.Words) string {
	if v.kind == '"' && slices.Contains(updateWords(), v.text) {
		return v.text
	}
	received := v.name()
	if v.kind == '"' {
		received = bare(v.text)
	}
	r.sentence(w.UnknownStatus, received, strings.Join(updateWords(), ", "))
	return ""
}

// move sets one step's status, forwards only unless free (VARIANTS.md P2, P4).
func move(d *todo.Draft, view todo.View, id, word string, w prompts.Words, free bool) error {
	item, ok := d.Item(id)
	if !ok {
		sentence := fmt.Sprintf(w.UnknownID, bare(id))
		if plan := planText(w, d.Before()); plan != "" {
			sentence += "\n" + plan
		}
		return refuse(sentence)
	}
	has := view.Words[item.Status]
	if has == word {
		return nil // also keeps a status this tool has no word for
	}
	if rank(word) <= rank(has) && !free {
		return refuse(fmt.Sprintf(w.Backwards, item.ID, bare(item.Text), has, word))
	}
	status, _ := view.Core(word)
	d.SetStatus(id, status)
	return nil
}

// rank orders the words along a step's life.
func rank(word string) int {
	switch word {
	case "pending":
		return 0
	case "running":
		return 1
	default:
		return 2
	}
}
