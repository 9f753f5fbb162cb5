package tools

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// BuiltIn is a todo tool of a host's own, whose list is mirrored (docs/hooks.md).
type BuiltIn struct {
	Host, Name string // the beginning of the client's name in MCP, and the tool's name
	OneList    bool   // sub-agents write the list of their main agent
	read       func(r *reader, input, response value) *Call
}

// BuiltIns returns all built-in tools that are known.
func BuiltIns() []BuiltIn {
	return []BuiltIn{
		{Host: "claude-code", Name: "TodoWrite", read: mirrorList},
		{Host: "claude-code", Name: "TaskCreate", OneList: true, read: mirrorCreate},
		{Host: "claude-code", Name: "TaskUpdate", OneList: true, read: mirrorUpdate},
		{Host: "claude-code", Name: "TaskList", OneList: true, read: mirrorTasks},
		{Host: "gemini-cli", Name: "write_todos", read: mirrorList},
		{Host: "codex", Name: "update_plan", read: mirrorList},
		{Host: "opencode", Name: "todowrite", read: mirrorList},
		{Host: "kilo", Name: "todowrite", read: mirrorList},
		{Host: "qwen", Name: "todo_write", read: mirrorQwen},
		{Host: "copilot", Name: "sql", read: mirrorList},
		{Host: "kimi-code", Name: "TodoList", read: mirrorList},
		{Host: "cursor", Name: "TodoWrite", read: mirrorList},
	}
}

// FindBuiltIn returns the built-in tool with a host and a name; if the host is empty, the first tool with that name.
func FindBuiltIn(host, name string) (BuiltIn, bool) {
	for _, b := range BuiltIns() {
		if b.Name == name && (host == "" || b.Host == host) {
			return b, true
		}
	}
	return BuiltIn{}, false
}

// Read parses and checks the tool's input and response, raw JSON that may be empty. The call is nil if the list is
// unchanged. The error is [ErrInvalidJSON] or a [*todo.InputError]. Texts that are not valid in a list are repaired,
// since the host's tool accepted them.
func (b BuiltIn) Read(input, response json.RawMessage) (*Call, error) {
	in, err := parse(bytes.ToValidUTF8(input, []byte("\ufffd")), blank)
	out, err2 := parse(bytes.ToValidUTF8(response, []byte("\ufffd")), blank)
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	r := &reader{words: func() *prompts.Words { return prompts.English().Words }, mends: true}
	call := b.read(r, in, out)
	return call, r.err()
}

// mirrorList reads a host's tool that takes the whole list. Hosts use core statuses and ids of their own, and differ in
// the keys of the list and of texts; a call with merge true changes only its items. A call without a list changes
// nothing: Kimi Code reads its list by such a call, and Copilot CLI's tool sql has a list only if our hook added one.
func mirrorList(r *reader, input, _ value) *Call {
	args, _ := r.arguments(input, "todos")
	l := wholeList{view: withIDs(todo.CoreView()), list: "todos", text: "content", active: "activeForm", byMerge: true, mayLackList: true,
		mirrors: true, takesAnyWord: true, reads: []string{"blockedBy", "priority", "due_date", "reason", "explanation"}}
	if call := l.read(r, args); call.Change != nil {
		return call
	}
	return nil
}

// mirrorQwen reads Qwen Code's tool: the list in its response (none if another hook refused), or else in its input.
func mirrorQwen(r *reader, input, response value) *Call {
	if !response.missing() {
		if input = response.get("returnDisplay"); input.get("todos").missing() {
			return nil
		}
	}
	return mirrorList(r, input, response)
}
