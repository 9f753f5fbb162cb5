package watch

import (
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/render"
)

// twoPanes is the width from which a list is shown beside the board.
const twoPanes = 100

// frame returns the lines of the screen, none wider than the screen.
func (m *model) frame() []string {
	lines := append([]string{m.topLine()}, m.body(max(m.height-2, 0))...)
	lines = append(lines, make([]string, max(m.height-len(lines), 0))...)
	lines = lines[:max(m.height, 1)]
	if m.height > 1 {
		lines[m.height-1] = m.bottomLine()
	}
	for i, l := range lines { // some parts have a minimum width
		lines[i] = cut(l, m.width)
	}
	return lines
}

// body draws all but the first and last line: a page, or the board and a list, side by side if there is room.
func (m *model) body(height int) []string {
	switch {
	case m.page != nil:
		return m.page.draw(m.width, height)
	case !m.loaded:
		return message(m.width, "Waiting for "+m.sourceName)
	case m.width < twoPanes && m.opened != "":
		return m.listPane(m.width, height)
	case m.width < twoPanes:
		return m.boardPane(m.width, height)
	}
	width := min(m.width*9/20, 72)
	lines := m.boardPane(width, height)
	for i, right := range m.listPane(m.width-width, height) {
		lines[i] += right
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

// listPane draws the list that is opened or selected, or an empty pane.
func (m *model) listPane(width, height int) []string {
	s, ok := m.shown()
	if !ok && m.opened == "" {
		return framed("", false, width, height, nil)
	}
	return framed(listName(s), m.opened != "", width, height, m.listLines(width-2, height-2, m.opened != ""))
}

// framed draws a border with a title around lines.
func framed(title string, focused bool, width, height int, lines []string) []string {
	border, titleRole := dim, plainText
	if focused {
		border, titleRole = accent, bold
	}
	rule := func(n int) string { return strings.Repeat("─", max(n, 0)) }
	out := []string{paint(border, "╭"+rule(width-2)+"╮")}
	if title = cut(paint(titleRole, title), width-6); title != "" {
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

// topLine returns the first line: counts of lists, and whether the view is live.
func (m *model) topLine() string {
	lamp := paint(done, "● live")
	switch {
	case m.lost != nil:
		lamp = paint(warn, "○ not live since "+m.now.Format("15:04")+" ("+rootCause(m.lost)+")")
	case !m.loaded:
		lamp = paint(dim, "○ connecting…")
	}
	lamp = cut(lamp, max(m.width-12, 6))
	left := join("  ", m.width-render.Cells(lamp)-3, append([]string{paint(bold, " todo-mcp")}, m.summary()...)...)
	return spread(left, lamp+" ", m.width)
}

// bottomLine returns the last line: the search, a note, or as many keys as fit.
func (m *model) bottomLine() string {
	switch {
	case m.searching:
		return paint(accent, render.Cut(" / "+render.Safe(m.filter)+"▏", m.width))
	case m.note != "":
		return cut(m.note, m.width)
	case m.page != nil:
		return paint(dim, render.Cut(" ↑↓ scroll   any other key closes", m.width))
	}
	var keys []string
	if m.filter != "" && m.opened == "" {
		keys = append(keys, "esc clears the search")
	}
	_, some := m.shown()
	for _, b := range bindings() {
		if b.short != "" && b.where&m.where() != 0 && (some || b.section == everywhere) {
			keys = append(keys, b.short)
		}
	}
	return paint(dim, " "+join("  ", m.width-1, keys...))
}
