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

// listPane is the pane of one list.
type listPane struct {
	cursor   string          // the id of a row; see listRow
	unfolded map[string]bool // lists whose leading done items are shown
	whole    string          // id of the item whose text is shown whole; empty for none
	anchor
}

// listRow is an item, the fold of the leading done items, or a sub-agent's list.
type listRow struct {
	id   string
	item todo.Item
	sub  *todo.Snapshot
	fold []todo.Item // the items folded into this row
	// spaced is true for the first sub-agent's list, which stands apart.
	spaced bool
	work   string // who does it and what it waits for, see [render.Work]
	hand          // what a person did to it
	// what an old revision changed, and whether it removed the item
	words   string
	old     string // the text before it
	removed bool
}

// The ids of rows that are not items. No item has such an id: they are numbers.
const (
	foldID    = "fold"
	subPrefix = "sub "
)

// leastFold is from how many done items on they are folded.
const leastFold = 2

// listRows returns the rows of a list with its sub-agents' lists.
func (m *model) listRows(s todo.Snapshot) (rows []listRow) {
	if m.history != nil {
		return m.history.rows(s)
	}
	items := s.Items
	if n := leadingDone(s); n >= leastFold {
		rows = append(rows, listRow{id: foldID, fold: items[:n]})
		if !m.list.unfolded[s.List.ID] {
			items = items[n:]
		}
	}
	for _, item := range items {
		rows = append(rows, listRow{id: item.ID, item: item, work: render.Work(s, item), hand: m.handOn(s, item)})
	}
	for i, sub := range m.family(s).Subs {
		rows = append(rows, listRow{id: subPrefix + sub.List.ID, sub: &sub, spaced: i == 0 && len(rows) > 0})
	}
	return rows
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
	for i, item := range s.Items {
		if ok && item.ID == current.ID || !ok && !item.Status.Settled() {
			return i
		}
	}
	return 0
}

// focusItem returns the row of the item that matters most.
func (m *model) focusItem(s todo.Snapshot) string {
	if i := focusIndex(s); i < len(s.Items) && (i >= leadingDone(s) || leadingDone(s) < leastFold || m.list.unfolded[s.List.ID]) {
		return s.Items[i].ID
	}
	return foldID
}

// cursorItem returns the item that the keys act on: that under the cursor of the
// opened list, else the one that matters most of the selected list.
func (m *model) cursorItem() (todo.Snapshot, todo.Item, bool) {
	s, ok := m.shown()
	if !ok || m.history != nil {
		return s, todo.Item{}, false
	}
	id := m.list.cursor
	if m.opened == "" {
		id = m.focusItem(s)
	}
	item, ok := s.Item(id)
	return s, item, ok
}

// placeItemCursor returns the row of the cursor; the cursor moves if its row is
// gone.
func (m *model) placeItemCursor(rows []listRow) int {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.id
	}
	at := m.list.follow(ids, m.list.cursor, func(int) bool { return true })
	if at >= 0 {
		m.list.cursor = rows[at].id
	}
	return at
}

// moveItemCursor moves the cursor of the opened list by delta rows.
func (m *model) moveItemCursor(delta int) {
	s, _ := m.shown()
	rows := m.listRows(m.revisionOf(s))
	at := m.placeItemCursor(rows)
	if at < 0 {
		return
	}
	at = min(max(at+delta, 0), len(rows)-1)
	m.list.index, m.list.cursor = at, rows[at].id
}

// listLines draws a list in a width and a height. focused is true when the keys
// go to it.
func (m *model) listLines(width, height int, focused bool) []string {
	s, ok := m.shown()
	if !ok {
		return m.message(width, "This list is gone.", "Esc goes back.")
	}
	shown := m.revisionOf(s)
	lines := m.listHead(s, shown, width)
	rows := m.listRows(shown)
	if len(rows) == 0 {
		return append(lines, paint(dim, render.Cut("  No items.", width)))
	}
	return append(lines, m.rowsLines(shown, rows, width, height-len(lines), focused)...)
}

