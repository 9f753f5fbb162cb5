package watch

import (
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type edit struct {
	todo.Edit
	list string // id
}

// send has an edit made, where it may be.
func (m *model) send(e edit) {
	if m.mayEdit() {
		m.effect.edit = &e
	}
}

// editItems has the items of a list edited in the person's editor, where they may be.
func (m *model) editItems(s todo.Snapshot) {
	if m.mayEdit() {
		m.effect.editor = &s
	}
}

// mayEdit reports whether anything can be changed now, and says why not.
func (m *model) mayEdit() bool {
	if m.lost != nil {
		m.say(bad, "Not live: nothing can be changed until the server is back.")
	}
	return m.lost == nil
}

// edited notes the outcome of an edit: what it did, and how it is undone.
func (m *model) edited(e edit, before todo.Snapshot, out board.Outcome, err error) {
	if err != nil {
		m.say(bad, "Not changed: "+rootCause(err))
		return
	}
	after := out.After
	m.receiveLists([]todo.Snapshot{after}, false)
	switch {
	case e.Do == todo.EditUndo && !out.Changed:
		m.say(dim, "Nothing undone: what you changed has changed since.")
	case e.Do == todo.EditUndo, !out.Changed: // to undo what made no revision would undo another's
		m.say(done, pastTense(e, before))
	default:
		m.undo = append(m.undo, e.inverse(after))
		m.say(done, pastTense(e, before)+"  (u undo)")
	}
}

// inverse returns the edit that undoes one, which made the revision after. What
// the person changed is the step from the revision just before: what is shown when
// the person edits may be older, and what the agent wrote between is not undone.
func (e edit) inverse(after todo.Snapshot) edit {
	return edit{todo.Edit{Do: todo.EditUndo, From: after.Revision - 1, Seen: after.Revision}, e.list}
}

// pastTense says what an edit did.
func pastTense(e edit, before todo.Snapshot) string {
	item, _ := before.Item(e.Item)
	return map[todo.EditKind]string{
		todo.EditStatus: "“" + render.Cut(render.Safe(item.Text), 40) + "”: " + render.StatusWord(e.Status), todo.EditUndo: "Undone",
		todo.EditFinish: "All done", todo.EditArchive: "Archived", todo.EditUnarchive: "Brought back", todo.EditItems: "Edited",
	}[e.Do]
}

// toggle returns what a key does that gives the item under the cursor a status, or makes
// it pending again.
func toggle(status todo.Status) func(*model) {
	return func(m *model) {
		s, item, ok := m.cursorItem()
		if !ok {
			m.say(dim, "No item is selected.")
			return
		}
		e := todo.Edit{Do: todo.EditStatus, Item: item.ID, Status: status, Seen: s.Revision}
		if item.Status == status {
			e.Status = todo.Pending
		}
		m.send(edit{Edit: e, list: s.List.ID})
	}
}

func (m *model) archive(s todo.Snapshot) {
	e := todo.Edit{Do: todo.EditArchive}
	if s.Archived {
		e.Do = todo.EditUnarchive
	}
	m.send(edit{Edit: e, list: s.List.ID})
}

// finish completes all that is open in a list that was left open.
func (m *model) finish(s todo.Snapshot) {
	if s.Open() {
		m.send(edit{Edit: todo.Edit{Do: todo.EditFinish, Seen: s.Revision}, list: s.List.ID})
	}
}

// copyCommand copies the command that goes on with the chat of a list, and shows it: not
// every terminal lets a program copy.
func (m *model) copyCommand(s todo.Snapshot) {
	command := render.ResumeCommand(s)
	if command == "" {
		m.say(dim, "No command is known that goes on with this chat.")
		return
	}
	m.effect.copy = command
	m.say(done, command)
}

func (m *model) undoLast() {
	if m.underWay > 0 {
		m.say(dim, "Not undone: your last change is still being saved.")
		return
	}
	if len(m.undo) == 0 {
		m.say(dim, "Nothing to undo.")
		return
	}
	last := len(m.undo) - 1
	if m.send(m.undo[last]); m.effect.edit != nil {
		m.undo = m.undo[:last]
	}
}
