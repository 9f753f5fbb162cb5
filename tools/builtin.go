package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
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
		{"claude-code", "TodoWrite", false, wholeList("todos", "content")},
		{"claude-code", "TaskCreate", true, mirrorCreate},
		{"claude-code", "TaskUpdate", true, mirrorUpdate},
		{"claude-code", "TaskList", true, mirrorTasks},
		{"gemini-cli", "write_todos", false, wholeList("todos", "description")},
		{"codex", "update_plan", false, wholeList("plan", "step")},
		{"opencode", "todowrite", false, wholeList("todos", "content")},
		{"kilo", "todowrite", false, wholeList("todos", "content")},
		{"qwen-code", "todo_write", false, qwenTodos},
		{"copilot-cli", "sql", false, copilotTodos},
		{"cursor", "TodoWrite", false, wholeList("todos", "content")},
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

// wholeList returns the reader of a tool that takes the whole list under a field, in which
// the texts of items are under a key. Hosts use the core statuses, each some of them, and
// ids of their own; with merge true they change some items.
func wholeList(field, text string) func(r *reader, input, response value) *Call {
	s := shape{view: todo.CoreView(), field: field, text: text, active: "activeForm", mayLack: true, details: true,
		reasons: true, waits: true, merges: true, explains: true, mirrors: true, policy: Allow}
	s.view.Keys = true
	read := s.reader()
	return func(r *reader, input, _ value) *Call { return read(r, input) }
}

// qwenTodos reads Qwen Code's tool, whose answer has the list as it stands. Where another
// hook refused the call, the answer has none.
func qwenTodos(r *reader, input, response value) *Call {
	if !response.missing() {
		if input = response.get("returnDisplay"); input.get("todos").missing() {
			return nil
		}
	}
	return wholeList("todos", "content")(r, input, response)
}

// copilotTodos reads what Copilot CLI's tool sql made of the session's todos, which the hook
// adds to the call. Other SQL is no matter of a list.
func copilotTodos(r *reader, input, response value) *Call {
	if input.get("todos").missing() {
		return nil
	}
	return wholeList("todos", "title")(r, input, response)
}
