package tools

import "todo-mcp/internal/todo"

// This file has the whole-list tools that differ from others in names alone.

// todowriteInput is the arguments of todowrite, as opencode and Kilo Code have it.
type todowriteInput struct {
	Todos []todowriteItem `json:"todos" jsonschema:"description=The whole list\\, in working order"`
}

type todowriteItem struct {
	Content  string `json:"content" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status   string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=cancelled,description=How far it is"`
	Priority string `json:"priority,omitempty" jsonschema:"enum=high,enum=medium,enum=low,description=How much it matters"`
}

func todowrite(policy Policy) variant {
	return dialect(shape{view: withCancelled(false), field: "todos", text: "content", details: true, policy: policy}, todowriteInput{}, nil)
}

// manageInput is the arguments of manage_todo_list, as VS Code has it.
type manageInput struct {
	Operation string       `json:"operation,omitempty" jsonschema:"enum=write,enum=read,description=read shows the list"`
	TodoList  []manageItem `json:"todoList,omitempty" jsonschema:"description=The whole list\\, in working order; leave it out to read"`
}

type manageItem struct {
	ID     int    `json:"id" jsonschema:"description=Its number\\, from 1"`
	Title  string `json:"title" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status string `json:"status" jsonschema:"enum=not-started,enum=in-progress,enum=completed,description=How far it is"`
}

func manageTodoList(policy Policy) variant {
	v := todo.View{Keys: true, Words: map[todo.Status]string{todo.Pending: "not-started", todo.InProgress: "in-progress",
		todo.Completed: "completed", todo.Failed: "in-progress", todo.Blocked: "not-started"}}
	return dialect(shape{view: v, field: "todoList", text: "title", reads: true, policy: policy}, manageInput{}, nil)
}

// crushInput is the arguments of todos, as Crush has it.
type crushInput struct {
	Todos []crushItem `json:"todos" jsonschema:"description=The whole list\\, in working order"`
}

type crushItem struct {
	Content    string `json:"content" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status     string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,description=How far it is"`
	ActiveForm string `json:"active_form,omitempty" jsonschema:"description=Shown meanwhile: Running the tests"`
}

func crushTodos(policy Policy) variant {
	return dialect(shape{view: wholeListView(true, "completed"), field: "todos", text: "content", active: "active_form", mayLack: true, policy: policy},
		crushInput{}, nil)
}

// todoListInput is the arguments of TodoList, as Kimi Code has it.
type todoListInput struct {
	Todos []todoListItem `json:"todos,omitempty" jsonschema:"description=The whole list\\, in working order; leave it out to read the list"`
}

type todoListItem struct {
	Title  string `json:"title" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=done,description=How far it is"`
}

func todoList() variant {
	return dialect(shape{view: setTodoListView(), field: "todos", text: "title", reads: true, policy: Allow}, todoListInput{}, nil)
}
