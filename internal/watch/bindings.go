package watch

import (
	"slices"
	"strings"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// place is where the keys go.
type place int

const (
	onBoard place = 1 << iota
	onList
	onPage   // any other key closes it
	anywhere = onBoard | onList
	always   = anywhere | onPage
)

// where returns where the keys go now.
func (m *model) where() place {
	switch {
	case m.page != nil:
		return onPage
	case m.opened == "":
		return onBoard
	}
	return onList
}

// binding is a row of the table of keys: the only place that says which key does
// what. The last line and the overlay are drawn from it.
type binding struct {
	keys  string // names of keys, see key; the overlay shows them
	where place
	short string // for the last line: "x tick"; empty: only in the overlay
	help  string // for the overlay; empty: not in it
	edits edits
	do    func(m *model)
}

// edits is what a key changes, which it cannot while the source is lost.
type edits int

const (
	editsItems edits = iota + 1 // the items of a list, unless it is mirrored
	editsList                   // what it has besides items
)

// bindings returns the table, in the order of the last line.
func bindings() []binding {
	return slices.Concat(moving(), editing(), wholeLists(), looking())
}

func moving() []binding {
	return []binding{
		{"Up k", always, "", "up", 0, move(-1)},
		{"Down j", always, "↑↓ move", "down", 0, move(1)},
		{"PgUp", always, "", "half a screen up", 0, movePage(-1)},
		{"PgDn", always, "", "half a screen down", 0, movePage(1)},
		{"Space", onPage, "", "", 0, movePage(1)},
		{"Home g", always, "", "first", 0, move(-all)},
		{"End G", always, "", "last", 0, move(all)},
		{"Enter Right l", onBoard, "enter open", "open the list", 0, (*model).enter},
		{"Tab", onBoard, "", "", 0, (*model).enter},
		{"Enter Right l", onList, "", "sub-agent’s list, fold, whole text", 0, (*model).enter},
		{"Esc Left", onList, "esc back", "back", 0, (*model).escape},
		{"Tab", onList, "", "", 0, (*model).escape},
		{"Esc", onBoard, "", "clear the search", 0, (*model).escape},
	}
}

func editing() []binding {
	return []binding{
		{"x Space", onBoard | onList, "x tick", "tick; again: to do", editsItems, toggle(todo.Completed)},
		{"e", onBoard | onList, "e edit", "reword the item", editsItems, onItem((*model).reword)},
		{"b", onList, "b block", "block with a reason; again: to do", editsItems, onItem((*model).block)},
		{"f", onList, "", "failed; again: to do", editsItems, toggle(todo.Failed)},
		{"n", onBoard, "", "add an item", editsItems, onShown((*model).add)},
		{"n", onList, "n add", "add an item", editsItems, onShown((*model).add)},
		{"Alt+Up K", onList, "", "move the item up", editsItems, moveItem(-1)},
		{"Alt+Down J", onList, "", "move the item down", editsItems, moveItem(1)},
		{"d Backspace", onList, "", "delete the item", editsItems, onItem((*model).remove)},
		{"Delete", onList, "", "", editsItems, onItem((*model).remove)},
		{"B", onList, "", "bring back your words, or order", editsItems, (*model).bringBack},
		{"u", onBoard | onList, "", "undo your last change", 0, (*model).undoLast},
	}
}

func wholeLists() []binding {
	return []binding{
		{"r", onBoard | onList, "r rename", "rename the list", editsList, onShown((*model).rename)},
		{"h", onBoard | onList, "h history", "history of the list", 0, onShown((*model).openHistory)},
		{"a", onBoard | onList, "a archive", "archive the list, or bring it back", editsList, onShown((*model).archive)},
		{"D", onBoard | onList, "", "delete the list", editsList, onShown((*model).deleteList)},
		{"o", anywhere, "o browser", "open the list in the browser", 0, onShown((*model).openPage)},
		{"y", anywhere, "y copy", "copy the list as markdown", 0, onShown((*model).copyList)},
		{"Y", onList, "", "copy the item’s text", 0, onItem((*model).copyItem)},
	}
}

func looking() []binding {
	return []binding{
		{"/", onBoard, "/ search", "search, also in past lists", 0, (*model).search},
		{"?", anywhere, "? keys", "these keys", 0, (*model).showKeys},
		{"Ctrl-L", always, "", "draw again", 0, func(m *model) { m.effect.redraw = true }},
		{"Ctrl-Z", always, "", "to the shell; fg comes back", 0, func(m *model) { m.effect.suspend = true }},
		{"q Ctrl-C", anywhere, "q quit", "quit", 0, func(m *model) { m.effect.quit = true }},
		{"Ctrl-C", onPage, "", "", 0, func(m *model) { m.effect.quit = true }},
	}
}

// all is more than there are rows.
const all = 1 << 30

// move returns what a key does that moves the cursor.
func move(delta int) func(*model) { return func(m *model) { m.move(delta) } }

// movePage returns what a key does that moves the cursor by halves of a screen.
func movePage(n int) func(*model) { return func(m *model) { m.move(n * max(m.height/2, 1)) } }

// onShown returns what a key does with the list that the keys act on; nothing where there
// is none.
func onShown(do func(*model, todo.Snapshot)) func(*model) {
	return func(m *model) {
		if s, ok := m.shown(); ok {
			do(m, s)
		}
	}
}

// press updates the model for a key and returns what the viewer must do.
func (m *model) press(k key) effect {
	m.note = note{}
	if m.prompt != nil && !slices.Contains([]key{keyInterrupt, keySuspend, keyRedraw}, k) {
		m.pressPrompt(k)
	} else {
		m.pressBinding(k)
	}
	return m.take()
}

// pressBinding does what the table says of a key.
func (m *model) pressBinding(k key) {
	where, name := m.where(), string(k)
	if k == " " {
		name = "Space"
	}
	for _, b := range bindings() {
		if b.where&where == 0 || !slices.Contains(strings.Fields(b.keys), name) {
			continue
		}
		if b.edits == editsItems && m.mirrored() {
			m.say(bad, "Not changed: "+todo.ErrMirrored.Error())
		} else {
			b.do(m)
		}
		return
	}
	m.page = nil
}

// mirrored reports whether the list that the keys act on is one that its agent keeps
// elsewhere.
func (m *model) mirrored() bool {
	s, ok := m.shown()
	return ok && s.List.Mirrored
}

func (m *model) setFilter(text string) {
	if text != m.filter {
		m.filter, m.board = text, pane{}
	}
}

// move moves the cursor of the pane that has the keys.
func (m *model) move(delta int) {
	switch s, ok := m.shown(); {
	case m.page != nil:
		m.page.top += delta
	case m.opened == "":
		m.board.move(m.boardRows(0, 0), delta)
	case ok:
		m.list.move(m.listRows(s, 0, true), delta)
	}
}

func (m *model) enter() {
	if m.opened == "" {
		m.board.place(m.boardRows(0, 0))
		if m.board.cursor != "" {
			m.open(m.board.cursor)
		}
		return
	}
	sub, isSub := strings.CutPrefix(m.list.cursor, subPrefix)
	switch {
	case isSub: // leave comes back to the list that it was opened from
		m.back = append(m.back, m.opened)
		m.open(sub)
	case m.list.cursor == foldID:
		m.list.unfolded[m.opened] = !m.list.unfolded[m.opened]
	case m.list.cursor == m.list.whole:
		m.list.whole = ""
	default:
		m.list.whole = m.list.cursor
	}
}

// escape goes back one step: from a sub-agent's list to where it was opened, from a list
// to the board, from what was searched to all lists.
func (m *model) escape() {
	switch {
	case len(m.back) > 0:
		sub, last := m.opened, len(m.back)-1
		m.open(m.back[last])
		m.back, m.list.cursor = m.back[:last], subPrefix+sub
	case m.opened != "":
		m.opened, m.wanted = "", ""
	default:
		m.wanted = ""
		m.setFilter("")
	}
}

func (m *model) openHistory(s todo.Snapshot) { m.effect.history = s.List.ID }

func (m *model) openPage(s todo.Snapshot) { m.effect.page = s.List.ID }

func (m *model) copyList(s todo.Snapshot) {
	m.say(done, "Copied the list as markdown.")
	m.effect.copy = render.Markdown(s)
}

func (m *model) copyItem(_ todo.Snapshot, item todo.Item, _ edit) {
	m.say(done, "Copied “"+render.Cut(render.Safe(item.Text), 40)+"”.")
	m.effect.copy = render.Safe(item.Text)
}
