package watch

import (
	"slices"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// place is where the keys go.
type place int

const (
	onBoard place = 1 << iota
	onList
	onHistory
	anywhere = onBoard | onList | onHistory
)

// where returns where the keys go now.
func (m *model) where() place {
	switch {
	case m.opened == "":
		return onBoard
	case m.history != nil:
		return onHistory
	}
	return onList
}

// binding is a row of the table of keys: the only place that says which key does
// what. The last line and the overlay are drawn from it.
type binding struct {
	keys  []key
	where place
	short string // for the last line: "x tick"; empty: only in the overlay
	names string // the keys as the overlay shows them
	help  string
	edits edits
	do    func(m *model) effect
}

// edits is what a key changes, which it cannot while the source is lost.
type edits int

const (
	editsItems edits = iota + 1 // the items of a list, unless it is mirrored
	editsList                   // what it has besides items
)

// bindings returns the table, in the order of the last line.
func bindings() []binding {
	return slices.Concat(moving(), revisions(), editing(), wholeLists(), looking())
}

func moving() []binding {
	return []binding{
		{[]key{keyUp, "k"}, anywhere, "", "↑ k", "up", 0, func(m *model) effect { m.moveBy(-1); return effect{} }},
		{[]key{keyDown, "j"}, anywhere, "↑↓ move", "↓ j", "down", 0, func(m *model) effect { m.moveBy(1); return effect{} }},
		{[]key{keyPageUp}, anywhere, "", "PgUp", "half a screen up", 0, func(m *model) effect { m.moveBy(-max(m.height/2, 1)); return effect{} }},
		{[]key{keyPageDown}, anywhere, "", "PgDn", "half a screen down", 0, func(m *model) effect { m.moveBy(max(m.height/2, 1)); return effect{} }},
		{[]key{keyHome, "g"}, onBoard | onList, "", "Home g", "first", 0, func(m *model) effect { m.moveBy(-1 << 30); return effect{} }},
		{[]key{keyEnd, "G"}, onBoard | onList, "", "End G", "last", 0, func(m *model) effect { m.moveBy(1 << 30); return effect{} }},
		{[]key{keyEnter, keyRight, "l", keyTab}, onBoard, "enter open", "Enter → l", "open the list", 0, (*model).enter},
		{[]key{keyEnter, keyRight, "l"}, onList, "", "Enter → l", "sub-agent’s list, fold, whole text", 0, (*model).enter},
		{[]key{keyEscape, keyLeft, keyTab}, onList, "esc back", "Esc ←", "back", 0, (*model).escape},
		{[]key{keyEscape}, onBoard, "", "Esc", "clear the search", 0, (*model).escape},
	}
}

func revisions() []binding {
	return []binding{
		{[]key{"[", keyLeft}, onHistory, "[ ] step", "[ ←", "earlier revision", 0, func(m *model) effect { m.history.step(-1); return effect{} }},
		{[]key{"]", keyRight}, onHistory, "", "] →", "later revision", 0, func(m *model) effect { m.history.step(1); return effect{} }},
		{[]key{keyHome, "g"}, onHistory, "", "Home g", "first revision", 0, func(m *model) effect { m.history.step(-1 << 30); return effect{} }},
		{[]key{keyEnd, "G"}, onHistory, "end newest", "End G", "newest revision", 0, func(m *model) effect { m.history.step(1 << 30); return effect{} }},
		{[]key{"R"}, onHistory, "R restore", "R", "restore this revision as a new one", editsItems, (*model).restore},
		{[]key{keyEscape, "h"}, onHistory, "esc back", "Esc h", "back to the list", 0, (*model).escape},
	}
}

func editing() []binding {
	return []binding{
		{[]key{"x", " "}, onBoard | onList, "x tick", "x Space", "tick; again: to do", editsItems, func(m *model) effect { return m.setStatus(todo.Completed) }},
		{[]key{"e"}, onBoard | onList, "e edit", "e", "reword the item", editsItems, (*model).reword},
		{[]key{"b"}, onList, "b block", "b", "block with a reason; again: to do", editsItems, (*model).block},
		{[]key{"f"}, onList, "", "f", "failed; again: to do", editsItems, func(m *model) effect { return m.setStatus(todo.Failed) }},
		{[]key{"n"}, onBoard, "", "n", "add an item", editsItems, onShown((*model).add)},
		{[]key{"n"}, onList, "n add", "n", "add an item", editsItems, onShown((*model).add)},
		{[]key{keyAltUp, "K"}, onList, "", "Alt+↑ K", "move the item up", editsItems, func(m *model) effect { return m.moveItem(-1) }},
		{[]key{keyAltDown, "J"}, onList, "", "Alt+↓ J", "move the item down", editsItems, func(m *model) effect { return m.moveItem(1) }},
		{[]key{keyBackspace, keyDelete, "d"}, onList, "", "d ⌫", "delete the item", editsItems, (*model).remove},
		{[]key{"B"}, onList, "", "B", "bring back your words, or order", editsItems, (*model).bringBack},
		{[]key{"u"}, onBoard | onList, "", "u", "undo your last change", 0, (*model).undoLast},
	}
}

func wholeLists() []binding {
	return []binding{
		{[]key{"r"}, onBoard | onList, "r rename", "r", "rename the list", editsList, onShown((*model).rename)},
		{[]key{"h"}, onBoard | onList, "h history", "h", "history of the list", 0, (*model).openHistory},
		{[]key{"a"}, onBoard | onList, "a archive", "a", "archive the list, or bring it back", editsList, onShown((*model).archive)},
		{[]key{"D"}, onBoard | onList, "", "D", "delete the list", editsList, onShown((*model).deleteList)},
		{[]key{"o"}, anywhere, "o browser", "o", "open the list in the browser", 0, onShown((*model).openPage)},
		{[]key{"y"}, anywhere, "y copy", "y", "copy the list as markdown", 0, onShown((*model).copyList)},
		{[]key{"Y"}, onList, "", "Y", "copy the item’s text", 0, (*model).copyItem},
	}
}

func looking() []binding {
	return []binding{
		{[]key{"/"}, onBoard, "/ search", "/", "search, also in past lists", 0, (*model).search},
		{[]key{"?"}, anywhere, "? keys", "?", "these keys", 0, func(m *model) effect { m.help, m.helpTop = true, 0; return effect{} }},
		{[]key{keyRedraw}, anywhere, "", "Ctrl-L", "draw again", 0, func(*model) effect { return effect{redraw: true} }},
		{[]key{keySuspend}, anywhere, "", "Ctrl-Z", "to the shell; fg comes back", 0, func(*model) effect { return effect{suspend: true} }},
		{[]key{"q", keyInterrupt}, anywhere, "q quit", "q Ctrl-C", "quit", 0, func(*model) effect { return effect{quit: true} }},
	}
}

// onShown returns what a key does with the list that the keys act on; nothing where there
// is none.
func onShown(do func(*model, todo.Snapshot) effect) func(*model) effect {
	return func(m *model) effect {
		if s, ok := m.shown(); ok {
			return do(m, s)
		}
		return effect{}
	}
}

// press updates the model for a key and returns the effect to perform.
func (m *model) press(k key) effect {
	m.note = note{}
	switch {
	case k == keyInterrupt:
		return effect{quit: true}
	case k == keySuspend:
		return effect{suspend: true}
	case k == keyRedraw:
		return effect{redraw: true}
	case m.prompt != nil:
		return m.pressPrompt(k)
	case m.searching:
		return m.pressSearch(k)
	case m.help:
		return m.pressHelp(k)
	}
	for _, b := range bindings() {
		if b.where&m.where() != 0 && slices.Contains(b.keys, k) {
			if b.edits == editsItems && m.mirrored() {
				m.say(bad, "Not changed: "+todo.ErrMirrored.Error())
				return effect{}
			}
			return b.do(m)
		}
	}
	return effect{}
}

// mirrored reports whether the list that the keys act on is one that its agent keeps
// elsewhere.
func (m *model) mirrored() bool {
	s, ok := m.shown()
	return ok && s.List.Mirrored
}

// pressSearch edits the search; the board shows what matches at each key.
func (m *model) pressSearch(k key) effect {
	switch k {
	case keyEnter:
		m.searching = false
	case keyEscape:
		m.searching = false
		m.setFilter("")
	case keyUp, keyDown, keyPageUp, keyPageDown:
		m.moveBy(map[key]int{keyUp: -1, keyDown: 1, keyPageUp: -m.height / 2, keyPageDown: m.height / 2}[k])
	default:
		if m.field.press(k) {
			m.setFilter(m.field.text())
		}
	}
	return effect{}
}

func (m *model) setFilter(text string) {
	if text != m.filter {
		m.filter = text
		m.board.selected, m.board.anchor = "", anchor{}
	}
}

func (m *model) search() effect {
	m.searching, m.field = true, field{before: m.filter}
	return effect{}
}

// moveBy moves the cursor of the pane that has the keys.
func (m *model) moveBy(delta int) {
	if m.opened == "" {
		m.moveSelection(delta)
	} else {
		m.moveItemCursor(delta)
	}
}

func (m *model) enter() effect {
	if m.opened == "" {
		m.placeCursor(m.boardRows())
		if m.board.selected != "" {
			m.open(m.board.selected)
		}
		return effect{}
	}
	for _, sub := range m.family(m.lists[m.opened]).Subs {
		if m.list.cursor == subPrefix+sub.List.ID {
			m.openSub(sub.List.ID)
			return effect{}
		}
	}
	switch m.list.cursor {
	case foldID:
		m.list.unfolded[m.opened] = !m.list.unfolded[m.opened]
	case m.list.whole:
		m.list.whole = ""
	default:
		m.list.whole = m.list.cursor
	}
	return effect{}
}

func (m *model) escape() effect {
	switch {
	case m.opened != "":
		m.leave()
	default:
		m.wanted = ""
		m.setFilter("")
	}
	return effect{}
}

func (m *model) openHistory() effect {
	if m.opened == "" {
		if _, ok := m.shown(); !ok {
			return effect{}
		}
		m.open(m.board.selected)
	}
	m.history = &history{list: m.opened}
	m.list.top = 0
	return effect{history: m.opened}
}

func (m *model) openPage(s todo.Snapshot) effect { return effect{page: s.List.ID} }

func (m *model) copyList(s todo.Snapshot) effect {
	m.say(done, "Copied the list as markdown.")
	return effect{copy: render.Markdown(m.revisionOf(s))}
}

func (m *model) copyItem() effect {
	_, item, ok := m.cursorItem()
	if !ok {
		return effect{}
	}
	m.say(done, "Copied “"+render.Cut(render.Safe(item.Text), 40)+"”.")
	return effect{copy: render.Safe(item.Text)}
}
