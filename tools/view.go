package tools

import (
	"errors"
	"fmt"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// viewInput is the arguments of the view tool.
type viewInput struct {
	ListID string `json:"list_id"`
}

type viewResult = result[viewItem, viewCounts]

type viewItem struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=failed,enum=cancelled,enum=blocked"`
	Reason string `json:"reason,omitempty"` // why it is blocked
}

type viewCounts struct {
	Completed  int `json:"completed"`
	InProgress int `json:"in_progress"`
	Pending    int `json:"pending"`
	Failed     int `json:"failed"`
	Blocked    int `json:"blocked"`
	Cancelled  int `json:"cancelled"`
}

// NewView returns the tool by which the app page refreshes a list, in core
// statuses. It is not in [Names], since models do not call it. Its calls have
// the list to show in List and a nil Change.
func NewView() (*Tool, error) {
	english, err := prompts.WordsIn(prompts.Languages()[0])
	if err != nil {
		return nil, err
	}
	return pageTool(&Tool{
		Name: "todo_list_view", Title: "View todo list", Idempotent: true,
		Description: "The newest state of a todo list, for the list's own page.",
		variant:     listView(english),
	})
}

// pageTool gives a tool that only the app page calls its schemas.
func pageTool(t *Tool) (*Tool, error) {
	var in, out error
	t.InputSchema, in = marshalSchema(t.Name, schemaOf(t.input))
	t.OutputSchema, out = marshalSchema(t.Name, schemaOf(t.output))
	return t, errors.Join(in, out)
}

func listView(w prompts.Words) variant {
	return variant{
		words:  w,
		view:   todo.CoreView(),
		input:  viewInput{},
		output: viewResult{},
		read:   func(*reader, value) *Call { return &Call{} },
		byList: true,
		Result: func(_ *Call, out todo.Outcome) Result { return viewAnswer(out.After) },
	}
}

func viewAnswer(s todo.Snapshot) Result {
	n := s.Counts()
	text := fmt.Sprintf("%d of %d completed", n[todo.Completed], len(s.Items)-n[todo.Cancelled])
	shown := show(todo.CoreView(), s, func(l todo.Line) viewItem {
		item, _ := s.Item(l.ID)
		return viewItem{l.ID, l.Text, l.Status, item.Reason}
	})
	return newResult(text, text, s, shown, viewCounts{n[todo.Completed], n[todo.InProgress], n[todo.Pending],
		n[todo.Failed], n[todo.Blocked], n[todo.Cancelled]})
}
