package watch

import (
	"strings"

	"todo-mcp/internal/render"
)

// line is a line of the screen: a text at the left edge, and one that begins at
// a column, wherever the left text ends.
type line struct {
	left  string
	at    int // column, from 0, of right; 0 for none
	right string
}

// twoPanes is from how many columns on a list is shown beside the lists.
const twoPanes = 100

// frame returns the screen's lines: height of them, at least one, none wider than it.
func (m *model) frame() []line {
	height := max(m.height-2, 0)
	lines := append(make([]line, 0, max(m.height, 2)), line{left: m.topLine()})
	body := m.body(height)
	lines = append(lines, body[:min(len(body), height)]...)
	for len(lines) < m.height-1 {
		lines = append(lines, line{})
	}
	lines = append(lines, line{left: m.bottomLine()})
	for i, l := range lines { // the parts of a line have a least width
		if m.width < twoPanes {
			lines[i].left = render.Cut(l.left, m.width)
		}
	}
	return lines[:min(len(lines), max(m.height, 1))]
}

// body draws what is between the first line and the last: a page, or the lists and the
// selected or opened one, side by side where there is room.
func (m *model) body(height int) (lines []line) {
	leftWidth, rightWidth := m.width, m.width
	if m.width >= twoPanes {
		leftWidth = min(m.width*9/20, 72)
		rightWidth = m.width - leftWidth
	}
	var left, right []string
	switch {
	case m.page != nil:
		left = m.page.draw(m.width, height)
	case !m.loaded:
		left = message(m.width, "Waiting for "+m.sourceName)
	case leftWidth < m.width:
		left, right = m.boardPane(leftWidth, height), m.listPane(rightWidth, height)
	case m.opened != "":
		left = m.listPane(m.width, height)
	default:
		left = m.boardPane(m.width, height)
	}
	for i, text := range left {
		l := line{left: text}
		if i < len(right) {
			l.at, l.right = leftWidth, right[i]
		}
		lines = append(lines, l)
	}
	return lines
}

func (m *model) boardPane(width, height int) []string {
	title := "Lists"
	if m.filter != "" {
		title = "Lists with “" + render.Safe(m.filter) + "”"
	}
	lines := m.board.lines(m.boardRows(width-2), height-2)
	if m.board.cursor == "" {
		lines = m.emptyBoard(width - 2)
	}
	return framed(title, m.opened == "", width, height, lines)
}

// listPane draws the selected or opened list; nothing where there is none.
func (m *model) listPane(width, height int) []string {
	s, ok := m.shown()
	if !ok && m.opened == "" {
		return framed("", false, width, height, nil)
	}
	return framed(listName(s), m.opened != "", width, height, m.listLines(width-2, height-2, m.opened != ""))
}

// framed draws a border with a title around lines. A focused one is accented.
func framed(title string, focused bool, width, height int, lines []string) []string {
	border, titleRole := dim, plainText
	if focused {
		border, titleRole = accent, bold
	}
	rule := func(n int) string { return strings.Repeat("─", max(n, 0)) }
	out := []string{paint(border, "╭"+rule(width-2)+"╮")}
	if title = cut(marked(titleRole, title), width-6); title != "" {
		out[0] = paint(border, "╭─ ") + title + paint(border, " "+rule(width-render.Cells(title)-5)+"╮")
	}
	side := paint(border, "│")
	for i := range height - 2 {
		text := ""
		if i < len(lines) {
			text = lines[i]
		}
		out = append(out, spread(side+text, side, width))
	}
	return append(out, paint(border, "╰"+rule(width-2)+"╯"))
}

// topLine returns the first line: what there is, and whether it is live.
func (m *model) topLine() string {
	lamp := paint(done, "● live")
	switch {
	case m.lost != nil:
		lamp = paint(warn, "○ not live since "+m.now.Format("15:04")+" ("+rootCause(m.lost)+")")
	case !m.loaded:
		lamp = paint(dim, "○ connecting…")
	}
	lamp = cut(lamp, max(m.width-12, 6))
	space := m.width - render.Cells(lamp) - 2
	left := paint(bold, render.Cut(" todo-mcp  ", space))
	for _, part := range m.summary() {
		if render.Cells(left+part+"  ") <= space {
			left += part + "  "
		}
	}
	return spread(left, lamp+" ", m.width)
}

// bottomLine returns the last line: the search, a note, or as many keys as fit.
func (m *model) bottomLine() string {
	switch {
	case m.searching:
		return paint(accent, render.Cut(" / "+render.Safe(m.filter)+"▏", m.width))
	case m.note.text != "" && m.clock.Before(m.note.until):
		return cut(m.note.text, m.width)
	case m.page != nil:
		return paint(dim, render.Cut(" ↑↓ scroll   any other key closes", m.width))
	}
	var keys []string
	if m.wanted != "" && m.loaded && m.opened == "" && len(m.lists) > 0 {
		keys = append(keys, "No list is called “"+render.Cut(render.Safe(m.wanted), 30)+"” yet")
	}
	if m.filter != "" && m.opened == "" {
		keys = append(keys, "esc clears the search")
	}
	_, some := m.shown()
	for _, b := range bindings() {
		if b.where&m.where() != 0 && (some || b.section == everywhere) {
			keys = append(keys, b.short)
		}
	}
	return paint(dim, " "+join("  ", m.width-1, keys...))
}
