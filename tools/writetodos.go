package tools

import "todo-mcp/internal/todo"

// writeTodos is system 1's write_todos: TodoWrite's arguments under the hard
// caps alone, and a result that says no more than that it was done (VARIANTS.md
// W1). Its event stream is the server's.
func writeTodos(o Options) variant {
	v := contentVariant(o, shape{})
	v.result = func(_ *Call, out todo.Outcome) (string, any) {
		text := "Todo list updated" + ending(out).text()
		return text, todoWriteStructured(v.view, text, out.After, false)
	}
	return v
}
