package watch

import (
	"cmp"
	"slices"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// edit is an edit of a list.
type edit struct {
	todo.Edit
	list   string        // id
	undoes todo.EditKind // what it undoes; empty unless it does, and then it is not undone itself
}

// send has an edit made, unless the source is lost.
func (m *model) send(e edit) {
	if m.lost != nil {
		m.say(bad, "Not live: nothing can be changed until the server is back.")
		return
	}
	m.effect.edit = &e
}

// edited notes the outcome of an edit: what it did, and how it is undone.
func (m *model) edited(e edit, before todo.Snapshot, out todo.Outcome, err error) {
	if err != nil {
		m.refused(e, err)
		return
	}
	after := out.After
	m.receiveLists([]todo.Snapshot{after}, false)
	if e.Do == todo.EditDelete {
		delete(m.lists, e.list)
	}
	if e.undoes != "" && !out.Changed {
		m.say(dim, "Nothing undone: what you changed has changed since.")
		return
	}
	text := pastTense(e, before)
	// What changed nothing made no revision: to undo it would undo another's.
	if e.undoes == "" && out.Changed {
		m.undo = append(m.undo, e.inverse(after))
		text += "  (u undo)"
	}
	// Agents are told of edits of items, and of what undoes them.
	if (todo.Edit{Do: cmp.Or(e.undoes, e.Do)}).OfItems() && m.state(after) != todo.Finished {
		text += m.whenSeen(after)
	}
	m.say(done, text)
}

// refused says why an edit was not made. What was typed is in a prompt again, so that it
// is not lost.
func (m *model) refused(e edit, err error) {
	m.say(bad, "Not changed: "+rootCause(err))
	if e.Text != "" && (m.prompt == nil || m.prompt.kind == forSearch) {
		m.ask("Once more:", e.Text, e)
		m.prompt.problem = m.note.text
	}
}

// whenSeen says when the agent learns of an edit.
func (m *model) whenSeen(s todo.Snapshot) string {
	agent := cmp.Or(m.agentName(s), "The agent")
	if m.state(s).Rests() {
		return ". " + agent + " will see it when it comes back."
	}
	return ". " + agent + " will see it with its next write."
}

// inverse returns the edit that undoes one, which made the revision after. What
// the person changed is the step from the revision just before: what is shown when
// the person edits may be older, and what the agent wrote between is not undone.
func (e edit) inverse(after todo.Snapshot) edit {
	back := edit{list: e.list, undoes: e.Do}
	switch e.Do {
	case todo.EditArchive:
		back.Do = todo.EditUnarchive
	case todo.EditUnarchive:
		back.Do = todo.EditArchive
	case todo.EditDelete:
		back.Do = todo.EditUndelete
	default:
		back.Edit = todo.Edit{Do: todo.EditUndo, From: after.Revision - 1, Seen: after.Revision}
	}
	return back
}

// pastTense says what an edit did.
func pastTense(e edit, before todo.Snapshot) string {
	item, _ := before.Item(e.Item)
	name := "“" + render.Cut(render.Safe(item.Text), 40) + "”"
	switch {
	case e.undoes != "":
		return "Undone"
	case e.Do == todo.EditBack && e.Item == "":
		return "Brought your order back"
	}
	return cmp.Or(map[todo.EditKind]string{
		todo.EditStatus:  name + ": " + render.StatusWord(e.Status),
		todo.EditBlock:   name + ": blocked",
		todo.EditText:    "Reworded",
		todo.EditAdd:     "Added",
		todo.EditRemove:  "Removed " + name,
		todo.EditMove:    "Moved " + name,
		todo.EditBack:    "Brought your words back",
		todo.EditRename:  "Renamed",
		todo.EditArchive: "Archived",
		todo.EditDelete:  "Deleted, for 24 hours to bring back",
	}[e.Do], "Brought back")
}

// onItem returns what a key does with the item under the cursor, given the beginning of
// its edit; without one it says so.
func onItem(do func(m *model, s todo.Snapshot, item todo.Item, e edit)) func(*model) {
	return func(m *model) {
		s, item, ok := m.cursorItem()
		if !ok {
			m.say(dim, "No item is selected.")
			return
		}
		do(m, s, item, edit{Edit: todo.Edit{Seen: s.Revision, Item: item.ID}, list: s.List.ID})
	}
}

// toggle returns what a key does that gives the item under the cursor a status, or makes
// it pending again.
func toggle(status todo.Status) func(*model) {
	return onItem(func(m *model, _ todo.Snapshot, item todo.Item, e edit) {
		if e.Do, e.Status = todo.EditStatus, status; item.Status == status {
			e.Status = todo.Pending
		}
		m.send(e)
	})
}

func (m *model) reword(_ todo.Snapshot, item todo.Item, e edit) {
	e.Do = todo.EditText
	m.ask("Reword:", item.Text, e)
}

func (m *model) block(_ todo.Snapshot, item todo.Item, e edit) {
	if item.Status == todo.Blocked {
		e.Do, e.Status = todo.EditStatus, todo.Pending
		m.send(e)
		return
	}
	e.Do = todo.EditBlock
	m.ask("Blocked by (may be empty):", "", e)
}

func (m *model) remove(_ todo.Snapshot, _ todo.Item, e edit) {
	e.Do = todo.EditRemove
	m.send(e)
}

// moveItem returns what a key does that moves the item under the cursor.
func moveItem(delta int) func(*model) {
	return onItem(func(m *model, s todo.Snapshot, item todo.Item, e edit) {
		to := slices.IndexFunc(s.Items, func(i todo.Item) bool { return i.ID == item.ID }) + delta
		if to >= 0 && to < len(s.Items) {
			e.Do, e.To = todo.EditMove, to
			m.send(e)
		}
	})
}

// bringBack brings back what an agent overrode: the person's text of the item under
// the cursor, else the person's order.
func (m *model) bringBack() {
	s, item, _ := m.cursorItem()
	h := m.standings[s.List.ID].Hand
	switch {
	case h.Of(item.ID) == account.Overridden:
	case h.Order == account.Overridden:
		item.ID = ""
	default:
		m.say(dim, "Nothing of yours is overridden here.")
		return
	}
	m.send(edit{Edit: todo.Edit{Do: todo.EditBack, Seen: s.Revision, Item: item.ID}, list: s.List.ID})
}

// listEdit returns an edit of a list as it is shown.
func listEdit(s todo.Snapshot, do todo.EditKind) edit {
	return edit{Edit: todo.Edit{Do: do}, list: s.List.ID}
}

func (m *model) add(s todo.Snapshot) {
	e := listEdit(s, todo.EditAdd)
	e.Seen = s.Revision
	m.ask("Add:", "", e)
}

func (m *model) rename(s todo.Snapshot) { m.ask("Title:", s.Title(), listEdit(s, todo.EditRename)) }

func (m *model) archive(s todo.Snapshot) {
	if s.Archived {
		m.send(listEdit(s, todo.EditUnarchive))
		return
	}
	m.send(listEdit(s, todo.EditArchive))
}

func (m *model) deleteList(s todo.Snapshot) {
	title := render.Cut(render.Safe(s.Title()), max(m.width-60, 12))
	m.confirm("Delete “"+title+"” and its history?", listEdit(s, todo.EditDelete))
}

func (m *model) undoLast() {
	if len(m.undo) == 0 {
		m.say(dim, "Nothing to undo.")
		return
	}
	last := len(m.undo) - 1
	e := m.undo[last]
	m.undo = m.undo[:last]
	m.send(e)
}
