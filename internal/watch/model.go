package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// model is all that the viewer knows.
type model struct {
	now           time.Time
	width, height int
	color         bool
	where         string // what is followed, for the top line

	lists  map[string]todo.Snapshot // by id
	loaded bool                     // the source has shown its lists
	lost   error                    // why the source is not connected now

	wanted   string // the one list to show, as the user named it; empty is all
	selected string // id; empty is none
	opened   string // id; empty is the overview
	scroll   int    // first row of the opened list; -1 follows what happens
	filter   string
	typing   bool // the filter is being typed
	help     bool

	history  []todo.Snapshot // of the opened list; nil until asked for
	revision int64           // the one shown; 0 is live
	trouble  string          // why the history is not there
}

func newModel(wanted string) *model {
	return &model{wanted: wanted, lists: map[string]todo.Snapshot{}, scroll: -1}
}

// effect is what a change of the model asks of the one that runs it.
type effect struct {
	quit, suspend, redraw bool
	history               string // the list whose history is to be read
}

// show takes what the source says.
func (m *model) show(lists []todo.Snapshot, all bool) (e effect) {
	m.loaded, m.lost = true, nil
	if all {
		m.lists = map[string]todo.Snapshot{}
	}
	for _, l := range lists {
		if known, ok := m.lists[l.List.ID]; ok && known.Revision >= l.Revision {
			continue
		}
		m.lists[l.List.ID] = l
	}
	m.openWanted()
	return m.extendHistory()
}

// openWanted opens the list the user asked for, once it is there.
func (m *model) openWanted() {
	if m.wanted == "" || m.opened != "" {
		return
	}
	if l, ok := m.named(m.wanted); ok {
		m.opened = l.List.ID
	}
}

// named finds a list by id, by name (the newest so called), or by the beginning
// of its id, if only one begins so.
func (m *model) named(name string) (found todo.Snapshot, ok bool) {
	if l, ok := m.lists[name]; ok {
		return l, true
	}
	begins := 0
	for _, l := range m.lists {
		if l.List.Name == name && (!ok || l.Seq > found.Seq) {
			found, ok = l, true
		}
		if len(name) >= 4 && strings.HasPrefix(l.List.ID, name) {
			begins++
		}
	}
	if ok || begins != 1 {
		return found, ok
	}
	for _, l := range m.lists {
		if strings.HasPrefix(l.List.ID, name) {
			found = l
		}
	}
	return found, true
}

// extendHistory keeps an opened history whole as the list goes on.
func (m *model) extendHistory() effect {
	live, ok := m.lists[m.opened]
	if m.history == nil || !ok {
		return effect{}
	}
	last := m.history[len(m.history)-1].Revision
	switch {
	case live.Revision == last+1:
		m.history = append(m.history, live)
	case live.Revision != last:
		return effect{history: m.opened}
	}
	return effect{}
}

// setHistory takes the history that an effect asked for.
func (m *model) setHistory(list string, revisions []todo.Snapshot, err error) effect {
	if list != m.opened {
		return effect{}
	}
	if err != nil || len(revisions) == 0 {
		m.trouble = "the history cannot be read"
		m.history, m.revision = nil, 0
		return effect{}
	}
	m.history, m.trouble = revisions, ""
	if m.revision != 0 && m.place() < 0 {
		m.revision = min(max(m.revision, revisions[0].Revision), revisions[len(revisions)-1].Revision)
	}
	return m.extendOnce()
}

// extendOnce is extendHistory without asking again for what a source that lags
// cannot give.
func (m *model) extendOnce() effect {
	m.extendHistory()
	return effect{}
}

// place is where in the history the shown revision stands; -1 when it is live
// or not there.
func (m *model) place() int {
	return slices.IndexFunc(m.history, func(s todo.Snapshot) bool { return s.Revision == m.revision })
}

// entry is a list with its sub-agents' lists folded under it.
type entry struct {
	main todo.Snapshot
	subs []todo.Snapshot // by name
	seq  int64           // of the one that changed last
}

// entries are the lists to show, the last changed first: those with something
// open and those that moved lately, or all that the filter admits.
func (m *model) entries() []entry {
	byRoot := map[string]*entry{}
	for _, l := range m.lists {
		root := m.root(l)
		e := byRoot[root.List.ID]
		if e == nil {
			e = &entry{main: root}
			byRoot[root.List.ID] = e
		}
		if l.List.ID != root.List.ID && m.current(l) {
			e.subs = append(e.subs, l)
		}
		if m.current(l) {
			e.seq = max(e.seq, l.Seq)
		}
	}
	var out []entry
	for _, e := range byRoot {
		if m.current(e.main) || len(e.subs) > 0 {
			slices.SortFunc(e.subs, func(a, b todo.Snapshot) int {
				return cmp.Or(cmp.Compare(a.List.Agent, b.List.Agent), cmp.Compare(a.List.ID, b.List.ID))
			})
			out = append(out, *e)
		}
	}
	slices.SortFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.seq, a.seq), cmp.Compare(a.main.List.ID, b.main.List.ID))
	})
	return out
}

// root climbs to the main list of a sub-agent's. Parents that lead in a circle
// lead nowhere.
func (m *model) root(l todo.Snapshot) todo.Snapshot {
	at := l
	for range 8 {
		parent, ok := m.lists[at.List.Parent]
		if !ok {
			return at
		}
		at = parent
	}
	return l
}

// current reports whether a list is to be shown.
func (m *model) current(l todo.Snapshot) bool {
	if m.filter != "" {
		return matches(l, m.filter)
	}
	return l.OnBoard(m.now)
}

// matches looks for a text, in any case, in all a person sees of a list.
func matches(l todo.Snapshot, text string) bool {
	text = strings.ToLower(text)
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if in(l.List.Title()) || in(l.List.Agent) || in(l.List.Workspace) || in(l.Writer.Client) || in(l.Writer.Variant) || in(l.List.ID) {
		return true
	}
	return slices.ContainsFunc(l.Items, func(i todo.Item) bool { return in(i.Text) || in(i.Active) })
}
