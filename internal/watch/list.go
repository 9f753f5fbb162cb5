package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// listPane is the pane of one list. Its rows are the fold of the leading done items, the
// items, and the sub-agents' lists.
type listPane struct {
	pane
	unfolded map[string]bool // lists whose leading done items are shown
	whole    string          // id of the item whose text is shown whole; empty for none
}

// The ids of rows that are not items. No item has such an id: they are numbers.
const (
	foldID    = "fold"
	subPrefix = "sub "
)

// leastFold is from how many done items on they are folded.
const leastFold = 2

// itemRow is an item as a list shows it.
type itemRow struct {
	todo.Item
	note  styled   // at the right
	below []styled // each in a line; empty ones are left out
}

// listRows returns the rows of a list.
func (m *model) listRows(s todo.Snapshot, width int, focused bool) (rows []row) {
	add := func(id string, lines func(cursor string) []string) {
		rows = append(rows, row{id, func(selected bool) []string {
			switch {
			case selected && focused:
				return lines(paint(accent, "▌"))
			case selected && s.Open(): // what the keys act on from the board
				return lines(paint(dim, "▌"))
			}
			return lines(" ")
		}})
	}
	items := s.Items
	if n := leadingDone(s); n >= leastFold {
		unfolded := m.list.unfolded[s.List.ID]
		if !unfolded {
			items = items[n:]
		}
		add(foldID, func(cursor string) []string { return []string{cursor + foldLine(s.Items[:n], unfolded, width-1)} })
	}
	for _, item := range items {
		add(item.ID, func(cursor string) []string { return m.itemLines(m.itemRow(s, item), width, cursor) })
	}
	for i, sub := range m.family(s).Subs {
		apart := i == 0 && len(rows) > 0
		add(subPrefix+sub.List.ID, func(cursor string) []string {
			line := cursor + m.subLine(sub, width-1)
			if apart {
				return []string{"", line}
			}
			return []string{line}
		})
	}
	return rows
}

// itemRow returns an item as it stands now.
func (m *model) itemRow(s todo.Snapshot, item todo.Item) itemRow {
	hand := m.standings[s.List.ID].Hand
	r := itemRow{Item: item, note: m.itemNote(s, item, hand.Of(item.ID)), below: []styled{
		{warn, render.Safe(item.Reason)},
		{dim, render.Work(s, item)},
	}}
	if hand.Of(item.ID) == account.Overridden {
		r.below = append(r.below, styled{dim, "yours: " + render.Safe(hand.Overridden[item.ID])})
	}
	return r
}

// itemNote returns what stands at the right of an item: what became of a person's change,
// or how long the item took. That a change was seen does not take the place of a time.
func (m *model) itemNote(s todo.Snapshot, i todo.Item, fate account.Fate) styled {
	switch {
	case fate == account.Overridden:
		return styled{warn, string(fate)}
	case fate == account.Waits:
		return styled{accent, string(fate)}
	case i.Status == todo.InProgress && !i.Started.IsZero() && !m.state(s).Rests():
		return tookUntil(i.Started, m.shownNow())
	case i.Status.Settled() && !i.Started.IsZero() && i.Ended.After(i.Started):
		return styled{dim, render.Took(i.Ended.Sub(i.Started))}
	}
	return styled{dim, string(fate)}
}

// tookUntil returns how long an item has been in progress.
func tookUntil(started, now time.Time) styled {
	took := now.Sub(started)
	if took > account.LongAfter {
		return styled{warn, render.Took(took)}
	}
	return styled{dim, render.Took(took)}
}

// leadingDone returns how many items at the top of an open list are completed.
func leadingDone(s todo.Snapshot) int {
	n := slices.IndexFunc(s.Items, func(i todo.Item) bool { return i.Status != todo.Completed })
	return max(n, 0)
}

// focusIndex returns the index of the item that matters most: the current one,
// else the first that waits or is to do, else the first.
func focusIndex(s todo.Snapshot) int {
	current, ok := s.Current()
	return max(slices.IndexFunc(s.Items, func(i todo.Item) bool {
		return ok && i.ID == current.ID || !ok && !i.Status.Settled()
	}), 0)
}

// focusItem returns the row of the item that matters most.
func (m *model) focusItem(s todo.Snapshot) string {
	i, folded := focusIndex(s), leadingDone(s)
	if i < len(s.Items) && (i >= folded || folded < leastFold || m.list.unfolded[s.List.ID]) {
		return s.Items[i].ID
	}
	return foldID
}

// cursorItem returns the item that the keys act on: that under the cursor of the
// opened list, else the one that matters most of the selected list.
func (m *model) cursorItem() (todo.Snapshot, todo.Item, bool) {
	s, ok := m.shown()
	if !ok {
		return s, todo.Item{}, false
	}
	id := m.list.cursor
	if m.opened == "" {
		id = m.focusItem(s)
	}
	item, ok := s.Item(id)
	return s, item, ok
}

// listLines draws a list in a width and a height. focused is true when the keys
// go to it.
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
	p := &m.list.pane
	if !focused {
		p = &pane{cursor: m.focusItem(s)}
		p.top = p.place(rows) - height/3
	}
	lines, more := p.lines(rows, height)
	if more > 0 && len(lines) >= height && height > 1 {
		lines[height-1] = paint(dim, render.Cut(fmt.Sprintf("   … %d more", more), width))
	}
	return append(head, lines...)
}

