package watch

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gdamore/tcell/v3"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// place is where a key has an effect: the board, a list or a page. Places are bits that can be combined.
type place int

const (
	onBoard place = 1 << iota
	onList
	onPage   // any key without a binding closes the page
	onLeft   // added to onBoard or onList if the list is left open
	anywhere = onBoard | onList
	always   = anywhere | onPage
)

func (m *model) where() place {
	at := onList
	switch {
	case m.page != nil:
		return onPage
	case m.opened == "":
		at = onBoard
	}
	if s, ok := m.shown(); ok {
		if f := m.group(s); f.State() == todo.LeftOpen {
			at |= onLeft
		}
	}
	return at
}

// binding is a row of the table of keys. The last line and the page of keys are made from it.
type binding struct {
	section string // on the page of keys
	keys    string // names separated by spaces, see key
	where   place
	short   string // in the last line, as "x tick"; may be empty
	help    string // on the page of keys; may be empty
	do      func(m *model)
}

// everywhere is the section of keys that need no list.
const everywhere = "Everywhere"

// bindings returns the table in the order of the last line.
func bindings() []binding {
	quit := func(m *model) { m.effect.quit = true }
	editItems := func(m *model, s todo.Snapshot) {
		if m.mayEdit() {
			m.effect.editor = &s
		}
	}
	return []binding{
		{everywhere, "?", anywhere, "? keys", "these keys", (*model).showKeys},
		{everywhere, "q Ctrl-C", anywhere, "q quit", "quit", quit},
		{everywhere, "/", onBoard, "/ search", "search, also in past lists", func(m *model) { m.searching = true }},
		{everywhere, "Ctrl-L", always, "", "draw again", func(m *model) { m.effect.redraw = true }},
		{everywhere, "Ctrl-C", onPage, "", "", quit},
		{"Moving", "Up k", always, "", "up", move(-1)},
		{"Moving", "Down j", always, "↑↓ move", "down", move(1)},
		{"Moving", "PgUp", always, "", "half a screen up", movePage(-1)},
		{"Moving", "PgDn", always, "", "half a screen down", movePage(1)},
		{"Moving", "Space", onPage, "", "", movePage(1)},
		{"Moving", "Home g", always, "", "first", move(-all)},
		{"Moving", "End G", always, "", "last", move(all)},
		{"Moving", "Enter Right l Tab", onBoard, "enter open", "open the list", (*model).enter},
		{"Moving", "Enter Right l", onList, "", "open the sub-agent’s list", (*model).enter},
		{"Moving", "Esc Left Tab", onList, "esc back", "back", (*model).escape},
		{"Moving", "Esc", onBoard, "", "clear the search", (*model).escape},
		{"Lists", "D", onLeft, "D done", "left open: all that is open is done", onShown((*model).finish)},
		{"Lists", "c", onLeft, "c command", "left open: copy the command that resumes it", onShown((*model).copyCommand)},
		{"Items", "x Space", anywhere, "x tick", "tick; again: to do", toggle(todo.Completed)},
		{"Items", "b", onList, "b block", "block; again: to do", toggle(todo.Blocked)},
		{"Items", "f", onList, "", "failed; again: to do", toggle(todo.Failed)},
		{"Items", "e", anywhere, "e edit", "edit the items in your editor", onShown(editItems)},
		{"Items", "u", anywhere, "", "undo your last change", (*model).undoLast},
		{"Lists", "h", anywhere, "h history", "history of the list", onShown(func(m *model, s todo.Snapshot) { m.effect.history = s.List.ID })},
		{"Lists", "A", anywhere, "A archive", "archive the list, or bring it back", onShown((*model).archive)},
	}
}

// all is more than any number of rows.
const all = 1 << 30

// move returns an action that moves the cursor.
func move(delta int) func(*model) { return func(m *model) { m.move(delta) } }

// movePage returns an action that moves the cursor by n halves of a screen.
func movePage(n int) func(*model) { return func(m *model) { m.move(n * max(m.height/2, 1)) } }

// onShown returns an action on the list that the keys act on, if there is one.
func onShown(do func(*model, todo.Snapshot)) func(*model) {
	return func(m *model) {
		if s, ok := m.shown(); ok {
			do(m, s)
		}
	}
}

