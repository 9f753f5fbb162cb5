package tools

import (
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// writeTodos returns system 1's write_todos: the arguments of TodoWrite with
// only the hard caps as limits, and a text that only confirms the write
// (docs/spec/variants.md W1). The server implements its event stream.
func writeTodos(o Options, w prompts.Words) variant {
	v := contentVariant(o, w, shape{})
	v.Result = func(_ *Call, out todo.Outcome) Result {
		text, shown := "Todo list updated"+resultNotes(w, out), showTodoWrite(v.view, out.After, false)
		return newResult(text, text, out.After, shown, todoWriteCountsOf(shown.counts))
	}
	return v
}
