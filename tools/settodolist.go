package tools

import (
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// setTodoListInput is the arguments of SetTodoList (system 4). A call with
// Todos left out or null reads the list (docs/spec/variants.md K1).
type setTodoListInput struct {
	Todos []setTodoListItem `json:"todos,omitempty"`
}

type setTodoListItem struct {
	Title  string `json:"title" jsonschema:"minLength=1"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=done"`
	// Priority and DueDate are any text (docs/spec/variants.md K5).
	Priority string `json:"priority,omitempty"`
	DueDate  string `json:"due_date,omitempty"`
}

// itemDetails is what a line says of its item's priority and due date; nil where
// it says nothing, "" where it removes one.
type itemDetails struct {
	priority, dueDate *string
}

// setTodoListResult is system 4's ToolReturnValue (docs/spec/variants.md K3)
// with the list's id and revision. A failed call has neither these nor counts.
type setTodoListResult struct {
	IsError bool                       `json:"is_error"`
	Output  string                     `json:"output"`
	Message string                     `json:"message"`
	Display []display[setTodoListItem] `json:"display"`
	listRef
	Counts *setTodoListCounts `json:"counts,omitempty"`
}

type setTodoListCounts struct {
	Done       int `json:"done"`
	InProgress int `json:"in_progress"`
	Pending    int `json:"pending"`
	Cancelled  int `json:"cancelled,omitempty"`
}

func setTodoListView() todo.View {
	return todo.View{Words: map[todo.Status]string{
		todo.Pending: "pending", todo.InProgress: "in_progress", todo.Completed: "done",
		todo.Failed: "in_progress", todo.Blocked: "pending",
	}}
}

func setTodoList(w prompts.Words) variant {
	view := setTodoListView()
	s := shape{view: view, text: "title", words: view.Accepts()}
	return variant{
		words:  w,
		view:   s.view,
		input:  setTodoListInput{},
		output: setTodoListResult{},
		read: func(r *reader, args value) *Call {
			elements, ok := r.list(args, "todos", true)
			if !ok {
				r.otherCase(args, "todos")
				return &Call{}
			}
			lines := r.lines(elements, "todos", s)
			details := r.details(elements[:len(lines)], "todos")
			return &Call{Lines: lines, Change: func(d *todo.Draft) error {
				d.Replace(s.view, lines)
				setDetails(d, s.view, lines, details)
				return nil
			}}
		},
		Result:  func(c *Call, out todo.Outcome) Result { return setTodoListResultOf(w, s.view, c, out) },
		failure: func(err *todo.InputError) Result { return setTodoListFailure(w, err) },
	}
}

func setTodoListResultOf(w prompts.Words, view todo.View, c *Call, out todo.Outcome) Result {
	shown, n := show(view, out.After, func(l todo.Line) setTodoListItem {
		item, _ := out.After.Item(l.ID)
		return setTodoListItem{Title: l.Text, Status: l.Status, Priority: item.Priority, DueDate: item.DueDate}
	})
	counts := &setTodoListCounts{n["done"], n["in_progress"], n["pending"], n["cancelled"]}
	message, output := "Todo list updated"+resultNotes(w, out), ""
	text := message
	if c.Change == nil {
		message, output = "Todo list read", listing(view, out.After)
		text = output
	}
	r := newResult(text, message, out.After, shown, counts)
	r.Structured = setTodoListResult{Output: output, Message: message, Display: shown,
		listRef: listRef{out.After.List.ID, out.After.Revision}, Counts: counts}
	return r
}

// details reads the priority and the due date of each item of a write.
func (r *reader) details(elements []value, field string) []itemDetails {
	out := make([]itemDetails, len(elements))
	for i, e := range elements {
		path := fmt.Sprintf("%s[%d]", field, i)
		out[i] = itemDetails{r.detail(e.get("priority"), path+".priority"), r.detail(e.get("due_date"), path+".due_date")}
	}
	return out
}

// detail reads an optional text, which may also be sent as a number; it returns
// nil when the text is missing.
func (r *reader) detail(v value, path string) *string {
	switch {
	case v.missing():
		return nil
	case v.kind == '0':
		return &v.text
	case v.kind == '"' && strings.TrimSpace(v.text) == "":
		return new(string)
	}
	text, _ := r.text(v, path, todo.MaxDetail)
	return &text
}

// setDetails sets the details of the items that lines have become. The items of
// a draft that was just replaced stand in the order of the lines. A person may have
// removed some, and others may stand between them.
func setDetails(d *todo.Draft, view todo.View, lines []todo.Line, details []itemDetails) {
	rest := slices.Clone(d.Items())
	for i, line := range lines {
		at := slices.IndexFunc(rest, func(item todo.Item) bool {
			_, shown := view.Show(item)
			return shown && item.IsCalled(line.Text)
		})
		if at >= 0 {
			d.SetDetails(rest[at].ID, details[i].priority, details[i].dueDate)
			rest = rest[at+1:]
		}
	}
}

// listing returns the list as the text of a SetTodoList call that reads.
func listing(view todo.View, s todo.Snapshot) string {
	lines := view.Lines(s.Items)
	if len(lines) == 0 {
		return "The todo list is empty."
	}
	var b strings.Builder
	b.WriteString("Todo list:")
	for _, l := range lines {
		b.WriteString("\n- [" + l.Status + "] " + l.Text)
	}
	return b.String()
}

func setTodoListFailure(w prompts.Words, err *todo.InputError) Result {
	text := validationFailed(err)
	if len(err.Problems) == 1 && err.Problems[0].Sentence {
		text = w.Error + err.Problems[0].Message
	}
	return Result{Text: text, Structured: setTodoListResult{IsError: true, Message: text, Display: []display[setTodoListItem]{}}}
}
