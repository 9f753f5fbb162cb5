package watch

import (
	"slices"
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

// tiny is below how many columns lines may come out too long, since their parts
// have a least width.
const tiny = 40

// frame returns the lines of the screen: exactly height lines, at least one, none
// wider than the terminal.
func (m *model) frame() []line {
	height := max(m.height-2, 0)
	var body []line
	switch {
	case m.page != nil:
		body = single(m.page.draw(m.width, height))
	case !m.loaded:
		body = single(message(m.width, "Waiting for "+m.sourceName))
	case m.width >= twoPanes && height >= 4:
		body = m.panes(height)
	case m.opened != "":
		body = single(m.listAlone(height))
	default:
		body = single(m.boardLines(m.width, height, true))
	}
	lines := append(make([]line, 0, max(m.height, 2)), line{left: m.topLine()})
	lines = append(lines, body[:min(len(body), height)]...)
	for len(lines) < m.height-1 {
		lines = append(lines, line{})
	}
	lines = append(lines, line{left: m.bottomLine()})
	for i, l := range lines {
		if m.width < tiny && paintedCells(l.left) > m.width {
			lines[i].left = render.Cut(unpainted(l.left), m.width)
		}
	}
	return lines[:min(len(lines), max(m.height, 1))]
}

func single(texts []string) []line {
	lines := make([]line, len(texts))
	for i, t := range texts {
		lines[i].left = t
	}
	return lines
}

// panes draws the lists and, beside them, the selected or opened list.
func (m *model) panes(height int) []line {
	leftWidth := min(m.width*9/20, 72)
	rightWidth := m.width - leftWidth
	heading := "Lists"
	if m.filter != "" {
		heading = "Lists with “" + render.Safe(m.filter) + "”"
	}
	left := framed(heading, m.opened == "", leftWidth, height, m.boardLines(leftWidth-2, height-2, false))
	title, lists := "", []string(nil)
	if s, ok := m.shown(); ok || m.opened != "" {
		title = listName(s)
		lists = m.listLines(rightWidth-2, height-2, m.opened != "")
	}
	right := framed(title, m.opened != "", rightWidth, height, lists)
	lines := make([]line, height)
	for i := range lines {
		lines[i] = line{left[i], leftWidth, right[i]}
	}
	return lines
}

// framed draws a border with a title around lines. A focused one is accented.
func framed(title string, focused bool, width, height int, lines []string) []string {
	border, titleRole := dim, plainText
	if focused {
		border, titleRole = accent, bold
	}
	rule := func(n int) string { return strings.Repeat("─", max(n, 0)) }
	out := []string{paint(border, "╭"+rule(width-2)+"╮")}
	if title = render.Cut(title, width-6); title != "" {
		out[0] = paint(border, "╭─ ") + paint(titleRole, title) + paint(border, " "+rule(width-render.Cells(title)-5)+"╮")
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

// listAlone draws the opened list on the whole screen, under its title.
func (m *model) listAlone(height int) []string {
	s, ok := m.shown()
	if !ok {
		return message(m.width, "This list is gone.", "Esc goes back.")
	}
	title := " " + paint(bold, render.Cut(listName(s), m.width-2))
	return append([]string{title}, m.listLines(m.width, height-1, true)...)
}

// topLine returns the first line: what there is, and whether it is live.
func (m *model) topLine() string {
	lamp, lampRole, keys := "● live", done, ""
	switch {
	case m.lost != nil:
		lamp, lampRole = "○ not live ("+rootCause(m.lost)+")", warn
	case !m.loaded:
		lamp, lampRole = "○ connecting…", dim
	}
	for _, b := range bindings() {
		if m.atTop(b) && m.loaded && m.page == nil {
			keys += b.short + "   "
		}
	}
	lamp = render.Cut(lamp, max(m.width-12-render.Cells(keys), 6))
	room := m.width - render.Cells(keys+lamp) - 2
	name := render.Cut(" todo-mcp  ", room)
	left, used := paint(bold, name), render.Cells(name)
	separator := ""
	for _, part := range m.summary() {
		if used+render.Cells(separator+part.text) <= room {
			left += paint(dim, separator) + paint(part.role, part.text)
			used += render.Cells(separator + part.text)
			separator = " · "
		}
	}
	return spread(left, paint(dim, keys)+paint(lampRole, lamp)+" ", m.width)
}

// bottomLine returns the last line: the search, a note, or the keys
// that can be pressed.
func (m *model) bottomLine() string {
	switch {
	case m.searching:
		return paint(accent, render.Cut(" / "+render.Safe(m.filter)+"▏", m.width))
	case m.note.text != "" && m.now.Before(m.note.until):
		return paint(m.note.role, render.Cut(" "+m.note.text, m.width))
	case m.page != nil:
		return paint(dim, render.Cut(" ↑↓ scroll   any other key closes", m.width))
	}
	keys := []string{}
	if m.wanted != "" && m.loaded && m.opened == "" && len(m.lists) > 0 {
		keys = append(keys, "No list is called “"+render.Cut(render.Safe(m.wanted), 30)+"” yet")
	}
	if m.filter != "" && m.opened == "" {
		keys = append(keys, "esc clears the search")
	}
	for _, b := range bindings() {
		if b.short != "" && b.where&m.where() != 0 && m.canDo(b) && !m.atTop(b) {
			keys = append(keys, b.short)
		}
	}
	return paint(dim, " "+joinKeys(m.width-1, keys))
}

// atTop reports whether the first line shows a key.
func (m *model) atTop(b binding) bool {
	return m.width >= twoPanes && (b.keys == "/" || b.keys == "?") && b.where&m.where() != 0
}

// canDo reports whether a key does something now, as far as it is not obvious.
func (m *model) canDo(b binding) bool {
	if _, ok := m.shown(); ok {
		return true
	}
	return slices.Contains([]string{"?", "/", "q Ctrl-C", "Esc Left"}, b.keys)
}

// joinKeys joins keys for the last line. Where not all fit, those that lead on
// to the others stay: the overlay and the way out.
func joinKeys(width int, keys []string) string {
	separator := "   "
	if render.Cells(strings.Join(keys, separator)) > width {
		separator = "  "
	}
	stay := 1
	if slices.Contains(keys, "? keys") {
		stay = 2
	}
	for len(keys) > stay && render.Cells(strings.Join(keys, separator)) > width {
		at := len(keys) - stay
		keys = slices.Delete(keys, at-1, at)
	}
	return join(separator, width, keys...)
}
