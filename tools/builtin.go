package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// BuiltIn is a todo tool that a host has itself. A list mirrors what it is called
// with (docs/hooks.md).
type BuiltIn struct {
	// Host is the client that has the tool, as it names itself in MCP, and Name is
	// the tool's.
	Host, Name string
	// OneList is true when the sub-agents of a chat write the list of its main agent.
	OneList bool
	read    func(r *reader, input, response value) *Call
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

// FindBuiltIn returns the built-in tool of a host with a name; without a host, the first
// with that name.
func FindBuiltIn(host, name string) (BuiltIn, bool) {
	all := slices.DeleteFunc(BuiltIns(), func(b BuiltIn) bool { return b.Name != name || host != "" && b.Host != host })
	if len(all) == 0 {
		return BuiltIn{}, false
	}
	return all[0], true
}

// Read parses and checks what the tool was called with and what it answered, which
// are raw JSON; either may be empty. The call is nil if the list is as it was. The
// error is [ErrInvalidJSON] or a [*todo.InputError]. A text that no list may have is
// mended: the host's tool took it.
func (b BuiltIn) Read(input, response json.RawMessage) (*Call, error) {
	in, err := parse(bytes.ToValidUTF8(input, replacement), blank)
	if err != nil {
		return nil, err
	}
	out, err := parse(bytes.ToValidUTF8(response, replacement), blank)
	if err != nil {
		return nil, err
	}
	in, out = in.mended(todo.MaxText), out.mended(todo.MaxText)
	r := &reader{words: func() prompts.Words { return prompts.English().Words }}
	call := b.read(r, in, out)
	return call, r.err()
}

// replacement stands in the place of what is no character.
var replacement = []byte("\ufffd")

// mended returns a value whose texts a list may have: without control characters, and at
// most limit runes long, of a detail fewer.
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

// mirrorList returns the reader of a tool that takes the whole list under a key, in which the
// texts of items are under another. Hosts use the core statuses, each some of them, and ids of
// their own; with merge true they change some items.
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

// mirrorQwen reads Qwen Code's tool, whose answer has the list as it stands. Where another
// hook refused the call, the answer has none.
func mirrorQwen(r *reader, input, response value) *Call {
	if !response.missing() {
		if input = response.get("returnDisplay"); input.get("todos").missing() {
			return nil
		}
	}
	return mirrorList("todos", "content")(r, input, response)
}

// mirrorTitles reads what Copilot CLI's tool sql made of the session's todos, which the hook
// adds to the call, and Kimi Code's tool. Other SQL is no matter of a list, and what only reads it.
func mirrorTitles(r *reader, input, response value) *Call {
	if input.get("todos").missing() {
		return nil
	}
	return mirrorList("todos", "title")(r, input, response)
}
