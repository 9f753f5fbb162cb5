package tools

import (
	"fmt"

	"todo-mcp/internal/todo"
)

// task is what a call of Claude Code's task tools says of one task; a field that it
// says nothing of is empty, owner then nil.
type task struct {
	id, text, active, status string
	owner                    *string
	waits                    []string // the ids of those that come first
}

// taskCreate reads TaskCreate, whose answer has the id of the task.
func taskCreate(r *reader, input, response value) *Call {
	t := task{id: r.taskID(response.get("task").get("id"), "tool_response.task.id"), status: string(todo.Pending)}
	t.text, _ = r.text(input.get("subject"), "subject", 0)
	t.active = r.optional(input, "activeForm")
	return &Call{Append: true, Change: func(d *todo.Draft) error {
		if _, known := d.Item(t.id); !known { // else the hook of an update was quicker
			t.put(d)
		}
		return nil
	}}
}

// taskUpdate reads TaskUpdate.
func taskUpdate(r *reader, input, response value) *Call {
	if response.get("success").kind == 'f' {
		return nil // there is no such task
	}
	deletes := input.get("status").text == "deleted"
	if deletes {
		input = value{kind: '{', members: []member{{"taskId", input.get("taskId")}}}
	}
	t := r.task(input, "", "taskId", "addBlockedBy")
	t.active = r.optional(input, "activeForm")
	blocks := r.taskIDs(input.get("addBlocks"), "addBlocks")
	return &Call{Change: func(d *todo.Draft) error {
		switch _, known := d.Item(t.id); {
		case deletes:
			d.Remove(t.id)
		case !known && t.text == "":
			return &todo.InputError{Problems: []todo.Problem{{Path: "taskId", Message: "Task " + t.id + " was made when no hook was there"}}}
		default:
			t.put(d)
		}
		for _, other := range blocks {
			d.WaitFor(other, t.id)
		}
		d.EndWaits()
		return nil
	}}
}

// taskList reads the answer of TaskList, by which tasks are mirrored that were made
// when no hook was there.
func taskList(r *reader, _, response value) *Call {
	elements := response.get("tasks").elements
	if len(elements) == 0 {
		return nil
	}
	if len(elements) > todo.MaxItems {
		r.problemf("tasks", "Must have at most %d items, received %d", todo.MaxItems, len(elements))
		return nil
	}
	tasks := make([]task, len(elements))
	for i, e := range elements {
		tasks[i] = r.task(e, fmt.Sprintf("tasks[%d].", i), "id", "blockedBy")
	}
	return &Call{Append: true, Change: func(d *todo.Draft) error {
		for _, t := range tasks {
			// One that is completed may be of an earlier list of the chat.
			if _, known := d.Item(t.id); known || t.status != string(todo.Completed) && t.text != "" {
				t.put(d)
			}
		}
		d.EndWaits()
		return nil
	}}
}

// task reads what an object says of a task, its id and what it waits for under these
// keys.
func (r *reader) task(v value, path, id, waits string) task {
	t := task{id: r.taskID(v.get(id), path+id), text: r.optional(v, "subject"), waits: r.taskIDs(v.get(waits), path+waits)}
	if status := v.get("status"); !status.missing() {
		t.status = r.status(status, path+"status", coreWords())
	}
	t.owner = r.detail(v.get("owner"), path+"owner")
	return t
}

// optional reads a text that may be left out.
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
	for i, e := range v.elements[:min(len(v.elements), todo.MaxItems)] {
		ids = append(ids, r.taskID(e, fmt.Sprintf("%s[%d]", path, i)))
	}
	return ids
}

// put gives the task's item what is said of it, and adds the item where there is
// none.
func (t task) put(d *todo.Draft) {
	view := todo.CoreView()
	line := todo.Line{ID: t.id, Status: string(todo.Pending)}
	if item, ok := d.Item(t.id); ok {
		line, _ = view.Show(item)
	}
	for _, field := range []struct{ to, from *string }{{&line.Text, &t.text}, {&line.Active, &t.active}, {&line.Status, &t.status}} {
		if *field.from != "" {
			*field.to = *field.from
		}
	}
	d.Put(view, line)
	if t.owner != nil {
		d.SetOwner(t.id, *t.owner)
	}
	d.WaitFor(t.id, t.waits...)
}
