package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
		{"kilo", "todowrite", false, wholeList("todos", "content")},
		{"qwen-code", "todo_write", false, qwenTodos},
		{"copilot-cli", "sql", false, copilotTodos},
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

// wholeList returns the reader of a tool that takes the whole list under a field, in which
// the texts of items are under a key. Hosts use the core statuses, each some of them, and
// ids of their own.
func wholeList(field, text string) func(r *reader, input, response value) *Call {
	s := shape{view: todo.CoreView(), field: field, text: text, active: "activeForm", mayLack: true, details: true,
		foreign: true, policy: Allow}
	read := s.reader()
	return func(r *reader, input, _ value) *Call { return read(r, input) }
}

// cursorTodos reads Cursor's tool, which with merge true adds items to the list and
// changes those with the same text.
func cursorTodos(r *reader, input, response value) *Call {
	call := wholeList("todos", "content")(r, input, response)
	if input.get("merge").kind != 't' {
		return call
	}
	return &Call{Target: todo.Target{Append: true}, Change: func(d *todo.Draft) error {
		for _, line := range call.Lines {
			at := slices.IndexFunc(d.Items(), func(i todo.Item) bool { return todo.Fold(i.Text) == todo.Fold(line.Text) })
			if at < 0 {
				line.ID = d.Append(line.Text)[0].ID
			} else {
				line.ID = d.Items()[at].ID
			}
			d.Put(line)
		}
		return nil
	}}
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

// unnamed returns the text of a task of which only updates are known yet: a hook of its
// TaskCreate is slower, or there was none.
func unnamed(id string) string { return "Task " + id }

// taskCreate reads TaskCreate, whose answer has the id of the task.
func taskCreate(r *reader, input, response value) *Call {
	t := todo.Line{ID: r.taskID(response.get("task").get("id"), "tool_response.task.id")}
	t.Text, _ = r.text(input.get("subject"), "subject", 0)
	t.Active = r.optional(input, "activeForm")
	return &Call{Target: todo.Target{Item: t.ID, Append: true}, Change: func(d *todo.Draft) error {
		// What a quicker hook of an update said of it stays.
		if now, isKnown := d.Item(t.ID); !isKnown || now.Text == unnamed(t.ID) {
			d.Put(t)
		}
		return nil
	}}
}

func taskUpdate(r *reader, input, response value) *Call {
	if response.get("success").kind == 'f' {
		return nil // there is no such task
	}
	deletes := input.get("status").text == "deleted"
	if deletes {
		input = value{kind: '{', members: []member{{"taskId", input.get("taskId")}}}
	}
	t := r.task(input, "", "taskId", "addBlockedBy")
	t.Active = r.optional(input, "activeForm")
	lines := []todo.Line{t}
	for _, blocked := range r.taskIDs(input.get("addBlocks"), "addBlocks") {
		lines = append(lines, todo.Line{ID: blocked, Waits: t.ID})
	}
	return &Call{Target: todo.Target{Item: t.ID, Append: !deletes}, Change: func(d *todo.Draft) error {
		if deletes {
			_ = d.Edit(todo.Edit{Do: todo.EditRemove, Item: t.ID}) // it may be gone
		} else if _, isKnown := d.Item(t.ID); !isKnown {
			d.Put(todo.Line{ID: t.ID, Text: unnamed(t.ID)})
		}
		d.Put(lines...)
		return nil
	}}
}

// taskList reads the answer of TaskList, by which tasks are mirrored that were made
// when no hook was there.
func taskList(r *reader, _, response value) *Call {
	elements := response.get("tasks").elements()
	if len(elements) == 0 {
		return nil
	}
	if len(elements) > todo.MaxItems {
		r.problemf("tasks", "Must have at most %d items, received %d", todo.MaxItems, len(elements))
		return nil
	}
	tasks := make([]todo.Line, len(elements))
	for i, e := range elements {
		tasks[i] = r.task(e.value, fmt.Sprintf("tasks[%d].", i), "id", "blockedBy")
	}
	return &Call{Target: todo.Target{Append: true}, Change: func(d *todo.Draft) error {
		d.Put(slices.DeleteFunc(slices.Clone(tasks), func(t todo.Line) bool {
			_, isKnown := d.Item(t.ID)
			return !isKnown && t.Status == string(todo.Completed) // of an earlier list of the chat, perhaps
		})...)
		return nil
	}}
}

// task reads what an object says of a task, its id and the ids of those that come first
// under these keys. Of what it does not say the line has nothing.
func (r *reader) task(v value, path, id, waits string) todo.Line {
	t := todo.Line{ID: r.taskID(v.get(id), path+id), Text: r.optional(v, "subject")}
	t.Waits = strings.Join(r.taskIDs(v.get(waits), path+waits), ",")
	if status := v.get("status"); !status.missing() {
		t.Status = r.status(status, path+"status", todo.CoreView().Accepts())
	}
	t.Owner = r.detail(v.get("owner"), path+"owner", todo.MaxDetail)
	return t
}

func (r *reader) optional(v value, key string) string {
	if v.get(key).missing() {
		return ""
	}
	text, _ := r.text(v.get(key), key, 0)
	return text
}

// taskID reads the id of a task, which is a number.
func (r *reader) taskID(v value, path string) string {
	id := r.id(v, path, false)
	if !todo.IsItemID(id) {
		r.problemf(path, r.words.WrongType, "the number of a task", v.name())
	}
	return id
}

// taskIDs reads the ids of tasks; none if they are left out.
func (r *reader) taskIDs(v value, path string) (ids []string) {
	for i, e := range v.elements()[:min(len(v.elements()), todo.MaxItems)] {
		ids = append(ids, r.taskID(e.value, fmt.Sprintf("%s[%d]", path, i)))
	}
	return ids
}
