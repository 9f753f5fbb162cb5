package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// model is the state of the viewer.
type model struct {
	now           time.Time
	width, height int
	color         bool
	sourceName    string // name of the source, for the top line

	lists  map[string]todo.Snapshot // by id
	loaded bool                     // the source has sent its lists
	lost   error                    // why the source is not connected; nil if it is

	wanted   string // the one list to show, as the user named it; empty is all
	selected string // id; empty is none
	opened   string // id; empty is the overview
	scroll   int    // first row of the opened list; -1 follows the current item
	filter   string
	typing   bool // the filter is being typed
	help     bool

	history        []todo.Snapshot // of the opened list; nil until it was read
	revision       int64           // the revision shown; 0 is the live list
	historyProblem string          // why the history is missing; empty if it is not
}

func newModel(wanted string) *model {
	return &model{wanted: wanted, lists: map[string]todo.Snapshot{}, scroll: -1}
}

// effect is what the viewer must do after a change of the model.
type effect struct {
	quit, suspend, redraw bool
	history               string // id of the list to read the history of; empty is none
}

// receiveLists adds lists from the source to the model, or replaces all its
// lists by them if all is true. See [Source].
func (m *model) receiveLists(lists []todo.Snapshot, all bool) (e effect) {
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

// openWanted opens the list the user asked for, once it exists.
func (m *model) openWanted() {
	if m.wanted == "" || m.opened != "" {
		return
	}
	if l, ok := m.findList(m.wanted); ok {
		m.opened = l.List.ID
	}
}

// findList finds a list by id, by name (the last changed of that name), or by the
// first four or more characters of its id, if they are unique.
func (m *model) findList(name string) (found todo.Snapshot, ok bool) {
	if l, ok := m.lists[name]; ok {
		return l, true
	}
	prefixMatches := 0
	for _, l := range m.lists {
		if l.List.Name == name && (!ok || l.Seq > found.Seq) {
			found, ok = l, true
		}
		if len(name) >= 4 && strings.HasPrefix(l.List.ID, name) {
			prefixMatches++
		}
	}
	if ok || prefixMatches != 1 {
		return found, ok
	}
	for _, l := range m.lists {
		if strings.HasPrefix(l.List.ID, name) {
			found = l
		}
	}
	return found, true
}

// extendHistory adds the live revision of the opened list to its history. If
// revisions between them are missing, it returns the effect to read the history
// again.
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

// setHistory stores the history that an effect asked for. It ignores the history
// of a list that is no longer open.
func (m *model) setHistory(list string, revisions []todo.Snapshot, err error) effect {
	if list != m.opened {
		return effect{}
	}
	if err != nil || len(revisions) == 0 {
		m.historyProblem = "the history cannot be read"
		m.history, m.revision = nil, 0
		return effect{}
	}
	m.history, m.historyProblem = revisions, ""
	if m.revision != 0 && m.historyIndex() < 0 {
		m.revision = min(max(m.revision, revisions[0].Revision), revisions[len(revisions)-1].Revision)
	}
	return m.extendWithoutRetry()
}

// extendWithoutRetry is extendHistory for a history that was just read. It does
// not read it again: the source may be behind, and would return the same.
func (m *model) extendWithoutRetry() effect {
	m.extendHistory()
	return effect{}
}

// historyIndex returns the index in the history of the revision shown; -1 for
// the live list, and if the history does not have it.
func (m *model) historyIndex() int {
	return slices.IndexFunc(m.history, func(s todo.Snapshot) bool { return s.Revision == m.revision })
}

// entry is a main list with its sub-agents' lists.
type entry struct {
	main todo.Snapshot
	subs []todo.Snapshot // by agent name
	seq  int64           // the highest Seq of the lists shown
}

// entries returns the lists of the overview, the last changed first. A main list
// that is not in the overview itself is there if one of its sub-agents' lists is.
func (m *model) entries() []entry {
	byRoot := map[string]*entry{}
	for _, l := range m.lists {
		root := m.root(l)
		e := byRoot[root.List.ID]
		if e == nil {
			e = &entry{main: root}
			byRoot[root.List.ID] = e
		}
		if l.List.ID != root.List.ID && m.inOverview(l) {
			e.subs = append(e.subs, l)
		}
		if m.inOverview(l) {
			e.seq = max(e.seq, l.Seq)
		}
	}
	var out []entry
	for _, e := range byRoot {
		if m.inOverview(e.main) || len(e.subs) > 0 {
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

// root returns the main list of a sub-agent's list, and any other list itself.
// If the parents form a cycle, or a chain of eight or more, it returns l.
func (m *model) root(l todo.Snapshot) todo.Snapshot {
	ancestor := l
	for range 8 {
		parent, ok := m.lists[ancestor.List.Parent]
		if !ok {
			return ancestor
		}
		ancestor = parent
	}
	return l
}

// inOverview reports whether the overview shows a list: if it matches the filter,
// or, without a filter, if front ends show it by default (see
// [todo.Snapshot.OnBoard]).
func (m *model) inOverview(l todo.Snapshot) bool {
	if m.filter != "" {
		return matches(l, m.filter)
	}
	return l.OnBoard(m.now)
}

// matches reports whether what a person sees of a list contains a text, ignoring
// case.
func matches(l todo.Snapshot, text string) bool {
	text = strings.ToLower(text)
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if in(l.Title()) || in(l.List.Agent) || in(l.List.Workspace) || in(l.Writer.Client) || in(l.Writer.Variant) || in(l.List.ID) {
		return true
	}
	return slices.ContainsFunc(l.Items, func(i todo.Item) bool { return in(i.Text) || in(i.Active) })
}
