package watch

import (
	"cmp"
	"fmt"
	"slices"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// edit is an edit of a list.
type edit struct {
	todo.Edit
	list   string        // id
	undoes todo.EditKind // what it undoes; empty unless it does, and then it is not undone itself
}

// send returns the effect of an edit, or none while the source is lost.
func (m *model) send(e edit) effect {
	if m.lost != nil {
		m.say(bad, "Not live: nothing can be changed until the server is back.")
		return effect{}
	}
	return effect{edit: &e}
}

// edited notes the outcome of an edit: what it did, and how it is undone.
func (m *model) edited(e edit, before todo.Snapshot, out todo.Outcome, err error) effect {
	if err != nil {
		m.say(bad, "Not changed: "+rootCause(err))
		if e.Text != "" && m.prompt == nil {
			m.retype(e)
		}
		return effect{}
	}
	after := out.After
	result := m.receiveLists([]todo.Snapshot{after}, false)
	if e.Do == todo.EditDelete {
		delete(m.lists, e.list)
	}
	if e.undoes != "" && !out.Changed {
		m.say(dim, "Nothing undone: what you changed has changed since.")
		return result
	}
	text := pastTense(e, before)
	// What changed nothing made no revision: to undo it would undo another's.
	if e.undoes == "" && out.Changed {
		m.undo = append(m.undo, e.inverse(after))
		text += "  (u undo)"
	}
	if e.ofItems() && m.state(after) != todo.Finished {
		text += m.whenSeen(after)
	}
	m.say(done, text)
	return result
}

// retype opens the prompt again with what was typed, so that it is not lost.
func (m *model) retype(e edit) {
	problem := m.note.text
	m.ask("Once more:", e.Text, e)
	m.prompt.problem = problem
}

// whenSeen says when the agent learns of an edit.
func (m *model) whenSeen(s todo.Snapshot) string {
	agent := m.agentName(s)
	if agent == "" {
		agent = "The agent"
	}
	if m.state(s).Rests() {
		return ". " + agent + " will see it when it comes back."
	}
	return ". " + agent + " will see it with its next write."
}

// ofItems reports whether an edit, or the one it undoes, is of items, which are
// what agents are told of.
func (e edit) ofItems() bool {
	return todo.Edit{Do: cmp.Or(e.undoes, e.Do)}.OfItems()
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
	if e.undoes != "" {
		return "Undone"
	}
	item, _ := before.Item(e.Item)
	name := "“" + render.Cut(render.Safe(item.Text), 40) + "”"
	switch e.Do {
	case todo.EditStatus:
		return fmt.Sprintf("%s: %s", name, render.StatusWord(e.Status))
	case todo.EditBlock:
		return name + ": blocked"
	case todo.EditText:
		return "Reworded"
	case todo.EditAdd:
		return "Added"
	case todo.EditRemove:
		return "Removed " + name
	case todo.EditMove:
		return "Moved " + name
	case todo.EditBack:
		if e.Item == "" {
			return "Brought your order back"
		}
		return "Brought your words back"
	case todo.EditRestore:
		return fmt.Sprintf("Restored revision %d as a new one", e.Revision)
	case todo.EditRename:
		return "Renamed"
	case todo.EditArchive:
		return "Archived"
	case todo.EditDelete:
		return "Deleted, for 24 hours to bring back"
	}
	return "Brought back"
}

// ask opens a prompt for the text of an edit.
func (m *model) ask(label, text string, e edit) effect {
	with := func(text string) edit { e.Text = text; return e }
	m.prompt = &prompt{label: label, field: field{before: text}, check: func(text string) error { return with(text).Check() }, accept: with}
	return effect{}
}

// confirm opens a question.
func (m *model) confirm(question string, e edit) effect {
	m.prompt = &prompt{label: question + "  y yes · any other key no", question: true, accept: func(string) edit { return e }}
	return effect{}
}

// onItem starts an edit of the item under the cursor, and says so if there is
// none.
func (m *model) onItem(start func(s todo.Snapshot, item todo.Item, e edit) effect) effect {
	s, item, ok := m.cursorItem()
	if !ok {
		m.say(dim, "No item is selected.")
		return effect{}
	}
	return start(s, item, edit{Edit: todo.Edit{Seen: s.Revision, Item: item.ID}, list: s.List.ID})
}

// setStatus gives the item under the cursor a status, or makes it pending again.
func (m *model) setStatus(status todo.Status) effect {
	return m.onItem(func(_ todo.Snapshot, item todo.Item, e edit) effect {
		if e.Do, e.Status = todo.EditStatus, status; item.Status == status {
			e.Status = todo.Pending
		}
		return m.send(e)
	})
}

func (m *model) reword() effect {
	return m.onItem(func(_ todo.Snapshot, item todo.Item, e edit) effect {
		e.Do = todo.EditText
		return m.ask("Reword:", item.Text, e)
	})
}

func (m *model) block() effect {
	return m.onItem(func(_ todo.Snapshot, item todo.Item, e edit) effect {
		if item.Status == todo.Blocked {
			e.Do, e.Status = todo.EditStatus, todo.Pending
			return m.send(e)
		}
		e.Do = todo.EditBlock
		return m.ask("Blocked by (may be empty):", "", e)
	})
}

func (m *model) remove() effect {
	return m.onItem(func(_ todo.Snapshot, _ todo.Item, e edit) effect {
		e.Do = todo.EditRemove
		return m.send(e)
	})
}

func (m *model) moveItem(delta int) effect {
	return m.onItem(func(s todo.Snapshot, item todo.Item, e edit) effect {
		to := slices.IndexFunc(s.Items, func(i todo.Item) bool { return i.ID == item.ID }) + delta
		if to < 0 || to >= len(s.Items) {
			return effect{}
		}
		e.Do, e.To = todo.EditMove, to
		return m.send(e)
	})
}

func (m *model) add(s todo.Snapshot) effect {
	return m.ask("Add:", "", edit{Edit: todo.Edit{Do: todo.EditAdd, Seen: s.Revision}, list: s.List.ID})
}

func (m *model) rename(s todo.Snapshot) effect {
	return m.ask("Title:", s.Title(), edit{Edit: todo.Edit{Do: todo.EditRename}, list: s.List.ID})
}

func (m *model) archive(s todo.Snapshot) effect {
	e := edit{Edit: todo.Edit{Do: todo.EditArchive}, list: s.List.ID}
	if s.Archived {
		e.Do = todo.EditUnarchive
	}
	return m.send(e)
}

func (m *model) deleteList(s todo.Snapshot) effect {
	return m.confirm("Delete “"+render.Cut(render.Safe(s.Title()), max(m.width-60, 12))+"” and its history?", edit{Edit: todo.Edit{Do: todo.EditDelete}, list: s.List.ID})
}

func (m *model) undoLast() effect {
	if len(m.undo) == 0 {
		m.say(dim, "Nothing to undo.")
		return effect{}
	}
	e := m.undo[len(m.undo)-1]
	m.undo = m.undo[:len(m.undo)-1]
	return m.send(e)
}

func (m *model) restore() effect {
	_, s, ok := m.history.snapshots()
	live, known := m.lists[m.opened]
	if !ok || !known || s.Revision == live.Revision {
		m.say(dim, "This is the newest revision.")
		return effect{}
	}
	return m.confirm(fmt.Sprintf("Restore revision %d as revision %d? Nothing is lost.", s.Revision, live.Revision+1),
		edit{Edit: todo.Edit{Do: todo.EditRestore, Revision: s.Revision}, list: live.List.ID})
}
