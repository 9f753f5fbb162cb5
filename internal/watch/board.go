package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// boardRows returns the rows of the board: active groups by project, groups left open, and groups finished today, or on
// the last day if nothing is active or finished today. With a filter it returns the groups that match.
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
	matches := func(l todo.Snapshot) bool {
		_, ok := render.Found(l, m.filter)
		return ok
	}
	found := slices.DeleteFunc(m.groups(), func(f account.Group) bool {
		return !slices.ContainsFunc(append(f.Lists(), f.Away...), matches)
	})
	slices.SortStableFunc(found, func(a, b account.Group) int { return cmp.Compare(b.Seq(), a.Seq()) })
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

// boardLines draws a list: a line with cursor, sign, title, apart (to distinguish similar lists), progress and
// time; what its agent asks or waits for; the current item if the list is selected and no pane shows it.
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
	title := cut(paint(titleRole, render.ListTitle(f.Main)), width-4-render.Cells(right))
	lines := []string{spread(cursor+sign+" "+title, right+" ", width)}
	if question := render.Question(f); question != "" {
		lines = append(lines, "     "+cut(paint(warn, question), width-6))
	}
	if item, isOpen := f.Main.At(); selected && m.width < twoPanes && isOpen && item.Status != todo.Blocked {
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

// listTime returns how long the current item is in progress, else how long ago the agent asked or wrote last; for an
// ended list, when it ended.
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

// subPrefix begins the row ids of sub-agents' lists. No item id begins with it.
const subPrefix = "sub "

// listRows returns the rows of a list: its items, then its sub-agents' lists.
func (m *model) listRows(s todo.Snapshot, width int, focused bool) (rows []row) {
	cursor := func(selected bool) string {
		switch {
		case selected && focused:
			return paint(accent, "▌")
		case selected && s.Open(): // on the board, keys act on the current item
			return paint(dim, "▌")
		}
		return " "
	}
	for _, item := range slices.Concat(s.Items, s.Later) {
		rows = append(rows, row{item.ID, func(selected bool) []string {
			return m.itemLines(s, item, width, cursor(selected), selected && focused)
		}})
	}
	for i, sub := range m.group(s).Subs {
		var above []string
		if i == 0 && len(rows) > 0 {
			above = []string{""}
		}
		rows = append(rows, row{subPrefix + sub.List.ID, func(selected bool) []string {
			return append(above, cursor(selected)+m.subLine(sub, width-1))
		}})
	}
	return rows
}

// rowIndent is the width before an item's text in cells, noteWidth the least width of the note at its right.
const rowIndent, noteWidth = 3, 10

// itemLines draws an item behind a cursor. It shows the whole text if whole is true, else at most maxWrapped lines.
func (m *model) itemLines(s todo.Snapshot, item todo.Item, width int, cursor string, whole bool) (lines []string) {
	edits := m.standings[s.List.ID].Edits
	look, limit := itemLooks[item.Status], maxWrapped
	if whole {
		limit = todo.MaxText
	}
	note := m.itemNote(s, item, edits.Of(item.ID))
	inside := max(width-rowIndent-max(noteWidth, render.Cells(note)+2), min(width-rowIndent-1, leastTitle))
	note = cut(note, width-rowIndent-inside-1)
	for i, line := range wrap(paint(look.text, render.Safe(item.Title())), inside, limit) {
		if i == 0 {
			lines = append(lines, spread(cursor+look.sign+" "+line, note, width-1))
		} else {
			lines = append(lines, cursor+"  "+line)
		}
	}
	yours := edits.Overridden[item.ID]
	if yours != "" {
		yours = "yours: " + render.Safe(yours)
	}
	for _, below := range []string{paint(warn, render.Safe(item.Reason)), paint(dim, render.Beside(s, item)), paint(dim, render.Safe(item.Details)), paint(dim, yours)} {
		if below != "" {
			lines = append(lines, cursor+"    "+cut(below, width-6))
		}
	}
	return lines
}

// itemNote returns the note at an item's right: that the item waits for the end of the turn, the fate of a person's
// edit, or how long the item took. That duration is shown instead of the fate Seen.
func (m *model) itemNote(s todo.Snapshot, i todo.Item, fate account.Fate) string {
	switch {
	case slices.ContainsFunc(s.Later, func(l todo.Item) bool { return l.ID == i.ID }):
		return paint(accent, "after this turn")
	case fate == account.Overridden:
		return paint(warn, string(fate))
	case fate == account.Waits:
		return paint(accent, string(fate))
	case i.Status == todo.InProgress && !i.Started.IsZero() && !m.standing(s).State.Rests():
		return tookUntil(i.Started, m.now)
	case i.Status.Settled() && !i.Started.IsZero() && i.Ended.After(i.Started):
		return paint(dim, render.Took(i.Ended.Sub(i.Started)))
	}
	return paint(dim, string(fate))
}

func tookUntil(started, now time.Time) string {
	took := now.Sub(started)
	if took > account.LongAfter {
		return paint(warn, render.Took(took))
	}
	return paint(dim, render.Took(took))
}

// look is how a status is drawn: its sign, and the role of the item's text.
type look struct {
	sign string
	text role
}

var itemLooks = map[todo.Status]look{
	todo.Pending:    {paint(dim, "○"), plainText},
	todo.InProgress: {paint(accent, "◐"), bold},
	todo.Completed:  {paint(done, "✓"), dim},
	todo.Failed:     {paint(bad, "✗"), plainText},
	todo.Blocked:    {paint(warn, "‖"), plainText},
	todo.Cancelled:  {paint(dim, "–"), struck},
}

// subLine draws a sub-agent's list in one line: a sign if an item failed, name, current item, progress.
func (m *model) subLine(s todo.Snapshot, width int) string {
	look := accent
	if m.standing(s).State.Rests() {
		look = dim
	}
	name := paint(look, render.Cut(cmp.Or(render.Safe(s.List.Agent), render.ListTitle(s)), max(width/3, 8)))
	if s.Progress().Failed > 0 {
		name = paint(bad, "✗ ") + name
	}
	name = paint(look, "↳ ") + name
	left := max(width-render.Cells(name)-2-noteWidth, 0)
	at, _ := s.At()
	return spread(name+"  "+render.Cut(render.Safe(at.Title()), left), paint(dim, progress(s)), width-1)
}

// listLines draws a list. focused is true if the keys act on it.
func (m *model) listLines(width, height int, focused bool) []string {
	s, ok := m.shown()
	if !ok {
		return message(width, "This list is gone.", "Esc goes back.")
	}
	head := m.listHead(s, width)
	rows := m.listRows(s, width, focused)
	if len(rows) == 0 {
		return append(head, paint(dim, render.Cut("  No items.", width)))
	}
	height -= len(head)
	p := &m.list
	if !focused {
		at, _ := s.At()
		selected := near(at.ID, height/3)
		p = &selected
	}
	return append(head, p.lines(rows, height)...)
}

// listHead draws three lines: agent and state; progress; the agent's question, or a person's overridden edit.
func (m *model) listHead(s todo.Snapshot, width int) []string {
	p, count := s.Progress(), progress(s)
	if p.Failed > 0 {
		count += fmt.Sprintf(" · %d failed", p.Failed)
	}
	bar := ""
	if space := width - 3 - render.Cells(count); space >= 4 {
		filled := space * p.Done / max(p.Total, 1)
		bar = paint(done, strings.Repeat("━", filled)) + paint(dim, strings.Repeat("─", space-filled))
	}
	group, edits, said := m.group(s), m.standings[s.List.ID].Edits, ""
	who := render.Standing(group, "", m.now, m.lists[s.ReplacedBy])
	if len(edits.Unseen) > 0 || edits.Title == account.Waits {
		who = "your changes wait to be seen · " + who
	}
	if _, asks, ok := group.Asks(); ok {
		said = "asks: " + render.Safe(asks)
	} else if edits.Order == account.Overridden {
		said = "Your order is overridden."
	} else if out := s.LeftOut(); len(out) > 0 {
		said = "Overridden, you added: " + render.Safe(out[0].Text)
		if len(out) > 1 {
			said += fmt.Sprintf(" and %d more", len(out)-1)
		}
	}
	bar += " " + paint(dim, count)
	return []string{cut(paint(dim, " "+who), width-1), " " + bar, " " + cut(paint(warn, said), width-2)}
}
