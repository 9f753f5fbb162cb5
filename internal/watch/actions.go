package watch

import (
	"math"
	"unicode/utf8"

	"todo-mcp/internal/todo"
)

// press updates the model for a key and returns the effect to perform.
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

// moveSelection selects the list delta places below the selected one, as far as
// there is one; the first list if none is selected. delta is 1 or -1.
func (m *model) moveSelection(delta int) {
	ids := selectableIDs(m.entries())
	if len(ids) == 0 {
		return
	}
	index := -1
	for i, id := range ids {
		if id == m.selected {
			index = i
		}
	}
	m.selected = ids[min(max(index+delta, 0), len(ids)-1)]
}

func selectableIDs(entries []entry) (ids []string) {
	for _, e := range entries {
		ids = append(ids, e.main.List.ID)
		for _, s := range e.subs {
			ids = append(ids, s.List.ID)
		}
	}
	return ids
}

// open opens the selected list, or the first if none is selected.
func (m *model) open() {
	ids := selectableIDs(m.entries())
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
		return m.stepHistory(-1)
	case keyRight:
		return m.stepHistory(1)
	case keyHome, "g":
		return m.stepHistory(-math.MaxInt32)
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

// back returns from a past revision to the live list, or from the live list to
// the overview.
func (m *model) back() {
	m.scroll, m.historyProblem = -1, ""
	if m.revision != 0 {
		m.revision = 0
		return
	}
	m.opened, m.wanted, m.history = "", "", nil
}

// stepHistory moves through the history of the opened list. The live list comes
// after its newest revision: one step back from it shows what the newest
// revision changed.
func (m *model) stepHistory(delta int) effect {
	live, ok := m.lists[m.opened]
	if !ok || m.revision == 0 && delta > 0 {
		return effect{}
	}
	m.scroll = -1
	if m.history == nil {
		m.revision = max(live.Revision+int64(delta)+1, 1)
		return effect{history: m.opened}
	}
	index, last := m.historyIndex(), len(m.history)-1
	if index < 0 {
		index = last + 1
	}
	if index += delta; index > last {
		m.revision = 0
		return effect{}
	}
	m.revision = m.history[max(index, 0)].Revision
	return effect{}
}

// openedSnapshot returns the snapshot to draw of the opened list. past reports
// whether it is a revision of the history rather than the live list; before is
// then the revision before it. before is the zero snapshot for the live list and
// for the oldest revision that is kept.
func (m *model) openedSnapshot() (s, before todo.Snapshot, past bool) {
	index := m.historyIndex()
	if m.revision == 0 || index < 0 {
		return m.lists[m.opened], todo.Snapshot{}, false
	}
	if index > 0 {
		before = m.history[index-1]
	}
	return m.history[index], before, true
}
