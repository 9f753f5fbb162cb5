package watch

import (
	"math"
	"unicode/utf8"

	"todo-mcp/internal/todo"
)

// press does what a key means here and now.
func (m *model) press(k key) effect {
	switch {
	case k == keyInterrupt:
		return effect{quit: true}
	case k == keySuspend:
		return effect{suspend: true}
	case k == keyRedraw:
		return effect{redraw: true}
	case m.typing:
		m.typeFilter(k)
		return effect{}
	case k == "q":
		return effect{quit: true}
	case k == "?":
		m.help = !m.help
		return effect{}
	case m.opened != "":
		return m.pressOpened(k)
	}
	m.pressOverview(k)
	return effect{}
}

func (m *model) typeFilter(k key) {
	switch {
	case k == keyEnter:
		m.typing = false
	case k == keyEscape:
		m.typing, m.filter = false, ""
	case k == keyEraseAll:
		m.filter = ""
	case k == keyBackspace:
		_, n := utf8.DecodeLastRuneInString(m.filter)
		m.filter, m.selected = m.filter[:len(m.filter)-n], ""
	case k == keyUp || k == keyDown:
		m.pressOverview(k)
	case utf8.RuneCountInString(string(k)) == 1:
		m.filter, m.selected = m.filter+string(k), ""
	}
}

func (m *model) pressOverview(k key) {
	switch k {
	case "/":
		m.typing = true
	case keyUp, "k":
		m.moveSelection(-1)
	case keyDown, "j":
		m.moveSelection(1)
	case keyHome, "g":
		m.selected = ""
	case keyEnter:
		m.open()
	case keyEscape:
		if m.filter != "" {
			m.filter = ""
		} else {
			m.selected = ""
		}
	}
}

// moveSelection selects the next list, or the one before; from none the first.
func (m *model) moveSelection(by int) {
	ids := selectable(m.entries())
	if len(ids) == 0 {
		return
	}
	at := -1
	for i, id := range ids {
		if id == m.selected {
			at = i
		}
	}
	m.selected = ids[min(max(at+by, 0), len(ids)-1)]
}

func selectable(entries []entry) (ids []string) {
	for _, e := range entries {
		ids = append(ids, e.main.List.ID)
		for _, s := range e.subs {
			ids = append(ids, s.List.ID)
		}
	}
	return ids
}

// open opens the selected list, or the first.
func (m *model) open() {
	ids := selectable(m.entries())
	if len(ids) == 0 {
		return
	}
	m.opened = ids[0]
	for _, id := range ids {
		if id == m.selected {
			m.opened = id
		}
	}
	m.selected = m.opened
}

func (m *model) pressOpened(k key) effect {
	switch k {
	case keyEscape:
		m.back()
	case keyLeft, "h":
		return m.step(-1)
	case keyRight:
		return m.step(1)
	case keyHome, "g":
		return m.step(-math.MaxInt32)
	case keyEnd, "l":
		m.revision, m.scroll = 0, -1
	case keyUp, "k":
		m.scrollBy(-1)
	case keyDown, "j":
		m.scrollBy(1)
	case keyPageUp:
		m.scrollBy(-m.height / 2)
	case keyPageDown:
		m.scrollBy(m.height / 2)
	}
	return effect{}
}

// back leaves history first, then the list.
func (m *model) back() {
	m.scroll, m.trouble = -1, ""
	if m.revision != 0 {
		m.revision = 0
		return
	}
	m.opened, m.wanted, m.history = "", "", nil
}

// step goes through history; from live, back to the newest revision and what
// changed with it; from the newest, on to live.
func (m *model) step(by int) effect {
	live, ok := m.lists[m.opened]
	if !ok || m.revision == 0 && by > 0 {
		return effect{}
	}
	m.scroll = -1
	if m.history == nil {
		m.revision = max(live.Revision+int64(by)+1, 1)
		return effect{history: m.opened}
	}
	at, last := m.place(), len(m.history)-1
	if at < 0 {
		at = last + 1
	}
	if at += by; at > last {
		m.revision = 0
		return effect{}
	}
	m.revision = m.history[max(at, 0)].Revision
	return effect{}
}

// shown is what the opened list shows: a revision of its history, or itself.
// before is the revision before it; the zero snapshot if it is live or the
// first that is kept.
func (m *model) shown() (s, before todo.Snapshot, past bool) {
	at := m.place()
	if m.revision == 0 || at < 0 {
		return m.lists[m.opened], todo.Snapshot{}, false
	}
	if at > 0 {
		before = m.history[at-1]
	}
	return m.history[at], before, true
}