// listHead draws what stands above the items: where and who, and the bar.
func (m *model) listHead(s todo.Snapshot, width int) []string {
	count := progress(s)
	if n := s.Progress().Failed; n > 0 {
		count += fmt.Sprintf(" · %d failed", n)
	}
	order := ""
	if m.standings[s.List.ID].Hand.Order == account.Overridden {
		order = " " + paint(warn, render.Cut("Your order is overridden.", width-2))
	}
	return []string{paint(dim, " "+m.whoLine(s, width-2)),
		" " + bar(s, width-3-render.Cells(count)) + " " + paint(dim, count), order}
}

// whoLine says where a list belongs, who works on it, how it stands and since when,
// and how much of what a person changed waits to be seen.
func (m *model) whoLine(s todo.Snapshot, width int) string {
	family := m.family(s)
	said := string(family.State())
	switch family.State() {
	case todo.Waiting:
		said = "waits for you"
	case todo.Away:
		said = ""
	case todo.LeftOpen:
		if item, ok := s.Current(); ok {
			said = "left open, stopped at: " + render.Cut(render.Safe(item.Text), 40)
		}
	}
	what := ""
	switch {
	case s.Archived:
		what = "archived"
		if by := render.PutAway(s, m.lists[s.ReplacedBy]); by != "" {
			what += ", " + by
		}
	case s.List.Agent != "":
		what = "sub-agent"
	}
	return join(" · ", width, what, render.Safe(s.List.Project()), m.agentName(s), said,
		render.When(family.Since(), m.shownNow()), m.unseen(s))
}

// unseen says how many changes of people wait to be seen, of items and of the title.
func (m *model) unseen(s todo.Snapshot) string {
	h := m.standings[s.List.ID].Hand
	n := len(h.Unseen)
	if h.Title == account.Waits {
		n++
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "1 change waits to be seen"
	}
	return fmt.Sprintf("%d changes wait to be seen", n)
}

// bar draws the progress of a list.
func bar(s todo.Snapshot, width int) string {
	if width < 4 {
		return ""
	}
	p := s.Progress()
	filled := width * p.Done / max(p.Total, 1)
	return paint(done, strings.Repeat("━", filled)) + paint(dim, strings.Repeat("─", width-filled))
}

// itemLook returns the sign of a status, and how a text with it looks.
func itemLook(s todo.Status) (sign styled, text role) {
	switch s {
	case todo.Completed:
		return styled{done, "✓"}, dim
	case todo.InProgress:
		return styled{accent, "◐"}, bold
	case todo.Failed:
		return styled{bad, "✗"}, plainText
	case todo.Blocked:
		return styled{warn, "‖"}, plainText
	case todo.Cancelled:
		return styled{dim, "–"}, struck
	}
	return styled{dim, "○"}, plainText
}

// Cells before the text of an item, and at least at its right.
const (
	rowIndent = 3
	noteWidth = 10
)

// itemLines draws an item behind a cursor.
func (m *model) itemLines(r itemRow, width int, cursor string) (lines []string) {
	sign, text := itemLook(r.Status)
	limit := maxWrapped
	if r.ID == m.list.whole {
		limit = todo.MaxText
	}
	notes := max(noteWidth, render.Cells(r.note.text)+2)
	inside := max(width-rowIndent-notes, min(width-rowIndent-1, leastTitle))
	note := r.note.cut(width - rowIndent - inside - 1).paint()
	for i, line := range wrap(render.Safe(r.Title()), inside, limit) {
		if i == 0 {
			lines = append(lines, spread(cursor+sign.paint()+" "+paint(text, line), note, width-1))
		} else {
			lines = append(lines, cursor+"  "+paint(text, line))
		}
	}
	for _, b := range r.below {
		if b.text != "" {
			lines = append(lines, cursor+"    "+b.cut(width-6).paint())
		}
	}
	return lines
}

// foldLine draws the leading done items in one line: how many, and how long they
// took together.
func foldLine(items []todo.Item, unfolded bool, width int) string {
	sign, took := "▸", ""
	if unfolded {
		sign = "▾"
	}
	var from, to time.Time
	for _, i := range items {
		if from.IsZero() || !i.Started.IsZero() && i.Started.Before(from) {
			from = i.Started
		}
		if i.Ended.After(to) {
			to = i.Ended
		}
	}
	if !from.IsZero() && to.After(from) {
		took = render.Took(to.Sub(from))
	}
	return paint(dim, spread(render.Cut(fmt.Sprintf("%s %d done", sign, len(items)), width), took, width-1))
}

// subLine draws a sub-agent's list in one line: name, what it does, progress.
func (m *model) subLine(s todo.Snapshot, width int) string {
	doing := ""
	if i := focusIndex(s); i < len(s.Items) && s.Open() {
		doing = render.Safe(s.Items[i].Title())
	}
	nameRole := accent
	if m.state(s).Rests() {
		nameRole = dim
	}
	name := "↳ " + render.Cut(listName(s), max(width/3, 8))
	room := max(width-render.Cells(name)-2-noteWidth, 0)
	return spread(paint(nameRole, name)+"  "+render.Cut(doing, room), paint(dim, progress(s)), width-1)
}
