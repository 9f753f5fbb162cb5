package watch

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// model is the state of the viewer.
type model struct {
	now           time.Time // what the lists are shown as of; it stops while the source is lost
	width, height int
	sourceName    string // name of the source, for people

	lists     map[string]todo.Snapshot // by id
	standings map[string]Standing      // by list id; nil until the source has said them
	loaded    bool                     // the source has sent its lists
	lost      error                    // why the source is not connected; nil if it is

	wanted string // the one list to show first, as the user named it; empty is all
	board  pane   // of lists, by id
	opened string // id of the list that the keys go to; empty is the board
	back   []string
	list   pane // of the opened list, by item

	filter    string
	searching bool   // the filter is being typed
	page      *page  // over the lists; nil for none
	note      string // painted; what the last line says instead of the keys, until the next one
	undo      []edit // that undo what the person did, the last at the end
	underWay  int    // how many edits are not answered yet
	effect    effect // what the viewer must still do
}

func newModel(o Options) *model {
	return &model{wanted: o.List, sourceName: render.Safe(o.Where), lists: map[string]todo.Snapshot{}}
}

func (m *model) say(r role, text string) { m.note = paint(r, " "+text) }

// effect is what the viewer must do after changes of the model.
type effect struct {
	quit, redraw, bell bool
	history            string // id of the list to read the history of; empty is none
	edit               *edit
	editor             *todo.Snapshot // a list to edit in the person's editor
	copy               string         // for the terminal's clipboard
}

// take returns what the viewer must do since the last call.
func (m *model) take() effect {
	e := m.effect
	m.effect = effect{}
	return e
}

// receiveLists adds lists from the source to the model, or replaces all its
// lists by them if all is true. See [Source].
func (m *model) receiveLists(lists []todo.Snapshot, all bool) {
	before, first := m.lists, !m.loaded
	if m.loaded = true; m.lost != nil {
		m.lost, m.note = nil, ""
	}
	if all {
		m.lists = map[string]todo.Snapshot{}
	}
	for _, l := range lists {
		if !first && isNews(before[l.List.ID], l) {
			m.effect.bell = true
		}
		if known, ok := m.lists[l.List.ID]; ok && !l.IsNewer(known) {
			continue
		}
		if m.lists[l.List.ID] = l; l.Deleted {
			delete(m.lists, l.List.ID)
		}
	}
	if first && m.wanted != "" {
		m.openWanted()
	}
}

// receiveStandings takes how lists stand now. A person is told when an agent begins to ask.
func (m *model) receiveStandings(standings map[string]Standing) {
	for id, now := range standings {
		if m.standings != nil && now.Asks != "" && m.standings[id].Asks == "" {
			m.effect.bell = true
		}
	}
	m.standings = standings
}

// isNews reports whether a person wants to be told what became of a list: that it is
// finished, or that an item of it failed or is blocked. A list that was not known counts as
// new, so that one that began and ended unseen is told of. What a person did is not told.
func isNews(before, after todo.Snapshot) bool {
	if after.Revision <= before.Revision || after.Writer.Person || after.Deleted || after.Archived {
		return false
	}
	if after.Settled() && !before.Settled() && after.List.Agent == "" {
		return true
	}
	return slices.ContainsFunc(after.Items, func(i todo.Item) bool {
		old, _ := before.Item(i.ID)
		return i.Status != old.Status && (i.Status == todo.Failed || i.Status == todo.Blocked)
	})
}

// tick notes what time it is. While the source is lost the times of lists stop, since
// nobody knows what has gone on.
func (m *model) tick(now time.Time) {
	if m.lost == nil {
		m.now = now
	}
}

// openWanted opens the list that the user asked for. Several that it may be, as the other
// commands find them, are shown to choose from; that there is none is said.
func (m *model) openWanted() {
	lists := slices.Collect(maps.Values(m.lists))
	slices.SortFunc(lists, func(a, b todo.Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
	switch found, _ := render.Named(lists, m.wanted); len(found) {
	case 0:
		m.say(bad, "There is no list “"+render.Safe(m.wanted)+"”.")
	case 1:
		m.board.cursor = found[0].List.ID
		m.open(found[0].List.ID)
	default:
		m.setFilter(m.wanted)
	}
}

// standing returns how a list stands for itself, by what the source said last of its agent,
// which is there until the source has said otherwise.
func (m *model) standing(s todo.Snapshot) todo.Standing {
	said, isSaid := m.standings[s.List.ID]
	agent := todo.Agent{Here: !s.Archived && !said.State.Rests() && (isSaid || !s.IsChat()), Asks: said.Asks, Since: said.Since}
	switch said.State {
	case todo.Working:
		agent.Doing, agent.Since = todo.Works, m.now
	case todo.Idle:
		agent.Doing = todo.Rests
	}
	return s.Stands(agent, m.now)
}

// states returns how each of the lists stands for itself.
func (m *model) states(lists ...todo.Snapshot) map[string]todo.Standing {
	states := make(map[string]todo.Standing, len(lists))
	for _, l := range lists {
		states[l.List.ID] = m.standing(l)
	}
	return states
}

// open gives the keys to a list.
func (m *model) open(id string) { m.opened, m.list = id, near(focusItem(m.lists[id]).ID, 2) }

// shown returns the list that the keys act on: the opened one, else the selected one.
func (m *model) shown() (todo.Snapshot, bool) {
	id := m.opened
	if id == "" {
		id = m.board.cursor
	}
	l, ok := m.lists[id]
	return l, ok
}