func (m *model) rowsLines(s todo.Snapshot, rows []listRow, width, height int, focused bool) (lines []string) {
	heights := func(i int) int { return len(m.rowLines(s, rows[i], width, false, false)) }
	var at, top int
	if focused {
		at = m.placeItemCursor(rows)
		top = window(m.list.top, at, len(rows), height, heights)
		m.list.top = top
	} else {
		focus := m.focusItem(s)
		at = max(slices.IndexFunc(rows, func(r listRow) bool { return r.id == focus }), 0)
		top = window(max(at-height/3, 0), at, len(rows), height, heights)
	}
	whole := top + 1 // the rows before it are shown whole, also above the count of the others
	for i := top; i < len(rows) && len(lines) < height; i++ {
		lines = append(lines, m.rowLines(s, rows[i], width, i == at, focused)...)
		if len(lines) < height || len(lines) == height && i == len(rows)-1 {
			whole = i + 1
		}
	}
	if below := len(rows) - whole; below > 0 && len(lines) >= height && height > 1 {
		lines = append(lines[:height-1], paint(dim, render.Cut(fmt.Sprintf("   … %d more", below), width)))
	}
	return lines[:min(len(lines), max(height, 0))]
}

// listHead draws what stands above the items: where and who, the bar, and while
// the history is shown its timeline.
func (m *model) listHead(s, shown todo.Snapshot, width int) []string {
	now := m.shownNow()
	lines := []string{paint(dim, " "+m.whoLine(s, now, width-2))}
	if m.history != nil {
		return append(lines, m.historyHead(s, shown, width)...)
	}
	count := progress(shown)
	if n := shown.Progress().Failed; n > 0 {
		count += fmt.Sprintf(" · %d failed", n)
	}
	return append(lines, " "+m.bar(shown, width-3-render.Cells(count))+" "+paint(dim, count), m.orderLine(s, width))
}

