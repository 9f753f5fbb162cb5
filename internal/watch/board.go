package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// boardRows returns the rows of the board: active groups by project, then those left open, then those finished
// today. With a filter it returns all groups that match, most recently changed first.
func (m *model) boardRows(width int) (rows []row) {
	line := func(text string) {
		if text != "" {
			drawn := []string{paint(dim, render.Cut(" "+text, width))}
			rows = append(rows, row{draw: func(bool) []string { return drawn }})
		}
	}
	apart := render.Apart(slices.Collect(maps.Values(m.lists)), m.now)
	add := func(heading string, groups []account.Group) {
		if len(groups) > 0 {
			line(heading)
		}
		for _, f := range groups {
			rows = append(rows, row{f.Main.List.ID, func(selected bool) []string {
				return m.boardLines(f, strings.TrimSpace(render.Cut(render.Safe(f.Main.List.OffMain()), timeWidth)+" "+apart[f.Main.List.ID]), width, selected)
			}})
		}
	}
	if m.filter != "" {
		add("", m.found())
		return rows
	}
	// Empty lists whose agent does nothing are left out.
	b := account.Sort(m.groups(), m.now).Only(func(f account.Group) bool { return !f.Bare() })
	for _, p := range b.Projects() {
		add(cmp.Or(render.Safe(p.Groups[0].Main.List.Project()), "no folder"), p.Groups)
	}
	line(render.Quiet(b.Quiet))
	add("left open", b.Left)
	line(render.Lapsed(b.Lapsed(m.now)))
	add("finished today", b.Finished)
	if last := account.LastDay(b.Past, m.now); len(b.Active)+len(b.Finished) == 0 && len(last) > 0 {
		add("finished on "+last[0].Updated().In(m.now.Location()).Format("Mon 2 Jan"), last)
	}
	return rows
}

// found returns the groups with a list that matches the filter, most recently changed first.
func (m *model) found() []account.Group {
	matches := func(l todo.Snapshot) bool { return render.Matches(l, render.Client(account.Client(l)), m.filter) }
	found := slices.DeleteFunc(m.groups(), func(f account.Group) bool {
		return !slices.ContainsFunc(append(f.Lists(), f.Away...), matches)
	})
	slices.SortFunc(found, func(a, b account.Group) int { return cmp.Compare(b.Seq(), a.Seq()) })
	return found
}

func (m *model) groups() []account.Group {
	lists := slices.Collect(maps.Values(m.lists))
	return account.Groups(lists, m.states(lists...))
}

func (m *model) group(s todo.Snapshot) account.Group {
	var subs []todo.Snapshot
	for _, l := range m.lists {
		if l.List.Parent == s.List.ID && l.List.ID != s.List.ID {
			subs = append(subs, l)
		}
	}
	return account.Of(s, subs, m.states(append(subs, s)...))
}

func (m *model) emptyBoard(width int) []string {
	switch {
	case m.filter != "":
		return message(width, "Nothing matches “"+render.Safe(m.filter)+"”.", "Esc clears the search.")
	case len(m.lists) > 0:
		return message(width, "Nothing is open.", "/ searches past lists.")
	}
	return message(width, "No lists yet.", "An agent begins one by calling its todo tool; it shows up here as it moves.")
}

// message returns lines to show if there is no list.
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

// Widths of columns at the right of a list's line, and the least width of its title.
const progressWidth, timeWidth, leastTitle = 7, 10, 16

// boardLines draws a list: a line with cursor, sign, title, apart, progress and time; what its agent asks or waits
// for; and the current item if the list is selected and no pane beside shows it. apart tells it from similar lists.
func (m *model) boardLines(f account.Group, apart string, width int, selected bool) []string {
	right := paint(dim, fmt.Sprintf("%*s", progressWidth, progress(f.Main)))
	if width >= 3+leastTitle+progressWidth+timeWidth {
		right += spread("", m.listTime(f), timeWidth)
	}
	cursor, titleRole := " ", plainText
	switch {
	case selected && m.opened == "":
		cursor, titleRole = paint(accent, "▌"), bold
	case selected:
		cursor, titleRole = paint(dim, "▌"), bold
	case f.State().Rests():
		titleRole = dim
	}
	sign := stateSigns[f.State()]
	if f.State().Rests() && f.Main.Progress().Failed > 0 {
		sign = paint(bad, "✗")
	}
	if apart != "" {
		right = paint(dim, apart) + right
	}
	title := cut(paint(titleRole, listName(f.Main)), width-4-render.Cells(right))
	lines := []string{spread(cursor+sign+" "+title, right+" ", width)}
	question, item := render.Question(f), focusItem(f.Main)
	if question != "" {
		lines = append(lines, "     "+cut(paint(warn, question), width-6))
	}
	if selected && m.width < twoPanes && item.ID != "" && item.Status != todo.Blocked && !item.Status.Settled() {
		look := itemLooks[item.Status]
		lines = append(lines, "     "+look.sign+" "+cut(paint(look.text, render.Safe(item.Title())), width-8))
	}
	return lines
}

// stateSigns are the signs before lists.
var stateSigns = map[todo.State]string{
	todo.Working: paint(accent, "◐"), todo.Waiting: paint(warn, "‖"), todo.Idle: paint(dim, "◌"),
	todo.LeftOpen: paint(dim, "◦"), todo.Away: paint(dim, "◦"),
	todo.Finished: paint(done, "✓"), todo.InVain: paint(bad, "✗"),
}

// listTime returns how long the current item is in progress or the list is idle; for an ended list, when it ended.
func (m *model) listTime(f account.Group) string {
	item, current := f.Main.Current()
	switch {
	case f.State().Ended():
		return paint(dim, render.Moment(f.Since(), m.now))
	case f.State() == todo.Working && current && !item.Started.IsZero():
		return tookUntil(item.Started, m.now)
	}
	return paint(dim, render.Roughly(m.now.Sub(f.Since())))
}

// summary counts the lists by state, for the first line: "5 working  1 waiting", in the colours of the signs.
func (m *model) summary() (parts []string) {
	n := account.Counts(slices.DeleteFunc(m.groups(), func(f account.Group) bool { return f.Main.Archived }))
	for _, state := range []todo.State{todo.Working, todo.Waiting, todo.Idle, todo.LeftOpen} {
		if sign := stateSigns[state]; n[state] > 0 {
			parts = append(parts, paint(role(sign[0]), fmt.Sprintf("%d %s", n[state], state)))
		}
	}
	return parts
}
