package tools

import (
	"fmt"

	"github.com/invopop/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// hostTools returns our versions of hosts' own tools, with the names and arguments that models know.
func hostTools(o Options) []*Tool {
	return []*Tool{
		// Cursor's, Grok Build's and Qwen Code's.
		{Name: "todo_write", Title: "Update todo list", Idempotent: true, variant: dialect(todoPatchInput{}, wholeList{
			view: withIDs(withCancelled(usual())), list: "todos", text: "content", active: "activeForm",
			reads: []string{"blockedBy"}, byMerge: true, policy: o.InProgress})},
		// Codex's.
		{Name: "update_plan", Title: "Update plan", Idempotent: true, variant: dialect(updatePlanInput{}, wholeList{
			view: usual(), list: "plan", text: "step", reads: []string{"explanation"}, policy: o.InProgress,
			accepted: func(w *prompts.Words) string { return w.PlanUpdated }})},
		// Claude Code's.
		{Name: "TaskCreate", Title: "Add task", variant: tasks("subject", taskCreateInput{}, readTaskCreate)},
		{Name: "TaskUpdate", Title: "Update task", variant: tasks("taskId", taskUpdateInput{}, readTaskUpdate)},
		{Name: "TaskList", Title: "List tasks", Idempotent: true, ReadOnly: true, variant: tasks("", struct{}{}, readOnly)},
		{Name: "TaskGet", Title: "Show task", Idempotent: true, ReadOnly: true, variant: tasks("taskId", taskGetInput{}, readTaskGet)},
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

// todoPatchInput is the arguments of todo_write. If merge is true, or is left out and an item lacks content or status,
// a call changes only the items that it names by id (D1).
type todoPatchInput struct {
	Todos []struct {
		ID        string     `json:"id" jsonschema:"minLength=1,description=Your own short id of the item"`
		Content   string     `json:"content,omitempty" jsonschema:"description=What to do; may be left out with merge"`
		Status    statusWord `json:"status,omitempty" jsonschema:"description=How far it is; may be left out with merge"`
		BlockedBy []string   `json:"blockedBy,omitempty" jsonschema:"description=Ids of items that come first"`
	} `json:"todos" jsonschema:"description=The items to set\\, in working order"`
	planTitle
	Merge bool `json:"merge,omitempty" jsonschema:"description=true changes only these items; false or left out: they are the whole list"`
}

type updatePlanInput struct {
	Explanation string `json:"explanation,omitempty" jsonschema:"description=Why the plan changes"`
	Plan        []struct {
		Step   string     `json:"step" jsonschema:"minLength=1,description=What to do: Run the tests"`
		Status statusWord `json:"status" jsonschema:"description=How far it is"`
	} `json:"plan" jsonschema:"description=All steps\\, in working order"`
	planTitle
}

type todosInput[I any] struct {
	Todos []I `json:"todos" jsonschema:"description=The whole list\\, in working order"`
	planTitle
}

// contentInput has the fields that the items of several tools begin with.
type contentInput struct {
	Content string     `json:"content" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status  statusWord `json:"status" jsonschema:"description=How far it is"`
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

// dialect returns a host's whole-list tool; input is the struct of its arguments. Its calls may also have reasons,
// statuses that its view does not list, and the status words of other tools (T10).
func dialect(input any, l wholeList) variant {
	l.view.Unlisted, l.takesAnyWord, l.saysReady, l.reads = true, true, true, append(l.reads, "reason")
	v := l.tool(input)
	v.ids = l.view.Keys
	return v
}

// readyItems returns the items that are ready to begin and that its function parameter accepts.
func readyItems(items []todo.Item, some func(todo.Item) bool) (ready []todo.Item) {
	waiting := todo.OpenWaits(items)
	for _, i := range items {
		if i.Status == todo.Pending && some(i) && len(waiting(i)) == 0 {
			ready = append(ready, i)
		}
	}
	return ready
}

// todoWriteItem is an item in the arguments of TodoWrite and write_todos. The schema has ID only with Options.ItemIDs
// (T5), and Reason only with AllStatuses (T10).
type todoWriteItem struct {
	ID string `json:"id,omitempty" jsonschema:"description=If every item has the id of an existing one\\, only those change"`
	contentInput
	ActiveForm string `json:"activeForm" jsonschema:"minLength=1,description=Shown meanwhile: Running the tests"`
	Reason     string `json:"reason,omitempty" jsonschema:"description=Why it is blocked\\, failed or was cancelled"`
}

// TodoWriteView returns the view of TodoWrite: the first column of the table in docs/spec/variants.md.
func TodoWriteView() todo.View { return withActive(usual()) }

// todoWrite returns TodoWrite if isOwn is true, else write_todos. The answer of write_todos only confirms the write
// (W1), its items need no active text, and only the hard caps apply to it.
func todoWrite(o Options, isOwn bool) variant {
	if !isOwn {
		o = Options{InProgress: o.InProgress, Statuses: o.Statuses}
	}
	listed, all := TodoWriteView(), o.Statuses == AllStatuses
	if all {
		listed = todo.CoreView()
	}
	l := wholeList{view: listed, list: "todos", text: "content", active: "activeForm", reads: []string{"reason"}, byIDs: true,
		policy: o.InProgress, maxItems: o.MaxItems, maxText: o.MaxContentLength, needsActive: isOwn, listsItems: o.ItemIDs}
	if l.view.Unlisted = !all; !isOwn {
		l.accepted = func(w *prompts.Words) string { return w.ListUpdated }
	}
	v := l.tool(todosInput[todoWriteItem]{})
	v.ids, v.allStatuses = o.ItemIDs, all
	v.prune = func(in *jsonschema.Schema) {
		todos, _ := in.Properties.Get("todos")
		// The schema has the limits, so that a model need not learn them by a refusal. The limit of texts is only in
		// the description: a model may send again a longer text that somebody else wrote (T2), and some clients
		// validate calls by the schema.
		if o.MaxItems > 0 {
			todos.MaxItems = new(uint64(o.MaxItems))
		}
		if o.MaxContentLength > 0 {
			todos.Description += fmt.Sprintf("; texts up to %d characters", o.MaxContentLength)
		}
		if !o.ItemIDs {
			todos.Items.Properties.Delete("id")
		}
		if !all {
			todos.Items.Properties.Delete("reason")
		}
	}
	return v
}

// readableInput is the arguments of a tool that takes a list of items of type I; a call without Todos, or with null,
// reads the list (K1).
type readableInput[I any] struct {
	Todos []I `json:"todos,omitempty" jsonschema:"description=The whole list\\, in working order; leave it out to read the list"`
	planTitle
}

// titleInput has the fields that the items of several tools begin with.
type titleInput struct {
	Title  string     `json:"title" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status statusWord `json:"status" jsonschema:"description=How far it is"`
}

// setTodoListItem is an item in the arguments of SetTodoList. Priority and DueDate are any text (K5).
type setTodoListItem struct {
	titleInput
	Priority string `json:"priority,omitempty" jsonschema:"description=In any words"`
	DueDate  string `json:"due_date,omitempty" jsonschema:"description=In any form"`
}

func setTodoListView() todo.View { return threeWords("pending", "in_progress", "done") }

func setTodoList() variant {
	l := wholeList{view: setTodoListView(), list: "todos", text: "title", mayLackList: true,
		reads: []string{"priority", "due_date"}, accepted: func(w *prompts.Words) string { return w.ListUpdated }}
	v := l.tool(readableInput[setTodoListItem]{})
	v.saysOutput = true
	return v
}
