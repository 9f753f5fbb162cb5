package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// BuiltIn is a todo tool of a host's own, whose list is mirrored (docs/hooks.md).
type BuiltIn struct {
	Host, Name string // the client's name in MCP, and the tool's
	OneList    bool   // sub-agents write the list of their main agent
	read       func(r *reader, input, response value) *Call
}

// BuiltIns returns all built-in tools that are known.
func BuiltIns() []BuiltIn {
	return []BuiltIn{
		{Host: "claude-code", Name: "TodoWrite", read: mirrorList("todos", "content")},
		{Host: "claude-code", Name: "TaskCreate", OneList: true, read: mirrorCreate},
		{Host: "claude-code", Name: "TaskUpdate", OneList: true, read: mirrorUpdate},
		{Host: "claude-code", Name: "TaskList", OneList: true, read: mirrorTasks},
		{Host: "gemini-cli", Name: "write_todos", read: mirrorList("todos", "description")},
		{Host: "codex", Name: "update_plan", read: mirrorList("plan", "step")},
		{Host: "opencode", Name: "todowrite", read: mirrorList("todos", "content")},
		{Host: "kilo", Name: "todowrite", read: mirrorList("todos", "content")},
		{Host: "qwen-code", Name: "todo_write", read: mirrorQwen},
		{Host: "copilot-cli", Name: "sql", read: mirrorTitles},
		{Host: "kimi-code", Name: "TodoList", read: mirrorTitles},
		{Host: "cursor", Name: "TodoWrite", read: mirrorList("todos", "content")},
	}
}

// FindBuiltIn returns the built-in tool with a name of a host, or of the first host if none is given.
func FindBuiltIn(host, name string) (BuiltIn, bool) {
	for _, b := range BuiltIns() {
		if b.Name == name && (host == "" || b.Host == host) {
			return b, true
		}
	}
	return BuiltIn{}, false
}

// Read parses and checks the tool's input and response, raw JSON that may be empty. The call is nil if the list is
// unchanged. The error is [ErrInvalidJSON] or a [*todo.InputError]. Texts that a list cannot have are mended, since
// the host's tool accepted them.
func (b BuiltIn) Read(input, response json.RawMessage) (*Call, error) {
	in, err := parse(bytes.ToValidUTF8(input, replacement), blank)
	out, err2 := parse(bytes.ToValidUTF8(response, replacement), blank)
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	r := &reader{words: prompts.English().Words}
	call := b.read(r, in.mended(todo.MaxText), out.mended(todo.MaxText))
	return call, r.err()
}

// replacement replaces invalid UTF-8.
var replacement = []byte("\ufffd")

// mended returns a value with texts that a list can have: without control characters, and of at most limit runes; the
// priority, due date and owner have at most [todo.MaxDetail].
func (v value) mended(limit int) value {
	if v.kind == '"' && strings.TrimSpace(v.text) != "" {
		v.text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && !unicode.IsSpace(r) {
				return -1
			}
			return r
		}, v.text)
		if utf8.RuneCountInString(v.text) > limit {
			v.text = todo.Cut(v.text, limit-1) + "…"
		}
		v.text, v.surrogate = cmp.Or(strings.TrimSpace(v.text), string(replacement)), 0
	}
	for i, m := range v.members {
		most := limit
		if m.name == "priority" || m.name == "due_date" || m.name == "owner" {
			most = todo.MaxDetail
		}
		v.members[i].value = m.value.mended(most)
	}
	return v
}

// mirrorList returns the reader of a tool that takes the whole list under one key and its items' texts under another.
// Hosts use core statuses and ids of their own; with merge true a call changes some items.
func mirrorList(list, text string) func(r *reader, input, response value) *Call {
	l := wholeList{view: withIDs(todo.CoreView()), list: list, text: text, active: "activeForm", partly: byMerge, mirrors: true, takesAnyWord: true,
		reads: []string{"blockedBy", "priority", "due_date", "reason", "explanation"}}
	return func(r *reader, input, _ value) *Call {
		if args, ok := r.arguments(input, list); ok {
			return l.read(r, args)
		}
		return &Call{}
	}
}

// mirrorQwen reads Qwen Code's tool, whose response has the resulting list, or none if another hook refused the call.
func mirrorQwen(r *reader, input, response value) *Call {
	if !response.missing() {
		if input = response.get("returnDisplay"); input.get("todos").missing() {
			return nil
		}
	}
	return mirrorList("todos", "content")(r, input, response)
}

// mirrorTitles reads Kimi Code's tool, and Copilot CLI's tool sql, to whose calls the hook adds the session's todos.
// Calls without todos change no list.
func mirrorTitles(r *reader, input, response value) *Call {
	if input.get("todos").missing() {
		return nil
	}
	return mirrorList("todos", "title")(r, input, response)
}
