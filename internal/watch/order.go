package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// entry is a main list with its sub-agents' lists.
type entry struct {
	main  todo.Snapshot
	subs  []todo.Snapshot // by agent name
	state todo.State
	begun time.Time
}

// group is a heading with the lists below it.
type group struct {
	heading string
	entries []entry
}

// noFolder heads the lists whose folder is unknown.
const noFolder = "no folder"

// groups returns the board: the lists with an agent by project, then those left
// open, then those finished today. While a filter is set it is one group with
// every list that matches, the last changed first.
func (m *model) groups() []group {
	entries := m.entries()
	if m.filter != "" {
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(b.seq(), a.seq()) })
		return []group{{"", entries}}
	}
	projects, left, finished := m.split(entries)
	for i := range projects {
		slices.SortStableFunc(projects[i].entries, compareActive)
	}
	slices.SortStableFunc(projects, func(a, b group) int {
		return cmp.Or(newest(b.entries).Compare(newest(a.entries)), strings.Compare(a.heading, b.heading))
	})
	latest := func(a, b entry) int {
		return cmp.Or(b.main.Updated.Compare(a.main.Updated), strings.Compare(a.main.List.ID, b.main.List.ID))
	}
	slices.SortFunc(left, latest)
	slices.SortFunc(finished, latest)
	if len(left) > 0 {
		projects = append(projects, group{"left open", left})
	}
	if len(projects) == 0 && len(finished) == 0 {
		finished = m.past()
		slices.SortFunc(finished, latest)
	}
	heading, finished := m.recent(finished, len(projects) == 0)
	if len(finished) > 0 {
		projects = append(projects, group{heading, finished})
	}
	return projects
}

// split sorts the entries into those with an agent, by project, those left open
// and those finished.
func (m *model) split(entries []entry) (projects []group, left, finished []entry) {
	for _, e := range entries {
		switch e.state {
		case todo.LeftOpen:
			left = append(left, e)
		case todo.Finished:
			finished = append(finished, e)
		default:
			heading := cmp.Or(render.Safe(e.main.List.Project()), noFolder)
			i := slices.IndexFunc(projects, func(g group) bool { return g.heading == heading })
			if i < 0 {
				i, projects = len(projects), append(projects, group{heading: heading})
			}
			projects[i].entries = append(projects[i].entries, e)
		}
	}
	return projects, left, finished
}

// recent returns of the finished lists, the last first, those of today. On an
// otherwise empty board it returns those of the last day with any, so that the
// screen is not blank the morning after.
func (m *model) recent(finished []entry, emptyBoard bool) (heading string, of []entry) {
	if len(finished) == 0 {
		return "", nil
	}
	now := m.shownNow()
	day, heading := todo.Midnight(now), "finished today"
	if last := todo.Midnight(finished[0].main.Updated.In(now.Location())); emptyBoard && last.Before(day) {
		day, heading = last, "finished on "+last.Format("Mon 2 Jan")
	}
	n := slices.IndexFunc(finished, func(e entry) bool { return e.main.Updated.Before(day) })
	if n < 0 {
		n = len(finished)
	}
	return heading, finished[:n]
}

// past returns the finished main lists of earlier days that count as archived,
// for a board that would be blank.
func (m *model) past() (finished []entry) {
	today := todo.Midnight(m.shownNow())
	for _, l := range m.lists {
		if l.Archived && l.Settled() && l.Updated.Before(today) && m.root(l).List.ID == l.List.ID {
			finished = append(finished, entry{main: l, state: todo.Finished, begun: begun(l)})
		}
	}
	return finished
}

func newest(entries []entry) (t time.Time) {
	for _, e := range entries {
		if e.begun.After(t) {
			t = e.begun
		}
	}
	return t
}

// compareActive orders what waits for a person first, then what works, then what
// is idle, each by its begin, the newest first: an agent's write moves nothing.
func compareActive(a, b entry) int {
	rank := func(e entry) int { return slices.Index([]todo.State{todo.Waiting, todo.Working, todo.Idle}, e.state) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), b.begun.Compare(a.begun), strings.Compare(a.main.List.ID, b.main.List.ID))
}

// seq returns the highest Seq of the lists.
func (e entry) seq() int64 {
	n := e.main.Seq
	for _, s := range e.subs {
		n = max(n, s.Seq)
	}
	return n
}

// entries returns the main lists that are shown, with their sub-agents' lists. A
// main list that would not be shown itself is, if one of its sub-agents' is.
func (m *model) entries() []entry {
	byRoot := map[string]*entry{}
	for _, l := range m.lists {
		root := m.root(l)
		if !m.isShown(l) || l.List.ID != root.List.ID && m.filter == "" && !l.OnBoard(m.shownNow()) {
			continue
		}
		e := byRoot[root.List.ID]
		if e == nil {
			e = &entry{main: root}
			byRoot[root.List.ID] = e
		}
		if l.List.ID != root.List.ID {
			e.subs = append(e.subs, l)
		}
	}
	out := make([]entry, 0, len(byRoot))
	for _, e := range byRoot {
		slices.SortFunc(e.subs, compareAgents)
		e.state, e.begun = m.familyState(*e), begun(e.main)
		out = append(out, *e)
	}
	return out
}

func compareAgents(a, b todo.Snapshot) int {
	return cmp.Or(strings.Compare(a.List.Agent, b.List.Agent), strings.Compare(a.List.ID, b.List.ID))
}

// familyState returns the state of the main list; if that rests while a
// sub-agent is there, that of the sub-agent.
func (m *model) familyState(e entry) todo.State {
	state := m.state(e.main)
	for _, s := range e.subs {
		if sub := m.state(s); state.Rests() && !sub.Rests() {
			return sub
		}
	}
	return state
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

// begun returns when a list began; as far as its items tell, where the source
// does not say it.
func begun(s todo.Snapshot) time.Time {
	first := s.List.Created
	for _, i := range s.Items {
		if s.List.Created.IsZero() && !i.Created.IsZero() && (first.IsZero() || i.Created.Before(first)) {
			first = i.Created
		}
	}
	return first
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

// isShown reports whether the board shows a list: if it matches the filter, or,
// without a filter, unless it is archived. Of finished ones recent decides.
func (m *model) isShown(l todo.Snapshot) bool {
	if m.filter != "" {
		return matches(l, m.agentName(l), m.filter)
	}
	return !l.Archived && (len(l.Items) > 0 || l.OnBoard(m.shownNow()))
}

// matches reports whether what a person sees of a list and its agent contains a
// text, ignoring case.
func matches(l todo.Snapshot, agent, text string) bool {
	text = strings.ToLower(text)
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if in(l.Title()) || in(l.List.Agent) || in(l.List.Workspace) || in(l.Writer.Client) || in(agent) || in(l.List.ID) {
		return true
	}
	return slices.ContainsFunc(l.Items, func(i todo.Item) bool { return in(i.Text) || in(i.Active) })
}
