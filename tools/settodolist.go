package tools

import (
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// readableInput is the arguments of a tool that takes a list of items I; a call without Todos,
// or with null, reads the list (K1).
type readableInput[I any] struct {
	Todos []I `json:"todos,omitempty" jsonschema:"description=The whole list\\, in working order; leave it out to read the list"`
	planTitle
}

// titleInput is the fields that the items of several tools have.
type titleInput struct {
	Title  string `json:"title" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status string `json:"status" jsonschema:"enum=STATUSES,description=How far it is"`
}

// setTodoListItem is an item in the arguments and results of SetTodoList. Priority and DueDate
// are any text (K5).
type setTodoListItem struct {
	titleInput
	Priority string `json:"priority,omitempty" jsonschema:"description=In any words"`
	DueDate  string `json:"due_date,omitempty" jsonschema:"description=In any form"`
}

// setTodoListResult is the structured content of SetTodoList (K3). A failed call has neither list, revision nor
// counts.
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

func setTodoListView() todo.View { return threeWords("pending", "in_progress", "done") }

func setTodoList() variant {
	l := wholeList{view: setTodoListView(), list: "todos", text: "title", mayLackList: true, reads: []string{"priority", "due_date"}}
	return variant{view: l.view, bare: l.list, input: readableInput[setTodoListItem]{}, output: setTodoListResult{}, read: l.read,
		answer: setTodoListAnswer, failure: setTodoListFailure}
}

func setTodoListAnswer(w prompts.Words, c *Call, out board.Outcome) Result {
	view := setTodoListView()
	shown, n := show(view, out.After, func(l todo.Line, item todo.Item) setTodoListItem {
		return setTodoListItem{titleInput{l.Text, l.Status}, item.Priority, item.DueDate}
	})
	counts := &setTodoListCounts{n[todo.Completed], n[todo.InProgress], n[todo.Pending], n[todo.Cancelled]}
	message, output := w.ListUpdated+resultNotes(w, out), ""
	text := message
	if c.Change == nil {
		message, output = w.ListRead, listing(w, view, out.After)
		text = output
	}
	r := newResult(text, message, out.After, shown, counts)
	r.Structured = setTodoListResult{Output: output, Message: message, Display: shown,
		listRef: listRef{out.After.List.ID, out.After.Revision}, Counts: counts}
	return r
}

// listing returns the list as the text of a call that reads.
func listing(w prompts.Words, view todo.View, s todo.Snapshot) string {
	lines := view.Lines(s.Items)
	if len(lines) == 0 {
		return w.ListEmpty
	}
	var b strings.Builder
	b.WriteString(w.List)
	for _, l := range lines {
		b.WriteString("\n- [" + l.Status + "] " + l.Text)
	}
	return b.String()
}

func setTodoListFailure(w prompts.Words, err *todo.InputError) Result {
	text := validationFailed(w, err)
	return Result{Text: text, Structured: setTodoListResult{IsError: true, Message: text, Display: []display[setTodoListItem]{}}}
}
