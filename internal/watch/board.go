package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// group is a heading with the families below it.
type group struct {
	heading  string
	families []account.Family
}

// groups returns the board: the families with an agent by project, then those left
// open, then those finished today. While a filter is set it is one group with
// every family that matches, the last changed first.
func (m *model) groups() (groups []group) {
	if m.filter != "" {
		return []group{{"", m.found()}}
	}
	// Lists without items that nobody is about to fill are not on it.
	b := account.Sort(m.families(), m.shownNow()).Only(func(f account.Family) bool { return !f.Bare() })
	for _, p := range b.Projects() {
		name := render.Safe(p.Families[0].Main.List.Project())
		groups = append(groups, group{cmp.Or(name, "no folder"), p.Families})
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
	past := b.Past
	if len(past) == 0 {
		today := todo.Midnight(now)
		past = slices.DeleteFunc(b.Archived, func(f account.Family) bool { return !f.Updated().Before(today) })
	}
	last := account.LastDay(past, now)
	if len(last) == 0 {
		return group{}
	}
	return group{"finished on " + last[0].Updated().In(now.Location()).Format("Mon 2 Jan"), last}
}

// found returns the families with a list that matches the filter, the last changed first.
func (m *model) found() []account.Family {
	matches := func(l todo.Snapshot) bool { return render.Matches(l, m.agentName(l), m.filter) }
	found := slices.DeleteFunc(m.families(), func(f account.Family) bool {
		return !slices.ContainsFunc(append(f.Lists(), f.Away...), matches)
	})
	slices.SortFunc(found, func(a, b account.Family) int { return cmp.Compare(b.Seq(), a.Seq()) })
	return found
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

// boardRows returns the rows of the board. steps is how many next steps stand below the
// selected list.
func (m *model) boardRows(width, steps int) (rows []row) {
	for _, g := range m.groups() {
		if g.heading != "" && len(g.families) > 0 {
			heading := []string{paint(dim, render.Cut(" "+g.heading, width))}
			rows = append(rows, row{draw: func(bool) []string { return heading }})
		}
		for _, f := range g.families {
			rows = append(rows, row{f.Main.List.ID, func(selected bool) []string {
				lines := []string{m.boardLine(f, width, selected)}
				if selected {
					lines = append(lines, m.nextSteps(f.Main, width, steps)...)
				}
				return lines
			}})
		}
	}
	return rows
}

// boardLines draws the board in a width and a height. unfold is true where there is no
// pane for the selected list beside it: its next steps stand below it.
func (m *model) boardLines(width, height int, unfold bool) []string {
	steps := 0
	if unfold {
		steps = min(3, max(height-2, 0))
	}
	rows := m.boardRows(width, steps)
	lines, _ := m.board.lines(rows, height)
	if m.board.cursor == "" {
		return m.emptyBoard(width)
	}
	return lines
}

func (m *model) emptyBoard(width int) []string {
	switch {
	case m.filter != "":
		return message(width, "Nothing matches “"+render.Safe(m.filter)+"”.", "Esc clears the search.")
	case m.wanted != "":
		return message(width, "No list is called “"+render.Safe(m.wanted)+"” yet.", "It shows up here as soon as there is one.")
	case len(m.lists) > 0:
		return message(width, "Nothing is open.", "/ searches past lists.")
	}
	return message(width, "No lists yet.", "An agent begins one by calling its todo tool; it shows up here as it moves.")
}

// message returns the lines shown in place of lists.
func message(width int, text string, more ...string) []string {
	lines, r := []string{""}, plainText
	for _, t := range append([]string{text}, more...) {
		for _, line := range wrap(t, width-3, maxWrapped) {
			lines = append(lines, "  "+paint(r, line))
		}
		r = dim
	}
	return lines
}

// Widths of the columns at the right of a list's line, and the least for its title.
const (
	progressWidth = 7
	timeWidth     = 10
	leastTitle    = 16
)

// boardLine draws a list in one line: cursor, sign, title, progress and time.
func (m *model) boardLine(f account.Family, width int, selected bool) string {
	right := paint(dim, padLeft(progress(f.Main), progressWidth))
	if width >= 3+leastTitle+progressWidth+timeWidth {
		t := m.listTime(f)
		right += paint(t.role, padLeft(t.text, timeWidth))
	}
	cursor, titleRole := " ", plainText
	if f.State().Rests() {
		titleRole = dim
	}
	if selected {
		cursor, titleRole = paint(accent, "▌"), bold
		if m.opened != "" {
			cursor = paint(dim, "▌")
		}
	}
	title := render.Cut(listName(f.Main), width-4-paintedCells(right))
	return spread(cursor+listSign(f).paint()+" "+m.paintMatch(titleRole, title), right+" ", width)
}

// listSign returns the sign of a list's state.
func listSign(f account.Family) styled {
	if f.State().Rests() && f.Main.Progress().Failed > 0 {
		return styled{bad, "✗"}
	}
	switch f.State() {
	case todo.Working:
		return styled{accent, "◐"}
	case todo.Waiting:
		return styled{warn, "‖"}
	case todo.Idle:
		return styled{dim, "◌"}
	case todo.LeftOpen, todo.Away:
		return styled{dim, "◦"}
	}
	return styled{done, "✓"}
}

// listTime returns how long the current item has been in progress; of a list
// without one how long it has rested, and of a finished one when it ended.
func (m *model) listTime(f account.Family) styled {
	now := m.shownNow()
	item, current := f.Main.Current()
	switch {
	case f.State() == todo.Finished:
		return styled{dim, render.Moment(f.Since(), now)}
	case f.State() == todo.Working && current && !item.Started.IsZero():
		return tookUntil(item.Started, now)
	}
	return styled{dim, render.Roughly(now.Sub(f.Since()))}
}

// nextSteps returns the current item of a list and the next to do, at most
// limit, each in a line.
func (m *model) nextSteps(s todo.Snapshot, width, limit int) (lines []string) {
	for _, item := range focus(s) {
		if len(lines) < limit && (!item.Status.Settled() || s.Settled()) {
			sign, look := itemLook(item.Status)
			text := render.Safe(item.Title())
			if item.Reason != "" {
				text += ": " + render.Safe(item.Reason)
			}
			lines = append(lines, "     "+sign.paint()+" "+paint(look, render.Cut(text, width-8)))
		}
	}
	return lines
}

// paintMatch paints a text, and what the search found in it so that it shows.
func (m *model) paintMatch(r role, text string) (painted string) {
	for _, part := range render.Parts(text, m.filter) {
		if part.Hit {
			painted += paint(accent, part.Text)
		} else {
			painted += paint(r, part.Text)
		}
	}
	return painted
}

// summary counts the lists by state, for the first line: "5 working · 1 waits for you".
func (m *model) summary() (parts []styled) {
	n := account.Counts(slices.DeleteFunc(m.families(), func(f account.Family) bool { return f.Main.Archived }))
	waits := "wait for you"
	if n[todo.Waiting] == 1 {
		waits = "waits for you"
	}
	for _, c := range []struct {
		role  role
		state todo.State
		text  string
	}{{accent, todo.Working, "working"}, {warn, todo.Waiting, waits}, {dim, todo.Idle, "idle"}, {dim, todo.LeftOpen, "left open"}} {
		if n[c.state] > 0 {
			parts = append(parts, styled{c.role, fmt.Sprintf("%d %s", n[c.state], c.text)})
		}
	}
	return parts
}