// whoLine says where a list belongs, who works on it, how it stands and since when,
// and how much of what a person changed waits to be seen.
func (m *model) whoLine(s todo.Snapshot, now time.Time, width int) string {
	family := m.family(s)
	state := family.State()
	said := string(state)
	switch state {
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
	return join(width, what, render.Safe(s.List.Project()), m.agentName(s), said, render.When(family.Since(), now), m.waiting(s))
}

// bar draws the progress of a list.
func (m *model) bar(s todo.Snapshot, width int) string {
	if width < 4 {
		return ""
	}
	p := s.Progress()
	filled := 0
	if p.Total > 0 {
		filled = width * p.Done / p.Total
	}
	return paint(done, strings.Repeat("━", filled)) + paint(dim, strings.Repeat("─", width-filled))
}

// itemSign returns the sign of a status.
func itemSign(s todo.Status) (string, role) {
	switch s {
	case todo.Completed:
		return "✓", done
	case todo.InProgress:
		return "◐", accent
	case todo.Failed:
		return "✗", bad
	case todo.Blocked:
		return "‖", warn
	case todo.Cancelled:
		return "–", dim
	}
	return "○", dim
}

func textRole(s todo.Status) role {
	switch s {
	case todo.Completed:
		return dim
	case todo.Cancelled:
		return struck
	case todo.InProgress:
		return bold
	}
	return plainText
}

// Cells before the text of a row, and at its right.
const (
	rowIndent = 3
	noteWidth = 10
)

// rowText returns the lines of a row's text.
func (m *model) rowText(r listRow, width int) []string {
	if r.fold != nil || r.sub != nil {
		return []string{""}
	}
	limit := maxWrapped
	if r.id == m.list.whole {
		limit = todo.MaxText
	}
	return wrap(render.Safe(r.item.Title()), textWidth(r, width), limit)
}

func textWidth(r listRow, width int) int {
	notes := noteWidth
	if r.words != "" {
		notes = render.Cells(r.words) + 2
	}
	if r.fate != "" {
		notes = max(notes, render.Cells(string(r.fate))+2)
	}
	return max(width-rowIndent-notes, min(width-rowIndent-1, leastTitle))
}

// rowLines draws a row.
func (m *model) rowLines(s todo.Snapshot, r listRow, width int, selected, focused bool) (lines []string) {
	cursor := " "
	switch {
	case selected && focused:
		cursor = paint(accent, "▌")
	case selected && s.Open(): // what the keys act on from the board
		cursor = paint(dim, "▌")
	}
	switch {
	case r.fold != nil:
		return []string{cursor + m.foldLine(r, m.list.unfolded[s.List.ID], width-1)}
	case r.sub != nil:
		if r.spaced {
			lines = append(lines, "")
		}
		return append(lines, cursor+m.subLine(*r.sub, width-1))
	}
	mark, signRole := itemSign(r.item.Status)
	text, inside := textRole(r.item.Status), textWidth(r, width)
	if r.removed {
		mark, signRole, text = "-", bad, struck
	}
	for i, line := range m.rowText(r, width) {
		if i > 0 {
			lines = append(lines, cursor+"  "+paint(text, line))
			continue
		}
		note, noteRole := m.rowNote(s, r)
		space := strings.Repeat(" ", max(inside-render.Cells(line), 0))
		notes := width - rowIndent - inside - 1
		note = render.Cut(note, notes)
		right := strings.Repeat(" ", max(notes-render.Cells(note), 0)) + paint(noteRole, note)
		lines = append(lines, cursor+paint(signRole, mark)+" "+paint(text, line)+space+right)
	}
	if r.item.Reason != "" {
		lines = append(lines, cursor+"    "+paint(warn, render.Cut(render.Safe(r.item.Reason), width-6)))
	}
	if r.work != "" {
		lines = append(lines, cursor+"    "+paint(dim, render.Cut(r.work, width-6)))
	}
	if r.fate == account.Overridden {
		lines = append(lines, cursor+"    "+paint(dim, r.bringsBack(width-6)))
	}
	if r.old != "" {
		lines = append(lines, cursor+"    "+paint(struck, render.Cut(render.Safe(r.old), width-6)))
	}
	return lines
}

// rowNote returns what stands at the right of an item: what a revision changed, what
// became of a person's change, or how long the item took. That a change was seen does
// not take the place of a time.
func (m *model) rowNote(s todo.Snapshot, r listRow) (string, role) {
	i := r.item
	switch {
	case m.history != nil:
		return r.words, accent
	case r.fate == account.Overridden:
		return string(r.fate), warn
	case r.fate == account.Waits:
		return string(r.fate), accent
	case i.Status == todo.InProgress && !i.Started.IsZero() && !m.state(s).Rests():
		took := m.shownNow().Sub(i.Started)
		if took > account.LongAfter {
			return render.Took(took), warn
		}
		return render.Took(took), dim
	case i.Status.Settled() && !i.Started.IsZero() && i.Ended.After(i.Started):
		return render.Took(i.Ended.Sub(i.Started)), dim
	}
	return string(r.fate), dim
}

// foldLine draws the leading done items in one line: how many, and how long they
// took together.
func (m *model) foldLine(r listRow, unfolded bool, width int) string {
	sign, took := "▸", ""
	if unfolded {
		sign = "▾"
	}
	var from, to time.Time
	for _, i := range r.fold {
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
	text := fmt.Sprintf("%s %d done", sign, len(r.fold))
	return paint(dim, render.Pad(render.Cut(text, width), width-noteWidth)+padLeft(took, noteWidth-1))
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
	count := padLeft(progress(s), noteWidth-1)
	name := render.Cut(listName(s), max(width/3, 8))
	rest := max(width-render.Cells("↳ "+name+"  ")-noteWidth, 0)
	return paint(nameRole, "↳ "+name) + "  " + render.Pad(render.Cut(doing, rest), rest) + paint(dim, count)
}
