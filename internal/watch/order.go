package watch

import (
	"cmp"
	"maps"
	"slices"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// group is a heading with the lists below it.
type group struct {
	heading  string
	families []account.Family
}

// noFolder heads the lists whose folder is unknown.
const noFolder = "no folder"

// groups returns the board: the lists with an agent by project, then those left
// open, then those finished today. While a filter is set it is one group with
// every list that matches, the last changed first.
func (m *model) groups() (groups []group) {
	if m.filter != "" {
		return []group{{"", m.found()}}
	}
	b := m.sorted()
	for _, p := range b.Projects() {
		groups = append(groups, group{cmp.Or(render.Safe(p.Families[0].Main.List.Project()), noFolder), p.Families})
	}
	groups = append(groups, group{"left open", b.Left})
	if len(b.Active)+len(b.Finished) > 0 {
		return append(groups, group{"finished today", b.Finished})
	}
	return append(groups, m.lastDay(b))
}

// lastDay returns the lists of the last day on which any was finished, so that the
// screen is not blank the morning after: finished ones count as archived by then.
func (m *model) lastDay(b account.Board) group {
	now := m.shownNow()
	of := account.LastDay(b.Past, now)
	if len(b.Past) == 0 {
		today := todo.Midnight(now)
		of = account.LastDay(slices.DeleteFunc(b.Archived, func(f account.Family) bool { return !f.Updated().Before(today) }), now)
	}
	if len(of) == 0 {
		return group{}
	}
	return group{"finished on " + of[0].Updated().In(now.Location()).Format("Mon 2 Jan"), of}
}

// families returns all lists as families, in any order.
func (m *model) families() []account.Family {
	lists := slices.Collect(maps.Values(m.lists))
	return account.Families(lists, m.states(lists...))
}

// family returns a list with its sub-agents' lists.
func (m *model) family(s todo.Snapshot) account.Family {
	var subs []todo.Snapshot
	for _, l := range m.lists {
		if l.List.Parent == s.List.ID && l.List.ID != s.List.ID {
			subs = append(subs, l)
		}
	}
	return account.Of(s, subs, m.states(append(subs, s)...))
}

// states returns how each of the lists stands for itself.
func (m *model) states(lists ...todo.Snapshot) map[string]todo.State {
	states := make(map[string]todo.State, len(lists))
	for _, l := range lists {
		states[l.List.ID] = m.state(l)
	}
	return states
}

// together returns how the lists stand, main lists together with their sub-agents' lists.
func (m *model) together() map[string]todo.State {
	states := m.states(slices.Collect(maps.Values(m.lists))...)
	for _, f := range m.families() {
		states[f.Main.List.ID] = f.State()
	}
	return states
}

// sorted returns the board, whatever is searched. Lists without items that nobody is
// about to fill are not on it.
func (m *model) sorted() account.Board {
	return account.Sort(m.families(), m.shownNow()).Only(func(f account.Family) bool { return !f.Bare() })
}

// found returns the families with a list that matches the filter, the last changed
// first.
func (m *model) found() []account.Family {
	found := slices.DeleteFunc(m.families(), func(f account.Family) bool {
		return !slices.ContainsFunc(append(f.Lists(), f.Away...), func(l todo.Snapshot) bool { return render.Matches(l, m.agentName(l), m.filter) })
	})
	slices.SortFunc(found, func(a, b account.Family) int { return cmp.Compare(b.Seq(), a.Seq()) })
	return found
}

// openLists returns the lists whose state the source is asked for, by Seq.
func (m *model) openLists() (open []todo.Snapshot) {
	for _, l := range m.lists {
		if l.Open() || len(l.Items) == 0 {
			open = append(open, l)
		}
	}
	slices.SortFunc(open, func(a, b todo.Snapshot) int { return cmp.Compare(a.Seq, b.Seq) })
	return open
}
