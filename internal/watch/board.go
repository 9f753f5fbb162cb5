package watch

import (
	"fmt"
	"slices"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// board is the pane of lists.
type board struct {
	selected string // id; empty until there is a list
	anchor
}

// boardRow is a heading or a list.
type boardRow struct {
	heading string
	family  *account.Family
}

func (r boardRow) id() string {
	if r.family == nil {
		return ""
	}
	return r.family.Main.List.ID
}

func (m *model) boardRows() (rows []boardRow) {
	for _, g := range m.groups() {
		if g.heading != "" && len(g.families) > 0 {
			rows = append(rows, boardRow{heading: g.heading})
		}
		for i := range g.families {
			rows = append(rows, boardRow{family: &g.families[i]})
		}
	}
	return rows
}

func boardIDs(rows []boardRow) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.id()
	}
	return ids
}

// placeCursor selects a list if none is, or another one if the selected one is
// gone, and returns its row; -1 if there are no lists.
func (m *model) placeCursor(rows []boardRow) int {
	at := m.board.follow(boardIDs(rows), m.board.selected, func(i int) bool { return rows[i].family != nil })
	if at < 0 {
		m.board.selected = ""
	} else {
		m.board.selected = rows[at].id()
	}
	return at
}

// moveSelection selects the list delta lists below the selected one, or the
// nearest there is.
func (m *model) moveSelection(delta int) {
	rows := m.boardRows()
	at := m.placeCursor(rows)
	if at < 0 {
		return
	}
	step := 1
	if delta < 0 {
		step = -1
	}
	for i := at + step; i >= 0 && i < len(rows) && delta != 0; i += step {
		if rows[i].family != nil {
			at, delta = i, delta-step
		}
	}
	m.board.index, m.board.selected = at, rows[at].id()
}

// boardLines draws the pane in a width and a height. unfold is true where there
// is no pane for the selected list beside it: its next steps stand below it.
func (m *model) boardLines(width, height int, unfold bool) []string {
	rows := m.boardRows()
	at := m.placeCursor(rows)
	if at < 0 {
		return m.emptyBoard(width)
	}
	var below []string
	if unfold {
		below = m.nextSteps(rows[at].family.Main, width, min(3, max(height-2, 0)))
	}
	heights := func(i int) int {
		if i == at {
			return 1 + len(below)
		}
		return 1
	}
	top := window(m.board.top, at, len(rows), height, heights)
	if top == at && top > 0 && rows[top-1].heading != "" && heights(at) < height {
		top-- // a list is not shown without its heading at the edge
	}
	m.board.top = top
	var lines []string
	for i := top; i < len(rows) && len(lines) < height; i++ {
		if rows[i].family == nil {
			lines = append(lines, paint(dim, render.Cut(" "+rows[i].heading, width)))
			continue
		}
		lines = append(lines, m.boardLine(*rows[i].family, width, i == at))
		if i == at {
			lines = append(lines, below...)
		}
	}
	return lines[:min(len(lines), height)]
}

func (m *model) emptyBoard(width int) []string {
	switch {
	case m.filter != "":
		return m.message(width, "Nothing matches “"+render.Safe(m.filter)+"”.", "Esc clears the search.")
	case m.wanted != "":
		return m.message(width, "No list is called “"+render.Safe(m.wanted)+"” yet.", "It shows up here as soon as there is one.")
	case len(m.lists) > 0:
		return m.message(width, "Nothing is open.", "/ searches past lists.")
	}
	return m.message(width, "No lists yet.", "An agent begins one by calling its todo tool; it shows up here as it moves.")
}

// message returns the lines shown in place of lists.
func (m *model) message(width int, text ...string) []string {
	lines := []string{""}
	for i, t := range text {
		r := plainText
		if i > 0 {
			r = dim
		}
		for _, line := range wrap(t, width-3, maxWrapped) {
			lines = append(lines, "  "+paint(r, line))
		}
	}
	return lines
}

// Widths of the columns at the right of a list's line, and the least for its
// title.
const (
	progressWidth = 7
	timeWidth     = 10
	leastTitle    = 16
)

// boardLine draws a list in one line: cursor, sign, title, progress and time.
func (m *model) boardLine(e account.Family, width int, selected bool) string {
	mark, signRole := m.listSign(e)
	progressText, timeText := padLeft(progress(e.Main), progressWidth), ""
	if width >= 3+leastTitle+progressWidth+timeWidth {
		timeText = padLeft(m.listTime(e), timeWidth)
	}
	titleWidth := width - 4 - render.Cells(progressText) - render.Cells(timeText)
	title := render.Pad(render.Cut(listName(e.Main), titleWidth), titleWidth)
	cursor, titleRole := " ", plainText
	if e.State().Rests() {
		titleRole = dim
	}
	if selected {
		cursor, titleRole = paint(accent, "▌"), bold
		if m.opened != "" {
			cursor = paint(dim, "▌")
		}
	}
	timeRole := dim
	if e.State() == todo.Working && m.isLong(e.Main) {
		timeRole = warn
	}
	return cursor + paint(signRole, mark) + " " + m.paintMatch(titleRole, title) +
		paint(dim, progressText) + paint(timeRole, timeText) + " "
}

// listSign returns the sign of a list's state.
func (m *model) listSign(e account.Family) (string, role) {
	if e.State().Rests() && e.Main.Progress().Failed > 0 {
		return "✗", bad
	}
	switch e.State() {
	case todo.Working:
		return "◐", accent
	case todo.Waiting:
		return "‖", warn
	case todo.Idle:
		return "◌", dim
	case todo.LeftOpen, todo.Away:
		return "◦", dim
	}
	return "✓", done
}

func (m *model) isLong(s todo.Snapshot) bool {
	item, ok := s.Current()
	return ok && !item.Started.IsZero() && m.shownNow().Sub(item.Started) > account.LongAfter
}

// listTime returns how long the current item has been in progress; of a list
// without one how long it has rested, and of a finished one when it ended.
func (m *model) listTime(e account.Family) string {
	now := m.shownNow()
	item, current := e.Main.Current()
	switch {
	case e.State() == todo.Finished:
		return render.Moment(e.Since(), now)
	case e.State() == todo.Working && current && !item.Started.IsZero():
		return render.Took(now.Sub(item.Started))
	}
	return render.Roughly(now.Sub(e.Since()))
}

// nextSteps returns the current item of a list and the next to do, at most
// limit, each in a line.
func (m *model) nextSteps(s todo.Snapshot, width, limit int) (lines []string) {
	from := focusIndex(s)
	for _, item := range s.Items[min(from, len(s.Items)):] {
		if len(lines) < limit && (!item.Status.Settled() || s.Settled()) {
			mark, r := itemSign(item.Status)
			text := render.Safe(item.Title())
			if item.Reason != "" {
				text += ": " + render.Safe(item.Reason)
			}
			lines = append(lines, "     "+paint(r, mark)+" "+paint(textRole(item.Status), render.Cut(text, width-8)))
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

// summary counts the lists by state, for the first line: "5 working · 1 waits
// for you".
func (m *model) summary() []summaryPart {
	n := account.Counts(slices.DeleteFunc(m.families(), func(f account.Family) bool { return f.Main.Archived }))
	waits := "wait"
	if n[todo.Waiting] == 1 {
		waits = "waits"
	}
	return []summaryPart{
		{accent, counted(n[todo.Working], "working")}, {warn, counted(n[todo.Waiting], waits+" for you")},
		{dim, counted(n[todo.Idle], "idle")}, {dim, counted(n[todo.LeftOpen], "left open")},
	}
}

type summaryPart struct {
	role role
	text string
}

func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}
