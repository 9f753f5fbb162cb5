package watch

import (
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// frame returns the lines of the screen: at most height lines, at least one, none
// wider than the terminal.
func (m *model) frame() []string {
	var body []string
	bodyHeight := m.height - 2
	switch {
	case !m.loaded:
		body = []string{"", m.paint(dim, cut("  Waiting for "+m.sourceName, m.width))}
	case m.opened != "":
		body = m.openedLines(bodyHeight)
	case m.wanted != "":
		body = m.message("No list is called “"+render.Safe(m.wanted)+"” yet.", "It shows up here as soon as there is one; Esc shows all lists.")
	default:
		body = m.overviewLines(bodyHeight)
	}
	lines := make([]string, 0, max(m.height, 2))
	lines = append(lines, m.topLine())
	lines = append(lines, body[:min(len(body), max(bodyHeight, 0))]...)
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines, m.bottomLine())
	return lines[:min(len(lines), max(m.height, 1))]
}

// message returns the lines shown in place of a list.
func (m *model) message(text ...string) []string {
	lines := []string{""}
	for _, t := range text {
		lines = append(lines, cut("  "+t, m.width))
	}
	return lines
}

// topLine returns the first line: the source on the left, and the state of its
// connection on the right.
func (m *model) topLine() string {
	state, color := "● live", green
	switch {
	case m.lost != nil:
		state, color = "◌ reconnecting… ("+rootCause(m.lost)+")", yellow
	case !m.loaded:
		state, color = "◌ connecting…", yellow
	}
	state = cut(state, m.width)
	left := cut("todo-mcp · "+m.sourceName, m.width-cells(state)-2)
	gap := max(m.width-cells(left)-cells(state), 0)
	return m.paint(bold, left) + strings.Repeat(" ", gap) + m.paint(color, state)
}

// bottomLine returns the last line: the keys that can be pressed, or the filter
// while it is being typed.
func (m *model) bottomLine() string {
	if m.typing {
		return m.paint(highlight, cut("/"+render.Safe(m.filter)+"▏", m.width))
	}
	var keys []string
	switch {
	case m.historyProblem != "":
		keys = []string{m.historyProblem, "esc back", "q quit"}
	case m.revision != 0 && m.historyIndex() < 0:
		keys = []string{"reading the history…", "esc back", "q quit"}
	case m.revision != 0:
		keys = []string{"←→ step", "end live", "esc back", "↑↓ scroll", "? help", "q quit"}
	case m.opened != "":
		keys = []string{"← history", "esc all lists", "↑↓ scroll", "? help", "q quit"}
	default:
		keys = []string{"↑↓ select", "enter open", "/ filter", "? help", "q quit"}
	}
	if m.filter != "" && m.opened == "" {
		keys = append([]string{"filter “" + render.Safe(m.filter) + "”", "esc clears"}, keys...)
	}
	if m.help {
		keys = []string{"j k like ↓ ↑", "g first", "pgup pgdn", "← → history", "end l live", "^L redraw", "^Z suspend", "q ^C quit"}
	}
	return m.paint(dim, join(m.width, keys...))
}

// box draws a list in at most height lines including the borders, from row start
// on; start -1 keeps the current item in sight. height is at least 3. marks, if
// not nil, are written before the rows.
func (m *model) box(s todo.Snapshot, title string, height, start int, titleColor string, marks []string) []string {
	indent := ""
	if marks != nil {
		indent = strings.Repeat(" ", markWidth)
	}
	width := m.width - len(indent)
	drawn := render.Box(s, render.BoxOptions{Width: width, Color: m.color, Title: title})
	lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
	top, rows, bottom := lines[0], lines[1:len(lines)-1], lines[len(lines)-1]
	for i, mark := range marks {
		rows[i] = mark + rows[i]
	}
	if start < 0 {
		start = focusRow(s) - (height-2)/2
	}
	out := []string{indent + m.paint(titleColor, top)}
	out = append(out, visibleRows(rows, height-2, start, func(n int, where string) string {
		text := pad(cut(fmt.Sprintf("… +%d more %s", n, where), width-4), width-4)
		return indent + "│ " + m.paint(dim, text) + " │"
	})...)
	return append(out, indent+bottom)
}

// visibleRows returns height rows from start on; all rows if they fit or height
// is below 1. Where rows are left out above or below, and there is space for it,
// it replaces the outermost row with more's text about their number.
func visibleRows(rows []string, height, start int, more func(n int, where string) string) []string {
	if len(rows) <= height || height < 1 {
		return rows
	}
	start = min(max(start, 0), len(rows)-height)
	out := slices.Clone(rows[start : start+height])
	if start > 0 && height > 2 {
		out[0] = more(start+1, "above")
	}
	if below := len(rows) - start - height; below > 0 && height > 1 {
		out[height-1] = more(below+1, "below")
	}
	return out
}

// focusRow returns the index of the row to keep in sight: the current item, else
// the first that is not settled, else the last.
func focusRow(s todo.Snapshot) int {
	current, ok := s.Current()
	for i, item := range s.Items {
		if ok && item.ID == current.ID || !ok && !item.Status.Settled() {
			return i
		}
	}
	return max(len(s.Items)-1, 0)
}
