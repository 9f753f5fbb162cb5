package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// hostTools returns the tools that hosts have themselves, with the names and arguments that models know.
func hostTools(o Options) []*Tool {
	return []*Tool{
		// Cursor's, Grok Build's and Qwen Code's.
		{Name: "todo_write", Title: "Update todo list", Idempotent: true, variant: dialect(todoPatchInput{}, wholeList{
			view: withIDs(withCancelled(usual())), list: "todos", text: "content", active: "activeForm",
			reads: []string{"blockedBy"}, partly: byMerge, policy: o.InProgress})},
		// Codex's.
		{Name: "update_plan", Title: "Update plan", Idempotent: true, variant: dialect(updatePlanInput{}, wholeList{
			view: usual(), list: "plan", text: "step", reads: []string{"explanation"}, policy: o.InProgress,
			accepted: func(w prompts.Words) string { return w.PlanUpdated }})},
		// Claude Code's.
		{Name: "TaskCreate", Title: "Add task", variant: tasks("subject", taskCreateInput{}, readTaskCreate, taskCreated)},
		{Name: "TaskUpdate", Title: "Update task", variant: tasks("taskId", taskUpdateInput{}, readTaskUpdate, taskUpdated)},
		{Name: "TaskList", Title: "List tasks", Idempotent: true, ReadOnly: true, variant: tasks("", struct{}{}, readOnly,
			func(w prompts.Words, _ *Call, out board.Outcome) string { return tasksText(w, out.After) })},
		{Name: "TaskGet", Title: "Show task", Idempotent: true, ReadOnly: true, variant: tasks("taskId", taskGetInput{}, readTaskGet, taskShownAlone)},
		// opencode's and Kilo Code's.
		{Name: "todowrite", File: "opencode_todowrite", Title: "Update todo list", Idempotent: true, variant: dialect(todosInput[prioritized]{}, wholeList{
			view: withCancelled(usual()), list: "todos", text: "content", reads: []string{"priority", "due_date"}, policy: o.InProgress})},
		// VS Code's.
		{Name: "manage_todo_list", Title: "Manage todo list", Idempotent: true, variant: dialect(manageInput{}, wholeList{
			view: withIDs(threeWords("not-started", "in-progress", "completed")), list: "todoList", text: "title", mayLackList: true, policy: o.InProgress})},
		// Crush's.
		{Name: "todos", Title: "Update todo list", Idempotent: true, variant: dialect(todosInput[withActiveForm]{}, wholeList{
			view: withActive(usual()), list: "todos", text: "content", active: "active_form", policy: o.InProgress})},
		// Kimi Code's.
		{Name: "TodoList", Title: "Update todo list", Idempotent: true, variant: dialect(readableInput[titleInput]{}, wholeList{
			view: setTodoListView(), list: "todos", text: "title", mayLackList: true})},
	}
}

// todoPatchInput is the arguments of todo_write. With merge, or where an item lacks content or status, a call changes
// only the items that it names by id (D1).
type todoPatchInput struct {
	Todos []struct {
		ID        string   `json:"id" jsonschema:"minLength=1,description=Your own short id of the item"`
		Content   string   `json:"content,omitempty" jsonschema:"description=What to do; may be left out with merge"`
		Status    string   `json:"status,omitempty" jsonschema:"enum=STATUSES,description=How far it is; may be left out with merge"`
		BlockedBy []string `json:"blockedBy,omitempty" jsonschema:"description=Ids of items that come first"`
	} `json:"todos" jsonschema:"description=The items to set\\, in working order"`
	planTitle
	Merge bool `json:"merge,omitempty" jsonschema:"description=true changes only these items; false or left out: they are the whole list"`
}

type updatePlanInput struct {
	Explanation string `json:"explanation,omitempty" jsonschema:"description=Why the plan changes"`
	Plan        []struct {
		Step   string `json:"step" jsonschema:"minLength=1,description=What to do: Run the tests"`
		Status string `json:"status" jsonschema:"enum=STATUSES,description=How far it is"`
	} `json:"plan" jsonschema:"description=All steps\\, in working order"`
	planTitle
}

