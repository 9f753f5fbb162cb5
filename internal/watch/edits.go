package watch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// send returns the effect of an edit, or none while the source is lost.
func (m *model) send(e Edit) effect {
	if m.lost != nil {
		m.say(bad, "Not live: nothing can be changed until the server is back.")
		return effect{}
	}
	return effect{edit: &e}
}

// edited notes the outcome of an edit: what it did, and how it is undone.
func (m *model) edited(e Edit, before todo.Snapshot, out todo.Outcome, err error) effect {
	if err != nil {
		m.say(bad, "Not changed: "+rootCause(err))
		if e.Text != "" && (e.Do == Reword || e.Do == Add || e.Do == Block || e.Do == Rename) && m.prompt == nil {
			m.retype(e)
		}
		return effect{}
	}
	after := out.After
	result := m.receiveLists([]todo.Snapshot{after}, false)
	if e.Do == Delete && e.Away {
		delete(m.lists, e.List)
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
	if e.isOfItem() && m.state(after) != todo.Finished {
		text += m.whenSeen(after)
	}
	m.say(done, text)
	return result
}

// retype opens the prompt again with what was typed, so that it is not lost.
func (m *model) retype(e Edit) {
	problem := m.note.text
	m.prompt = &prompt{label: "Once more:", field: field{before: e.Text}, problem: problem,
		check:  func(text string) error { return checkText(e.Do, text) },
		accept: func(text string) Edit { e.Text = text; return e }}
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

// isOfItem reports whether an edit, or the one it undoes, is of items, which are
// what agents are told of.
func (e Edit) isOfItem() bool {
	do := cmp.Or(e.undoes, e.Do)
	return do != Rename && do != Archive && do != Delete
}

// inverse returns the edit that undoes one, which made the revision after. What
// the person changed is the step from the revision just before: what is shown when
// the person edits may be older, and what the agent wrote between is not undone.
func (e Edit) inverse(after todo.Snapshot) Edit {
	back := Edit{List: e.List, Do: Undo, Seen: after.Revision, From: after.Revision - 1, undoes: e.Do}
	if e.Do == Archive || e.Do == Delete {
		back.Do, back.Away = e.Do, !e.Away
	}
	return back
}

// pastTense says what an edit did.
func pastTense(e Edit, before todo.Snapshot) string {
	if e.undoes != "" {
		return "Undone"
	}
	item, _ := before.Item(e.Item)
	name := "“" + cut(render.Safe(item.Text), 40) + "”"
	switch e.Do {
	case SetStatus:
		return fmt.Sprintf("%s: %s", name, statusWord(e.Status))
	case Block:
		return name + ": blocked"
	case Reword:
		return "Reworded"
	case Add:
		return "Added"
	case RemoveItem:
		return "Removed " + name
	case Move:
		return "Moved " + name
	case Restore:
		return fmt.Sprintf("Restored revision %d as a new one", e.Revision)
	case Rename:
		return "Renamed"
	}
	if !e.Away {
		return "Brought back"
	}
	return map[Action]string{Archive: "Archived", Delete: "Deleted, for 24 hours to bring back"}[e.Do]
}

// checkText says what is wrong with the text for an action.
func checkText(a Action, text string) error {
	clean, err := todo.CleanText(text)
	switch {
	case err != nil:
		return err
	case a == Rename:
		_, err := todo.CleanTitle(text)
		return err
	case a == Block:
		return todo.Item{Text: "x", Status: todo.Blocked, Reason: clean}.Check()
	case strings.TrimSpace(clean) == "":
		return errors.New("the text is empty")
	}
	return todo.Item{Text: clean, Status: todo.Pending}.Check()
}

// ask opens a prompt for the text of an edit.
func (m *model) ask(label, text string, e Edit) effect {
	m.prompt = &prompt{label: label, field: field{before: text},
		check: func(text string) error { return checkText(e.Do, text) },
		accept: func(text string) Edit {
			e.Text, _ = todo.CleanText(text) // check has accepted it
			return e
		}}
	return effect{}
}

// confirm opens a question.
func (m *model) confirm(question string, e Edit) effect {
	m.prompt = &prompt{label: question + "  y yes · any other key no", question: true, accept: func(string) Edit { return e }}
	return effect{}
}

// onItem starts an edit of the item under the cursor, and says so if there is
// none.
func (m *model) onItem(edit func(s todo.Snapshot, item todo.Item, e Edit) effect) effect {
	s, item, ok := m.cursorItem()
	if !ok {
		m.say(dim, "No item is selected.")
		return effect{}
	}
	return edit(s, item, Edit{List: s.List.ID, Seen: s.Revision, Item: item.ID})
}

// setStatus gives the item under the cursor a status, or makes it pending again.
func (m *model) setStatus(status todo.Status) effect {
	return m.onItem(func(_ todo.Snapshot, item todo.Item, e Edit) effect {
		if e.Do, e.Status = SetStatus, status; item.Status == status {
			e.Status = todo.Pending
		}
		return m.send(e)
	})
}

func (m *model) reword() effect {
	return m.onItem(func(_ todo.Snapshot, item todo.Item, e Edit) effect {
		e.Do = Reword
		return m.ask("Reword:", item.Text, e)
	})
}

func (m *model) block() effect {
	return m.onItem(func(_ todo.Snapshot, item todo.Item, e Edit) effect {
		if item.Status == todo.Blocked {
			e.Do, e.Status = SetStatus, todo.Pending
			return m.send(e)
		}
		e.Do = Block
		return m.ask("Blocked by (may be empty):", "", e)
	})
}

func (m *model) remove() effect {
	return m.onItem(func(_ todo.Snapshot, _ todo.Item, e Edit) effect {
		e.Do = RemoveItem
		return m.send(e)
	})
}

func (m *model) moveItem(delta int) effect {
	return m.onItem(func(s todo.Snapshot, item todo.Item, e Edit) effect {
		to := slices.IndexFunc(s.Items, func(i todo.Item) bool { return i.ID == item.ID }) + delta
		if to < 0 || to >= len(s.Items) {
			return effect{}
		}
		e.Do, e.To = Move, to
		return m.send(e)
	})
}

func (m *model) add() effect {
	s, ok := m.shown()
	if !ok {
		return effect{}
	}
	return m.ask("Add:", "", Edit{List: s.List.ID, Seen: s.Revision, Do: Add})
}

func (m *model) rename() effect {
	s, ok := m.shown()
	if !ok {
		return effect{}
	}
	return m.ask("Title:", s.Title(), Edit{List: s.List.ID, Do: Rename})
}

func (m *model) archive() effect {
	s, ok := m.shown()
	if !ok {
		return effect{}
	}
	return m.send(Edit{List: s.List.ID, Do: Archive, Away: !s.Archived})
}

func (m *model) deleteList() effect {
	s, ok := m.shown()
	if !ok {
		return effect{}
	}
	return m.confirm("Delete “"+cut(render.Safe(s.Title()), max(m.width-60, 12))+"” and its history?", Edit{List: s.List.ID, Do: Delete, Away: true})
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
		Edit{List: live.List.ID, Do: Restore, Revision: s.Revision})
}
