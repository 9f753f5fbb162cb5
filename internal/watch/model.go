package watch

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// model is the state of the viewer and of [Plain].
type model struct {
	now           time.Time // stops while the source is lost
	width, height int
	sourceName    string // for people

	lists     map[string]todo.Snapshot     // by id
	standings map[string]account.ListState // by list id
	loaded    bool                         // lists were received
	lost      error                        // why the source is not connected; nil if it is

	wanted string // a list to open first, as the user named it; may be empty
	board  pane   // of lists, by id
	opened string // id of the list that keys act on; empty for the board
	list   pane   // items of the opened list

	filter    string
	searching bool   // the filter is being typed
	page      *page  // covers the lists; may be nil
	note      string // painted; replaces the keys in the last line until the next key
	undo      []edit // inverse edits, newest last
	underWay  int    // number of unanswered edits
	undoes    int    // how often to undo once all edits are answered
	effect    effect // what the viewer must still do
}

func newModel(o Options) *model {
	return &model{wanted: o.List, sourceName: render.Safe(o.Where), lists: map[string]todo.Snapshot{}, standings: map[string]account.ListState{}}
}

func (m *model) say(r role, text string) { m.note = paint(r, " "+text) }

// effect is what the viewer must do for the model, which does no input or output.
type effect struct {
	quit, redraw, bell bool
	history            string // id of the list whose history to read
	edit               *edit
	editor             *todo.Snapshot // the list to open in the person's editor
	copy               string         // for the clipboard
}

// take returns and clears the effect.
func (m *model) take() effect {
	e := m.effect
	m.effect = effect{}
	return e
}

// receiveLists adds lists, or replaces all lists if all is true. See [Source].
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

// receiveStandings replaces the standings, and rings when an agent begins to ask.
func (m *model) receiveStandings(standings map[string]account.ListState) {
	for id, now := range standings {
		if m.loaded && now.Asks != "" && m.standings[id].Asks == "" {
			m.effect.bell = true
		}
	}
	m.standings = standings
}

func byList(states []account.ListState) map[string]account.ListState {
	out := make(map[string]account.ListState, len(states))
	for _, s := range states {
		out[s.List] = s
	}
	return out
}

// isNews reports whether a person wants to hear of a change: a main list was finished, or an item failed or was
// blocked. A person's own change is no news. before is zero for a new list.
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

// tick sets the time, unless the source is lost: durations shown then would be wrong.
func (m *model) tick(now time.Time) {
	if m.lost == nil {
		m.now = now
	}
}

// openWanted opens the list that the user named. If several match, it filters by the name.
func (m *model) openWanted() {
	lists := slices.Collect(maps.Values(m.lists))
	slices.SortStableFunc(lists, func(a, b todo.Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
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

// standing returns the standing of a list without its sub-agents' lists. A done or archived list decides its own state;
// of any other list it is the state that the source gave. Until the source gives a state, the agent counts as here, but
// the agent of a chat without a list counts as away.
func (m *model) standing(s todo.Snapshot) todo.Standing {
	if said := m.standings[s.List.ID]; said.State != "" && !s.Done() && !s.Archived {
		return said.Standing
	}
	return s.Stands(todo.Agent{Here: !s.Archived && !s.IsChat()}, m.now)
}

// states returns the state of each list, by list id, without regard to its sub-agents' lists.
func (m *model) states(lists ...todo.Snapshot) map[string]todo.Standing {
	states := make(map[string]todo.Standing, len(lists))
	for _, l := range lists {
		states[l.List.ID] = m.standing(l)
	}
	return states
}

// open opens a list.
func (m *model) open(id string) {
	at, _ := m.lists[id].At()
	m.opened, m.list = id, near(at.ID, 2)
}

// shown returns the list that keys act on: the opened one, else the selected one.
func (m *model) shown() (todo.Snapshot, bool) {
	l, ok := m.lists[cmp.Or(m.opened, m.board.cursor)]
	return l, ok
}

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
		m.undoes = 0
		m.say(bad, "Not changed: "+rootCause(err))
		return
	}
	after := out.After
	m.receiveLists([]todo.Snapshot{after}, false)
	switch {
	case e.Do == todo.EditUndo && !out.Changed:
		m.say(dim, "Nothing was undone: others have changed it since.")
	case e.Do == todo.EditUndo, !out.Changed: // without a revision of its own there is nothing to undo
		m.say(done, pastTense(e, before))
	default:
		m.undo = append(m.undo, e.inverse(after))
		m.say(done, pastTense(e, before)+"  (u undo)")
	}
	if m.undoes > 0 && m.underWay == 0 {
		m.undoes--
		m.undoLast()
	}
}

// inverse returns the edit that undoes e; after is the revision that e made. The undo goes back to the revision that e
// changed. This may be newer than the one that the person saw: the agent may have written in between.
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
		s, _ := m.shown()
		item, ok := s.Item(m.list.cursor)
		if m.opened == "" {
			item, ok = s.At()
		}
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
		m.say(dim, "No command is known that resumes this chat.")
		return
	}
	m.effect.copy = command
	m.say(done, command)
}

func (m *model) undoLast() {
	if m.underWay > 0 {
		m.undoes++
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
