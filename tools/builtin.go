package tools

import (
	"encoding/json"
	"slices"

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
		{"claude-code", "TaskCreate", true, taskCreate},
		{"claude-code", "TaskUpdate", true, taskUpdate},
		{"claude-code", "TaskList", true, taskList},
		{"gemini-cli", "write_todos", false, wholeList("todos", "description")},
		{"codex", "update_plan", false, wholeList("plan", "step")},
		{"opencode", "todowrite", false, wholeList("todos", "content")},
		{"cursor", "TodoWrite", false, cursorTodos},
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
// error is [ErrInvalidJSON] or a [*todo.InputError].
func (b BuiltIn) Read(input, response json.RawMessage) (*Call, error) {
	english, err := prompts.WordsIn(prompts.Languages()[0])
	if err != nil {
		return nil, err
	}
	in, err := parse(input, blank)
	if err != nil {
		return nil, err
	}
	out, err := parse(response, blank)
	if err != nil {
		return nil, err
	}
	r := &reader{words: english}
	call := b.read(r, in, out)
	return call, r.err()
}

// wholeList returns the reader of a tool that takes the whole list.
func wholeList(field, text string) func(*reader, value, value) *Call {
	return func(r *reader, input, _ value) *Call {
		lines := r.hostLines(input, field, text)
		return &Call{Lines: lines, Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }}
	}
}

// hostLines reads items under a field, whose text is under a key. Hosts use the core
// statuses, each some of them, and ids of their own.
func (r *reader) hostLines(input value, field, text string) []todo.Line {
	s := shape{view: todo.CoreView(), text: text, active: "activeForm", mayLack: true, words: coreWords(), details: true}
	elements, ok := r.list(input, field, false)
	if !ok {
		return nil
	}
	lines := r.lines(elements, field, s)
	for i := range lines {
		lines[i].ID = ""
	}
	return lines
}

// coreWords returns the core statuses as words.
func coreWords() (words []string) {
	for _, status := range todo.Statuses() {
		words = append(words, string(status))
	}
	return words
}

// cursorTodos reads Cursor's tool, which with merge true adds items to the list and
// changes those with the same text.
func cursorTodos(r *reader, input, response value) *Call {
	if input.get("merge").kind != 't' {
		return wholeList("todos", "content")(r, input, response)
	}
	lines := r.hostLines(input, "todos", "content")
	return &Call{Append: true, Change: func(d *todo.Draft) error {
		for _, line := range lines {
			at := slices.IndexFunc(d.Items(), func(i todo.Item) bool { return todo.Fold(i.Text) == todo.Fold(line.Text) })
			if at < 0 {
				line.ID = d.Append(line.Text)[0].ID
			} else {
				line.ID = d.Items()[at].ID
			}
			d.Put(todo.CoreView(), line)
		}
		return nil
	}}
}
