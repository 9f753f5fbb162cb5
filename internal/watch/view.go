package watch

import (
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// view draws the model: at most height lines, none wider than the terminal.
func (m *model) view() []string {
	var body []string
	room := m.height - 2
	switch {
	case !m.loaded:
		body = []string{"", m.paint(dim, cut("  Waiting for "+m.where, m.width))}
	case m.opened != "":
		body = m.viewOpened(room)
	case m.wanted != "":
		body = m.note("No list is called “"+render.Safe(m.wanted)+"” yet.", "It shows up here as soon as there is one; Esc shows all lists.")
	default:
		body = m.viewOverview(room)
	}
	lines := make([]string, 0, max(m.height, 2))
	lines = append(lines, m.topLine())
	lines = append(lines, body[:min(len(body), max(room, 0))]...)
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines, m.bottomLine())
	return lines[:min(len(lines), max(m.height, 1))]
}

// note is what stands where there is no list.
func (m *model) note(text ...string) []string {
	lines := []string{""}
	for _, t := range text {
		lines = append(lines, cut("  "+t, m.width))
	}
	return lines
}

// topLine says what is followed on the left and how that goes on the right.
func (m *model) topLine() string {
	state, color := "● live", green
	switch {
	case m.lost != nil:
		state, color = "◌ reconnecting… ("+cause(m.lost)+")", yellow
	case !m.loaded:
		state, color = "◌ connecting…", yellow
	}
	state = cut(state, m.width)
	left := cut("todo-mcp · "+m.where, m.width-cells(state)-2)
	gap := max(m.width-cells(left)-cells(state), 0)
	return m.paint(bold, left) + strings.Repeat(" ", gap) + m.paint(color, state)
}

// bottomLine tells what can be done, or takes the filter.
func (m *model) bottomLine() string {
	if m.typing {
		return m.paint(chosen, cut("/"+render.Safe(m.filter)+"▏", m.width))
	}
	var keys []string
	switch {
	case m.trouble != "":
		keys = []string{m.trouble, "esc back", "q quit"}
	case m.revision != 0 && m.place() < 0:
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

// box draws a list in a number of lines, borders with it, from a row on; -1
// lets the row be where things happen. marks, if any, stand before the rows.
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
		start = focus(s) - (height-2)/2
	}
	out := []string{indent + m.paint(titleColor, top)}
	out = append(out, window(rows, height-2, start, func(n int, where string) string {
		text := pad(cut(fmt.Sprintf("… +%d more %s", n, where), width-4), width-4)
		return indent + "│ " + m.paint(dim, text) + " │"
	})...)
	return append(out, indent+bottom)
}

// window is a number of rows from start on; where others are left out, a row
// of more's says how many.
func window(rows []string, room, start int, more func(n int, where string) string) []string {
	if len(rows) <= room || room < 1 {
		return rows
	}
	start = min(max(start, 0), len(rows)-room)
	out := slices.Clone(rows[start : start+room])
	if start > 0 && room > 2 {
		out[0] = more(start+1, "above")
	}
	if below := len(rows) - start - room; below > 0 && room > 1 {
		out[room-1] = more(below+1, "below")
	}
	return out
}

// focus is the row to keep in sight: the current item, else the next, else the
// last.
func focus(s todo.Snapshot) int {
	current, ok := s.Current()
	for i, item := range s.Items {
		if ok && item.ID == current.ID || !ok && !item.Status.Settled() {
			return i
		}
	}
	return max(len(s.Items)-1, 0)
}
