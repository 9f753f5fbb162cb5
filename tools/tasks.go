package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// taskCreateInput, taskUpdateInput and taskGetInput are the arguments of Claude Code's task tools; TaskList has none.
type taskCreateInput struct {
	Subject     string `json:"subject" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Description string `json:"description,omitempty" jsonschema:"description=What it takes\\, and when it is done"`
	ActiveForm  string `json:"activeForm,omitempty" jsonschema:"description=Shown meanwhile: Running the tests"`
}

type taskUpdateInput struct {
	TaskID       string     `json:"taskId" jsonschema:"description=The task's number; next takes the first one that is ready"`
	Subject      string     `json:"subject,omitempty" jsonschema:"description=What to do instead"`
	Description  string     `json:"description,omitempty" jsonschema:"description=What it takes instead"`
	ActiveForm   string     `json:"activeForm,omitempty" jsonschema:"description=Shown meanwhile instead"`
	Status       statusWord `json:"status,omitempty" jsonschema:"enum=deleted,description=What it becomes"`
	Owner        string     `json:"owner,omitempty" jsonschema:"description=Who does it; refused while another agent has it"`
	AddBlocks    []string   `json:"addBlocks,omitempty" jsonschema:"description=Numbers of tasks that wait for it"`
	AddBlockedBy []string   `json:"addBlockedBy,omitempty" jsonschema:"description=Numbers of tasks that come first"`
}

type taskGetInput struct {
	TaskID string `json:"taskId" jsonschema:"description=The task's number"`
}

func tasks(bare string, input any, read func(*reader, value) *Call) variant {
	list := func(w *prompts.Words, s todo.Snapshot) string {
		waiting := todo.OpenWaits(s.Items)
		return listing(TodoWriteView(), s, "", w.NoTasks, func(line todo.Line, item todo.Item) string { return taskLine(w, line, item, waiting(item)) })
	}
	return variant{view: TodoWriteView(), bare: bare, input: input, ids: true, read: read, list: list}
}

// numbers returns ids as texts show them: #1, #2.
func numbers(ids []string) string { return "#" + strings.Join(ids, ", #") }

// readTaskCreate reads TaskCreate. Models also send the task as "task", an object or a text, rename its fields, or leave
// out its subject or description.
func readTaskCreate(r *reader, args value) *Call {
	for _, many := range listNames {
		if args.get(many).kind == '[' {
			r.sentence(r.words().OneTask, many)
			return &Call{}
		}
	}
	if !args.optional("prompt", "subagent_type").missing() {
		r.sentence("%s", r.words().NoAgent)
		return &Call{}
	}
	if task := args.get("task"); task.kind == '{' {
		args = task
	} else if task.kind == '"' && args.get("description").missing() {
		args.members = append(slices.Clip(args.members), member{"description", task})
	}
	subject := args.first("subject", "title", "name")
	if description := args.optional("description", "content"); subject.missing() && description.kind == '"' {
		subject = description
		subject.text = todo.Cut(strings.TrimSpace(description.text), maxSubject)
	}
	line := todo.Line{Text: r.text(subject, "", "subject", todo.MaxText), Status: string(todo.Pending)}
	line.Details = r.moreThan(line.Text, args, "description", "content")
	if args.optional("activeForm", "active_form").kind == '"' { // models send values of any type in it
		line.Active = r.detail(args, "", todo.MaxText, "activeForm", "active_form")
	}
	if status := args.optional("status"); !status.missing() {
		line.Status = r.status(status, "", TodoWriteView(), true)
	}
	created := func(o board.Outcome) string {
		last := todo.Item{}
		if n := len(o.After.Items); n > 0 {
			last = o.After.Items[n-1]
		}
		return fmt.Sprintf(r.words().TaskCreated, last.ID, excerpt(last.Text))
	}
	return &Call{Target: board.Target{Append: true}, answer: created, Change: func(d *todo.Draft) error { appendLines(d, line); return nil }}
}

// moreThan reads the description under the first given key; empty if it only repeats the subject.
func (r *reader) moreThan(subject string, v value, keys ...string) string {
	details := r.detail(v, "", todo.MaxText, keys...)
	if todo.Fold(details) == todo.Fold(subject) {
		return ""
	}
	return details
}

// owner reads the owner of a task; nil if it is left out. If putBack is true, an empty owner removes the task's owner;
// else an empty owner counts as left out.
func (r *reader) owner(v value, path string, putBack bool) *string {
	name, sent := r.detail(v, path, todo.MaxDetail, "owner"), v.get("owner")
	if name == "" && !(putBack && sent.kind == '"' && !sent.given()) {
		return nil
	}
	return &name
}

// taskChange is the change that a call of TaskUpdate, ours or Claude Code's own, makes to a task.
type taskChange struct {
	todo.Line
	deletes bool
	blocks  []string // ids of the tasks that wait for this task
}

// taskChange reads the arguments of TaskUpdate. The function check reads an id. Fields that are not sent stay empty.
func (r *reader) taskChange(args value, check func(v value, path string) string) (c taskChange) {
	c.ID = check(args.first("taskId", "task_id", "id"), "taskId")
	if status := args.optional("status"); !status.missing() {
		view := TodoWriteView()
		view.Unlisted = true
		c.Status = r.status(status, "", view, true, "deleted")
	}
	if c.deletes = c.Status == "deleted"; c.deletes {
		return c
	}
	c.Text, c.Active = r.detail(args, "", todo.MaxText, "subject"), r.detail(args, "", todo.MaxText, "activeForm")
	c.Details, c.Reason = r.detail(args, "", todo.MaxText, "description"), r.detail(args, "", todo.MaxText, "reason")
	c.Owner = r.owner(args, "", c.Status == string(todo.Pending)) // an empty owner lets others take the task
	c.blocks, c.WaitsFor = r.ids(args, "", check, "addBlocks"), r.ids(args, "", check, "addBlockedBy")
	return c
}

// put applies the change to a draft, and returns the unknown ids. New blockers are added to those that a task has.
func (c taskChange) put(d *todo.Draft) (unknown []string) {
	view := todo.CoreView()
	if item, ok := d.Item(c.ID); ok && c.WaitsFor != nil {
		c.WaitsFor = append(item.Waits(), c.WaitsFor...)
	}
	unknown = d.Put(view, c.Line)
	for _, id := range c.blocks {
		item, ok := d.Item(id)
		if !ok {
			unknown = append(unknown, id)
			continue
		}
		d.Put(view, todo.Line{ID: id, WaitsFor: append(item.Waits(), c.ID)})
	}
	return unknown
}

func readTaskUpdate(r *reader, args value) *Call {
	c := r.taskChange(args, r.requiredID)
	target := board.Target{Item: c.ID}
	if c.ID == todo.Next {
		target.Item = ""
	}
	updated := func(o board.Outcome) string { return c.updated(r.words(), o) }
	return &Call{Target: target, answer: updated, Change: func(d *todo.Draft) error { return updateTask(d, c, r.words()) }}
}

// updated returns the answer to a call of TaskUpdate.
func (c taskChange) updated(w *prompts.Words, o board.Outcome) string {
	if c.ID == todo.Next {
		return o.Notes[0] // which task was taken
	}
	var sent []string // in the order of the schema
	names := []string{"subject", "description", "activeForm", "status", "owner", "addBlocks", "addBlockedBy", "reason"}
	for i, isSent := range []bool{c.Text != "", c.Details != "", c.Active != "", c.Status != "",
		c.Owner != nil, c.blocks != nil, c.WaitsFor != nil, c.Reason != ""} {
		if isSent {
			sent = append(sent, names[i])
		}
	}
	text := fmt.Sprintf(w.TaskUpdated, c.ID, strings.Join(sent, ", "))
	if item, _ := o.After.Item(c.ID); item.Status.Settled() {
		freed := readyItems(o.After.Items, func(i todo.Item) bool { return slices.Contains(i.Waits(), c.ID) })
		if len(freed) > 0 {
			text += fmt.Sprintf(w.Ready, numbers(TodoWriteView().IDs(freed)))
		}
	}
	return text
}

// noItem returns the sentence that no item has an id, or that a person removed the item with that id.
func noItem(w *prompts.Words, d *todo.Draft, id string) string {
	for _, gone := range d.Before.Gone {
		if gone.ID == id && gone.Deleted {
			return fmt.Sprintf(w.TakenAway, id, excerpt(gone.Text))
		}
	}
	return fmt.Sprintf(w.UnknownID, unquotedExcerpt(id))
}

// updateTask applies a change to one task. It checks in the write's transaction whether the agent may take the task.
func updateTask(d *todo.Draft, c taskChange, w *prompts.Words) error {
	if c.deletes {
		if d.Edit(todo.Edit{Do: todo.EditRemove, Item: c.ID}) != nil {
			return refuse("%s", noItem(w, d, c.ID))
		}
		return nil
	}
	owner, begins, isNext := "", c.Status == string(todo.InProgress), c.ID == todo.Next
	if c.Owner != nil {
		owner = *c.Owner
	}
	taken, err := d.Take(c.ID, owner, begins || isNext)
	switch {
	case err != nil:
		return err
	case taken == "" && isNext:
		return refuse("%s", w.NothingReady)
	case taken == "":
		return refuse("%s", noItem(w, d, c.ID))
	}
	if c.ID = taken; isNext {
		item, _ := d.Item(taken)
		note := fmt.Sprintf(w.Took, taken, quote(item.Text))
		if item.Details != "" {
			note += ": " + told(item.Details)
		}
		d.Note(note)
		c.Status = ""
	}
	if unknown := c.put(d); len(unknown) > 0 {
		return refuse(w.UnknownID, unquotedExcerpt(unknown[0]))
	}
	noteEarly(d, w)
	return nil
}

// noteEarly adds a note about items that the change begins while items that they wait for are open.
func noteEarly(d *todo.Draft, w *prompts.Words) {
	begun, _ := d.Begun()
	waiting := todo.OpenWaits(d.Items())
	if early := slices.DeleteFunc(begun, func(i todo.Item) bool { return len(waiting(i)) == 0 }); len(early) > 0 {
		d.Note(fmt.Sprintf(w.Early, firstFew(w, early)))
	}
}

func taskLine(w *prompts.Words, line todo.Line, item todo.Item, first []todo.Item) string {
	text := fmt.Sprintf("#%s [%s] %s", line.ID, line.Status, line.Text)
	if item.Owner != "" {
		text += " (" + item.Owner + ")"
	}
	if len(first) > 0 {
		text += " [" + fmt.Sprintf(w.BlockedBy, numbers(TodoWriteView().IDs(first))) + "]"
	}
	return text
}

func readTaskGet(r *reader, args value) *Call {
	id := r.id(args.first("taskId", "task_id", "id"), "taskId", true)
	shown := func(o board.Outcome) string {
		item, ok := o.After.Item(id)
		if !ok {
			return ""
		}
		line, _ := TodoWriteView().Show(item)
		text := taskLine(r.words(), line, item, todo.OpenWaits(o.After.Items)(item))
		after := slices.DeleteFunc(slices.Clone(o.After.Items), func(i todo.Item) bool { return !slices.Contains(i.Waits(), item.ID) })
		if len(after) > 0 {
			text += " [" + fmt.Sprintf(r.words().Blocks, numbers(TodoWriteView().IDs(after))) + "]"
		}
		if item.Details != "" {
			text += "\n" + item.Details
		}
		return text
	}
	return &Call{Target: board.Target{Item: id}, answer: shown}
}

// The rest of this file mirrors Claude Code's own task tools.

// unnamed returns the text of a task whose TaskCreate is unknown: the hook of TaskCreate is slower, or did not run.
func unnamed(id string) string { return "Task " + id }

// mirrorCreate reads TaskCreate; the task's id is in the response.
func mirrorCreate(r *reader, input, response value) *Call {
	t := todo.Line{ID: r.taskID(response.get("task").get("id"), "tool_response.task.id")}
	t.Text = r.text(input.get("subject"), "", "subject", todo.MaxText)
	t.Active, t.Details = r.detail(input, "", todo.MaxText, "activeForm"), r.moreThan(t.Text, input, "description")
	return &Call{Target: board.Target{Item: t.ID, Append: true}, Change: func(d *todo.Draft) error {
		// The hook of a later TaskUpdate may have come first: the subject that it set is kept.
		if now, isKnown := d.Item(t.ID); !isKnown || now.Text == unnamed(t.ID) {
			d.Put(todo.CoreView(), t)
		}
		return nil
	}}
}

func mirrorUpdate(r *reader, input, response value) *Call {
	if response.get("success").kind == 'f' {
		return nil // there is no such task
	}
	c := r.taskChange(input, r.taskID)
	return &Call{Target: board.Target{Item: c.ID, Append: !c.deletes}, Change: func(d *todo.Draft) error {
		if c.deletes {
			_ = d.Edit(todo.Edit{Do: todo.EditRemove, Item: c.ID}) // it may be gone
			return nil
		}
		if _, isKnown := d.Item(c.ID); !isKnown {
			d.Put(todo.CoreView(), todo.Line{ID: c.ID, Text: unnamed(c.ID)})
		}
		c.put(d)
		return nil
	}}
}

// mirrorTasks reads the response of TaskList, which also has tasks that were made before the hooks were installed.
func mirrorTasks(r *reader, _, response value) *Call {
	elements := response.get("tasks").members
	if response.get("tasks").kind != '[' || len(elements) == 0 {
		return nil
	}
	l := wholeList{view: todo.CoreView(), list: "tasks", text: "subject", reads: []string{"blockedBy", "owner"}, takesAnyWord: true}
	tasks := r.lines(elements, l, true)
	return &Call{Target: board.Target{Append: true}, Change: func(d *todo.Draft) error {
		for _, t := range tasks {
			// An unknown completed task may belong to an earlier list of the chat, so it is left out.
			if _, isKnown := d.Item(t.ID); isKnown || t.Status != string(todo.Completed) {
				taskChange{Line: t}.put(d)
			}
		}
		return nil
	}}
}

// taskID reads the id of a task, which is a number.
func (r *reader) taskID(v value, path string) string {
	id := r.id(v, path, false)
	if todo.ItemNumber(id) == 0 {
		r.problemf(path, r.words().WrongType, "the number of a task", v.name())
	}
	return id
}
