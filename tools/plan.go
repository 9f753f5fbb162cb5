package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// planView returns the view of create_todos and update_todo: the last column of the table in docs/spec/variants.md.
func planView() todo.View {
	return todo.NewView(map[todo.Status]string{todo.Pending: "pending", todo.InProgress: "running", todo.Completed: "completed",
		todo.Failed: "failed", todo.Cancelled: "failed"})
}

// planText returns the plan as text for a model (P3).
func planText(w *prompts.Words, s todo.Snapshot) string {
	marks := map[string]string{"pending": "[ ]", "running": "[>]", "completed": "[x]", "failed": "[!]"}
	return listing(planView(), s, w.Plan, w.Empty, func(line todo.Line, item todo.Item) string {
		return fmt.Sprintf("  %s #%s %s", marks[line.Status], item.ID, item.Text)
	})
}

func planTool(bare string, input any, read func(*reader, value) *Call) variant {
	return variant{view: planView(), bare: bare, input: input, ids: true, read: read, list: planText}
}

type createTodosInput struct {
	Items []string `json:"items" jsonschema:"minItems=1,description=What to do\\, one text a step\\, in working order"`
}

// readCreateTodos reads the steps of create_todos as whole-list tools read items that are sent as texts.
func readCreateTodos(r *reader, args value) *Call {
	l := wholeList{view: todo.CoreView(), list: "items", text: "content", takesAnyWord: true, takesTexts: true}
	elements, _, ok := r.list(args, l)
	if ok && len(elements) == 0 {
		r.sentence("%s", r.words().NoItems)
	}
	steps := r.lines(elements, l, false)
	created := func(o board.Outcome) string {
		return fmt.Sprintf(r.words().Created, len(steps)) + "\n" + planText(r.words(), o.After)
	}
	return &Call{Target: board.Target{Append: true}, answer: created, Change: func(d *todo.Draft) error {
		appendLines(d, steps...)
		return nil
	}}
}

// appendLines adds an item for each line, in core statuses, at the end of the list.
func appendLines(d *todo.Draft, lines ...todo.Line) {
	for n := range lines {
		lines[n].ID = d.Append(lines[n].Text)[0].ID
	}
	d.Put(todo.CoreView(), lines...)
}

type updateTodoInput struct {
	ID     string `json:"id" jsonschema:"description=The step's number in the plan"`
	Status string `json:"status" jsonschema:"enum=running,enum=completed,enum=failed,description=What it becomes"`
}

// readUpdateTodo reads update_todo, which sets one step's status, only forwards, and perhaps its reason (P2, P4).
func readUpdateTodo(r *reader, args value) *Call {
	id := r.id(args.get("id"), "id", true)
	status, words := args.get("status"), []string{"running", "completed", "failed"} // a step cannot become pending
	if status.kind != '"' || !slices.Contains(words, status.text) {
		r.sentence(r.words().UnknownStatus, unquotedExcerpt(cmp.Or(status.text, status.name())), strings.Join(words, ", "))
	}
	reason := r.detail(args, "", todo.MaxText, "reason")
	change := func(d *todo.Draft) error {
		view := planView()
		item, ok := d.Item(id)
		if !ok {
			return refuse("%s\n%s", noItem(r.words(), d, id), planText(r.words(), todo.Snapshot{Items: d.Items()}))
		}
		becomes, _ := view.Core(status.text)
		switch current := view.Words[item.Status]; current {
		case status.text:
			becomes = item.Status // keep another core status with the same word
		case "completed", "failed":
			return refuse(r.words().Backwards, item.ID, unquotedExcerpt(item.Text), current, status.text)
		}
		d.Put(todo.CoreView(), todo.Line{ID: id, Status: string(becomes), Reason: reason})
		noteEarly(d, r.words())
		return nil
	}
	updated := func(o board.Outcome) string {
		item, _ := o.After.Item(id)
		return fmt.Sprintf(r.words().Updated, item.ID, item.Text, planView().Words[item.Status]) + "\n" + planText(r.words(), o.After)
	}
	return &Call{Target: board.Target{Item: id}, answer: updated, Change: change}
}

// refuse returns an [*todo.InputError] with one sentence.
func refuse(sentence string, args ...any) error {
	return &todo.InputError{Problems: []todo.Problem{{Message: fmt.Sprintf(sentence, args...), Sentence: true}}}
}
