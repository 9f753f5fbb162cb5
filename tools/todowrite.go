package tools

import (
	"github.com/invopop/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// todoWriteItem is an item in the arguments of TodoWrite and write_todos. ID is published with
// Options.ItemIDs (T5), Reason with AllStatuses (T10).
type todoWriteItem struct {
	ID string `json:"id,omitempty" jsonschema:"description=If every item has the id of an existing one\\, only those change"`
	contentInput
	ActiveForm string `json:"activeForm" jsonschema:"minLength=1,description=Shown meanwhile: Running the tests"`
	Reason     string `json:"reason,omitempty" jsonschema:"description=Why it is blocked\\, failed or was cancelled"`
}

// todoWriteShown is an item in the structured content of TodoWrite and write_todos.
type todoWriteShown struct {
	ID     string `json:"id,omitempty"` // with Options.ItemIDs
	Title  string `json:"title"`
	Status string `json:"status" jsonschema:"enum=STATUSES"`
	Reason string `json:"reason,omitempty"` // with AllStatuses
}

// TodoWriteView returns the view in the first column of the table in docs/spec/variants.md.
func TodoWriteView() todo.View { return withActive(usual()) }

// todoWrite returns TodoWrite if isOwn is true, else write_todos: its answer only confirms the write (W1), its items
// need no active text, and only the hard caps apply.
func todoWrite(o Options, isOwn bool) variant {
	if !isOwn {
		o = Options{InProgress: o.InProgress, Statuses: o.Statuses}
	}
	listed, all := TodoWriteView(), o.Statuses == AllStatuses
	if all {
		listed = todo.CoreView()
	}
	l := wholeList{view: listed, list: "todos", text: "content", active: "activeForm", reads: []string{"reason"}, partly: byIDs,
		policy: o.InProgress, maxItems: o.MaxItems, maxText: o.MaxContentLength, needsActive: isOwn}
	l.view.Unlisted = !all
	answer := func(w prompts.Words, _ *Call, out board.Outcome) Result {
		shown, n := show(listed, out.After, func(line todo.Line, item todo.Item) todoWriteShown {
			shown := todoWriteShown{Title: line.Text, Status: line.Status}
			if o.ItemIDs {
				shown.ID = line.ID
			}
			if all {
				shown.Reason = item.Reason
			}
			return shown
		})
		text, notes := w.ListUpdated, resultNotes(w, out)
		if isOwn {
			text += ": " + countsText(l.view, out.After)
		}
		message := text + notes
		if o.ItemIDs {
			text += planLines(l.view, out.After, func(word string) string { return "[" + word + "]" })
			notes = afterPlan(notes)
		}
		return newResult(text+notes, message, out.After, shown, countsOf(n))
	}
	prune := func(in, out *jsonschema.Schema) {
		l.limits(in)
		if !o.ItemIDs {
			remove(in, "todos", "id")
		}
		if !all {
			remove(in, "todos", "reason")
			remove(out, "display", "items", "reason")
			remove(out, "counts", "failed")
			remove(out, "counts", "blocked")
		}
	}
	return variant{view: l.view, bare: l.list, allStatuses: all, input: todosInput[todoWriteItem]{}, output: result[todoWriteShown, counts]{}, prune: prune,
		read: l.read, answer: answer}
}

// remove removes an optional property, at the end of a path of properties, from a schema. On its way it goes into the
// items of arrays.
func remove(schema *jsonschema.Schema, path ...string) {
	for _, name := range path[:len(path)-1] {
		if schema, _ = schema.Properties.Get(name); schema.Items != nil {
			schema = schema.Items
		}
	}
	schema.Properties.Delete(path[len(path)-1])
}