// pressSearch edits the filter, which acts at once. It returns false for a key that works as usual, like Up.
func (m *model) pressSearch(k key) bool {
	switch {
	case k == "Enter":
		m.searching = false
	case k == "Esc":
		m.searching = false
		m.setFilter("")
	case k == "Ctrl-U":
		m.setFilter("")
	case k == "Backspace":
		_, last := utf8.DecodeLastRuneInString(m.filter)
		m.setFilter(m.filter[:len(m.filter)-last])
	case utf8.RuneCountInString(string(k)) == 1 && len(m.filter) < todo.MaxTitle: // a limit for long pastes, too
		m.setFilter(m.filter + string(k))
	default:
		return !slices.Contains([]key{"Up", "Down", "PgUp", "PgDn", "Ctrl-C", "Ctrl-L"}, k)
	}
	return true
}

// press handles a key.
func (m *model) press(k key) {
	if m.note = ""; m.searching && m.pressSearch(k) {
		return
	}
	where, name := m.where(), string(k)
	if k == " " {
		name = "Space"
	}
	for _, b := range bindings() {
		if b.where&where != 0 && slices.Contains(strings.Fields(b.keys), name) {
			b.do(m)
			return
		}
	}
	m.page = nil
}

func (m *model) setFilter(text string) {
	if text != m.filter {
		m.filter, m.board = text, pane{}
	}
}

// move moves the cursor of the focused pane, or scrolls the page.
func (m *model) move(delta int) {
	switch s, ok := m.shown(); {
	case m.page != nil:
		m.page.top += delta
	case m.opened == "":
		m.board.move(m.boardRows(0), delta)
	case ok:
		m.list.move(m.listRows(s, 0, true), delta)
	}
}

func (m *model) enter() {
	if m.opened == "" {
		m.board.move(m.boardRows(0), 0)
		if m.board.cursor != "" {
			m.open(m.board.cursor)
		}
		return
	}
	if sub, isSub := strings.CutPrefix(m.list.cursor, subPrefix); isSub {
		m.open(sub)
	}
}

// escape goes back: from a sub-agent's list to its main list, from another list to the board, from a search to all lists.
func (m *model) escape() {
	sub := m.lists[m.opened].List
	_, hasMain := m.lists[sub.Parent]
	switch {
	case m.opened == "":
		m.setFilter("")
	case hasMain:
		m.open(sub.Parent)
		m.list.cursor = subPrefix + sub.ID
	default:
		m.opened = ""
	}
}

// key is a character, or tcell's name of a key, which is longer.
type key string

// readKeys returns the keys of a terminal's event. For keys, and for a new size of the terminal, it requests a new
// frame. Pasted text goes to the search only.
func (v *viewer) readKeys(event tcell.Event) []key {
	switch e := event.(type) {
	case *tcell.EventError: // the terminal is gone
		v.effect.quit = true
	case *tcell.EventResize:
		v.screen.shown, v.drawn = nil, time.Time{}
	case *tcell.EventPaste:
		v.pasting = e.Start()
	case *tcell.EventKey:
		switch {
		case !v.pasting:
			v.drawn = time.Time{}
			return keysOf(e)
		case e.Key() == tcell.KeyCtrlC: // quits even if the end of the paste was lost
			return []key{"Ctrl-C"}
		case e.Key() == tcell.KeyRune && v.searching:
			return keysOf(e)
		}
	}
	return nil
}

// keysOf converts an event. Alt+x and Esc followed by x come as the same bytes: it returns Esc and x for both.
func keysOf(e *tcell.EventKey) []key {
	name, character := key(tcell.KeyNames[e.Key()]), key(e.Str())
	switch {
	case e.Key() == tcell.KeyCtrlJ:
		return []key{"Enter"}
	case e.Key() != tcell.KeyRune && name != "":
		return []key{name}
	case e.Key() != tcell.KeyRune || strings.ContainsFunc(e.Str(), func(r rune) bool { return !unicode.IsPrint(r) }):
		return nil
	case e.Modifiers()&(tcell.ModAlt|tcell.ModMeta) != 0:
		return []key{"Esc", character}
	}
	return []key{character}
}