// todosInput is the arguments of a tool that takes a list of items I.
type todosInput[I any] struct {
	Todos []I `json:"todos" jsonschema:"description=The whole list\\, in working order"`
	planTitle
}

// contentInput is the fields that the items of several tools have.
type contentInput struct {
	Content string `json:"content" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status  string `json:"status" jsonschema:"enum=STATUSES,description=How far it is"`
}

type prioritized struct {
	contentInput
	Priority string `json:"priority,omitempty" jsonschema:"enum=high,enum=medium,enum=low,description=How much it matters"`
}

type manageInput struct {
	Operation string `json:"operation,omitempty" jsonschema:"enum=write,enum=read,description=read shows the list"`
	TodoList  []struct {
		ID int `json:"id" jsonschema:"description=Its number\\, from 1"`
		titleInput
	} `json:"todoList,omitempty" jsonschema:"description=The whole list\\, in working order; leave it out to read"`
	planTitle
}

type withActiveForm struct {
	contentInput
	ActiveForm string `json:"active_form,omitempty" jsonschema:"description=Shown meanwhile: Running the tests"`
}

// listShown is an item in the structured content of these whole-list tools.
type listShown struct {
	ID        string   `json:"id,omitempty"`
	Title     string   `json:"title"`
	Status    string   `json:"status"`
	Priority  string   `json:"priority,omitempty"`
	BlockedBy []string `json:"blockedBy,omitempty"` // only open items
}

// dialect returns a host's whole-list tool; input is the struct of its arguments. Calls may also have statuses that
// its view does not list, other tools' words, and reasons (T10).
func dialect(input any, l wholeList) variant {
	listed := l.view
	l.view.Unlisted, l.takesAnyWord, l.reads = true, true, append(l.reads, "reason")
	return variant{view: l.view, bare: l.list, input: input, output: result[listShown, counts]{}, read: l.read, failure: planFailure,
		answer: func(w prompts.Words, c *Call, out board.Outcome) Result {
			waiting := todo.OpenWaits(out.After.Items)
			shown, n := show(listed, out.After, func(line todo.Line, item todo.Item) listShown {
				shown := listShown{Title: line.Text, Status: line.Status, Priority: item.Priority, BlockedBy: listed.IDs(waiting(item))}
				if listed.Keys {
					shown.ID = line.ID
				}
				return shown
			})
			text := ""
			switch {
			case c.Change == nil:
				text = listing(w, listed, out.After)
			case l.accepted != nil:
				text = l.accepted(w) + resultNotes(w, out)
			default:
				text = w.ListUpdated + ": " + countsText(l.view, out.After) + readyNext(w, listed, out.After.Items) + resultNotes(w, out)
			}
			return newResult(text, text, out.After, shown, countsOf(n))
		}}
}

// readyNext names the items that can be begun; empty if there are none, or none ever waited for another.
func readyNext(w prompts.Words, view todo.View, items []todo.Item) string {
	ready := readyItems(items, func(todo.Item) bool { return true })
	if len(ready) == 0 || !slices.ContainsFunc(items, func(i todo.Item) bool { return i.WaitsFor != "" }) {
		return ""
	}
	return fmt.Sprintf(w.Ready, strings.Join(view.IDs(ready[:min(len(ready), maxReady)]), ", "))
}

// readyItems returns the items that can be begun and for which some returns true.
func readyItems(items []todo.Item, some func(todo.Item) bool) (ready []todo.Item) {
	waiting := todo.OpenWaits(items)
	for _, i := range items {
		if i.Status == todo.Pending && some(i) && len(waiting(i)) == 0 {
			ready = append(ready, i)
		}
	}
	return ready
}

// maxReady is how many items that can be begun an answer names.
const maxReady = 5
