package tools

import "todo-mcp/internal/todo"

// writeTodos returns system 1's write_todos: the arguments of TodoWrite with
// only the hard caps as limits, and a text that only confirms the write
// (docs/spec/variants.md W1). The server implements its event stream.
func writeTodos(o Options) variant {
	v := contentVariant(o, shape{})
	v.result = func(_ *Call, out todo.Outcome) (string, content) {
		text := "Todo list updated" + ending(out).text()
		return text, todoWriteStructured(v.view, text, out.After, false)
	}
	return v
}
