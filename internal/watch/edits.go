package watch

import (
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type edit struct {
	todo.Edit
	list string // id of the list
}

// send asks the viewer to make an edit, if edits are possible.
func (m *model) send(e edit) {
	if m.mayEdit() {
		m.effect.edit = &e
	}
}

// editItems asks the viewer to open the items of a list in the person's editor, if edits are possible.
func (m *model) editItems(s todo.Snapshot) {
	if m.mayEdit() {
		m.effect.editor = &s
	}
}

// mayEdit reports whether edits are possible; if not, it shows why.
func (m *model) mayEdit() bool {
	if m.lost != nil {
		m.say(bad, "Not live: nothing can be changed until the server is back.")
	}
	return m.lost == nil
}

// edited shows the outcome of an edit and remembers how to undo it.
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
	case e.Do == todo.EditUndo, !out.Changed: // without a revision of its own there is nothing to undo
		m.say(done, pastTense(e, before))
	default:
		m.undo = append(m.undo, e.inverse(after))
		m.say(done, pastTense(e, before)+"  (u undo)")
	}
}

// inverse returns the edit that undoes e, which made the revision after. It undoes the step from the revision just
// before: the agent may have written between what the person saw and the edit.
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

// toggle returns the action of a key that sets the selected item's status, or resets it to pending.
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

// finish completes all open items of a list.
func (m *model) finish(s todo.Snapshot) {
	if s.Open() {
		m.send(edit{Edit: todo.Edit{Do: todo.EditFinish, Seen: s.Revision}, list: s.List.ID})
	}
}

// copyCommand copies the command that resumes the list's chat. It also shows it: some terminals forbid copying.
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
