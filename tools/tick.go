package tools

import (
	"strconv"
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// tickInput is the arguments of the tick tool.
type tickInput struct {
	ListID string `json:"list_id"`
	ItemID string `json:"item_id"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=failed,enum=cancelled,enum=blocked"`
	// Revision is the one that the person saw: what others changed since is kept.
	Revision int64 `json:"revision,omitempty"`
}

// NewTick returns the tool by which a person sets one item's status on the app
// page, in core statuses. It is not in [Names], since models do not call it. Its
// result is that of [NewView], and its failures are worded for the person.
func NewTick() (*Tool, error) {
	english, err := prompts.WordsIn(prompts.Languages()[0])
	if err != nil {
		return nil, err
	}
	return pageTool(&Tool{
		Name: "todo_list_tick", Title: "Tick todo item", Idempotent: true,
		Description: "Sets the status of one item for a person, from the list's own page.",
		variant:     listTick(english),
	})
}

func listTick(w prompts.Words) variant {
	v := listView(w)
	v.input = tickInput{}
	v.read = func(r *reader, args value) *Call {
		item := r.id(args.get("item_id"), "item_id")
		if args.get("item_id").missing() {
			r.problem("item_id", w.Required)
		}
		status := todo.Status(r.status(args.get("status"), "status", v.view.Accepts()))
		seen := r.revision(args.get("revision"), "revision")
		return &Call{Edit: todo.Edit{Do: todo.EditStatus, Item: item, Status: status, Seen: seen}}
	}
	v.failure = func(err *todo.InputError) Result {
		messages := make([]string, len(err.Problems))
		for i, p := range err.Problems {
			messages[i] = p.String()
		}
		return Result{Text: "Error: " + strings.Join(messages, ". ")}
	}
	return v
}

// revision reads the number of a revision, 0 when it is missing.
func (r *reader) revision(v value, path string) int64 {
	if v.missing() {
		return 0
	}
	n, err := strconv.ParseInt(wholeNumber(v.text), 10, 64)
	if v.kind != '0' || err != nil || n < 0 {
		r.problemf(path, r.words.WrongType, "revision number", v.name())
		return 0
	}
	return n
}
