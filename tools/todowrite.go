package tools

import (
	"fmt"
	"slices"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// todoWriteInput is the arguments of TodoWrite and write_todos (systems 1, 2
// and 3); I is one of the item types below.
type todoWriteInput[I any] struct {
	Todos []I `json:"todos" jsonschema:"description=The whole list\\, in working order"`
}

type todoWriteItem struct {
	Content    string `json:"content" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status     string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,description=How far it is"`
	ActiveForm string `json:"activeForm" jsonschema:"minLength=1,description=Shown meanwhile: Running the tests"`
}

// todoWriteItemID is published with Options.ItemIDs (docs/spec/variants.md T5).
type todoWriteItemID struct {
	ID string `json:"id,omitempty" jsonschema:"description=If every item has the id of an existing one\\, only those change"`
	todoWriteItem
}

// todoWriteItemAll and todoWriteItemAllID are published with the setting AllStatuses
// (docs/spec/variants.md T10).
type todoWriteItemAll struct {
	Content    string `json:"content" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status     string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=failed,enum=blocked,enum=cancelled,description=How far it is"`
	ActiveForm string `json:"activeForm" jsonschema:"minLength=1,description=Shown meanwhile: Running the tests"`
	Reason     string `json:"reason,omitempty" jsonschema:"description=Why it is blocked\\, failed or was cancelled"`
}

type todoWriteItemAllID struct {
	ID string `json:"id,omitempty" jsonschema:"description=If every item has the id of an existing one\\, only those change"`
	todoWriteItemAll
}

// todoWriteResult is what the results of TodoWrite and write_todos conform to. Their
// items and counts are todoWriteShownAll and todoWriteCountsAll, of which they leave out
// what these types lack.
type todoWriteResult = result[todoWriteShown, todoWriteCounts]

type todoWriteShown struct {
	ID     string `json:"id,omitempty"`
	Title  string `json:"title"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed"`
}

type todoWriteCounts struct {
	Completed  int `json:"completed"`
	InProgress int `json:"in_progress"`
	Pending    int `json:"pending"`
	Cancelled  int `json:"cancelled,omitempty"`
}

type todoWriteResultAll = result[todoWriteShownAll, todoWriteCountsAll]

type todoWriteShownAll struct {
	ID     string `json:"id,omitempty"`
	Title  string `json:"title"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=failed,enum=blocked,enum=cancelled"`
	Reason string `json:"reason,omitempty"`
}

type todoWriteCountsAll struct {
	Completed  int `json:"completed"`
	InProgress int `json:"in_progress"`
	Pending    int `json:"pending"`
	Failed     int `json:"failed,omitempty"`
	Blocked    int `json:"blocked,omitempty"`
	Cancelled  int `json:"cancelled,omitempty"`
}

// TodoWriteView returns the view in the first column of the table in
// docs/spec/variants.md.
func TodoWriteView() todo.View { return wholeListView(true, "completed") }

// wholeListView returns the view of a tool that writes the whole list; active is true if it
// has active texts.
func wholeListView(active bool, completed string) todo.View {
	return todo.View{Active: active, Words: map[todo.Status]string{
		todo.Pending: "pending", todo.InProgress: "in_progress", todo.Completed: completed,
		todo.Failed: "in_progress", todo.Blocked: "pending",
	}}
}

// todoWrite returns TodoWrite, or with only the hard caps as limits and a text that only
// confirms the write, system 1's write_todos (docs/spec/variants.md W1), whose event
// stream is in server/api. ids says whether ids are shown, all whether all statuses and
// the reason are listed, counts whether the text has how many items have each status.
func todoWrite(s shape, ids, all, counts bool) variant {
	s.view, s.field, s.text, s.active, s.patches, s.reasons = TodoWriteView(), "todos", "content", "activeForm", true, true
	s.mayLack = !counts // Gemini CLI's write_todos and LangChain's have no active text
	if all {
		s.view = todo.CoreView()
	}
	listed := s.view
	s.view.Unlisted = !all
	v := variant{view: s.view, allStatuses: all, read: s.reader(), limits: s.limits}
	v.input, v.output = todoWriteTypes(ids, all)
	v.answer = func(w prompts.Words, _ *Call, out board.Outcome) Result {
		shown, n := show(listed, out.After, func(l todo.Line, item todo.Item) todoWriteShownAll {
			shown := todoWriteShownAll{Title: l.Text, Status: l.Status}
			if ids {
				shown.ID = l.ID
			}
			if all {
				shown.Reason = item.Reason
			}
			return shown
		})
		text, notes := w.ListUpdated, resultNotes(w, out)
		if counts {
			known := n
			if !all && slices.ContainsFunc(out.After.Items, func(i todo.Item) bool { return i.Said }) {
				known = asSaid(s.view, n["cancelled"], out.After.Items)
			}
			// The three always come, in this order (docs/spec/variants.md T6).
			text += fmt.Sprintf(": %d completed, %d in_progress, %d pending", known["completed"], known["in_progress"], known["pending"])
			for _, word := range []string{"failed", "blocked", "cancelled"} {
				if known[word] > 0 {
					text += fmt.Sprintf(", %d %s", known[word], word)
				}
			}
		}
		message := text + notes
		if ids {
			text += planLines(s.view, out.After, func(word string) string { return "[" + word + "]" })
			notes = afterPlan(notes)
		}
		return newResult(text+notes, message, out.After, shown,
			countsOf(todo.CoreView(), n))
	}
	return v
}

// todoWriteTypes returns from which types the schemas of arguments and results are made.
func todoWriteTypes(ids, all bool) (input, output any) {
	switch {
	case ids && all:
		return todoWriteInput[todoWriteItemAllID]{}, todoWriteResultAll{}
	case all:
		return todoWriteInput[todoWriteItemAll]{}, todoWriteResultAll{}
	case ids:
		return todoWriteInput[todoWriteItemID]{}, todoWriteResult{}
	}
	return todoWriteInput[todoWriteItem]{}, todoWriteResult{}
}

// asSaid returns how many items have each status as an agent knows them that sent some in
// unlisted words; cancelled is how many its tool leaves out.
func asSaid(view todo.View, cancelled int, items []todo.Item) map[string]int {
	n := map[string]int{"cancelled": cancelled}
	for _, line := range view.Lines(items) {
		n[line.Status]++
	}
	return n
}

// oneInProgress applies the policy (docs/spec/variants.md T4) to the list as the
// call asks for it, before it is merged with what others changed. A call that puts no
// item in progress is never refused. One that does may have no other item in progress
// beside it, apart from those that a person or another conversation began.
func oneInProgress(d *todo.Draft, s shape, words func() prompts.Words) error {
	begun, running := d.Begun()
	if len(begun) == 0 || len(running) < 2 || s.policy == Allow {
		return nil
	}
	w, active, waiting := words(), s.view.Words[todo.InProgress], s.view.Words[todo.Pending]
	if s.policy == Reject {
		return &todo.InputError{Problems: []todo.Problem{{Path: s.field, Message: fmt.Sprintf(w.OneInProgress, len(running), firstFew(w, running), active, waiting)}}}
	}
	keep := begun[len(begun)-1]
	demoted := slices.DeleteFunc(running, func(i todo.Item) bool { return i.ID == keep.ID })
	for _, item := range demoted {
		d.SetStatus(item.ID, todo.Pending)
	}
	d.Note(fmt.Sprintf(w.Demoted, firstFew(w, demoted), active, waiting))
	return nil
}
