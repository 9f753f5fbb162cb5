package watch

import (
	"fmt"
	"strings"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// viewOpened draws one list large; in history with what the revision changed.
func (m *model) viewOpened(room int) []string {
	s, before, past := m.shown()
	if s.Revision == 0 {
		return m.note("This list is gone.", "Esc shows all lists.")
	}
	title, color, marks, below := m.title(s), "", []string(nil), m.subLines(m.subsOf(s), max(room/4, 1))
	if past {
		title, color, marks = m.pastTitle(s), chosen, m.marks(before, s)
		below = m.changes(before, s, max(room/3, 2))
	}
	height := min(room-len(below), max(len(s.Items), 1)+2)
	return append(m.box(s, title, max(height, 3), m.rowFrom(before, s, past, height), color, marks), below...)
}

func (m *model) subsOf(s todo.Snapshot) []todo.Snapshot {
	for _, e := range m.entries() {
		if e.main.List.ID == s.List.ID {
			return e.subs
		}
	}
	return nil
}

// pastTitle is the line of a revision: which of how many, when, by whom.
func (m *model) pastTitle(s todo.Snapshot) string {
	newest := max(m.lists[m.opened].Revision, s.Revision)
	return join(m.width-6-markWidth, fmt.Sprintf("%s · revision %d of %d", name(s.List), s.Revision, newest),
		s.Updated.In(m.now.Location()).Format("Jan 2 15:04:05"), render.Ago(m.now.Sub(s.Updated)), progress(s), writer(s.Writer))
}

// markWidth is how wide a mark before a row is.
const markWidth = 2

// marks tells for each row whether its item was added or changed.
func (m *model) marks(before, s todo.Snapshot) []string {
	kinds := map[string]todo.DiffKind{}
	for _, d := range todo.Diff(before, s) {
		kinds[d.After.ID] = d.Kind
	}
	out := make([]string, max(len(s.Items), 1))
	for i := range out {
		out[i] = "  "
	}
	for i, item := range s.Items {
		switch kinds[item.ID] {
		case todo.Added:
			out[i] = m.paint(green, "+ ")
		case todo.Changed, todo.Moved:
			out[i] = m.paint(yellow, "~ ")
		}
	}
	return out
}

// changes tells what a revision changed, in a number of lines.
func (m *model) changes(before, s todo.Snapshot, room int) []string {
	told := strings.Split(strings.TrimSuffix(render.Diff(before, s), "\n"), "\n")
	if told[0] == "" {
		told[0] = "nothing changed"
	}
	if before.Revision == 0 && s.Revision > 1 {
		told = []string{"earlier revisions are not kept"}
	}
	more := 0
	if len(told) > room {
		more = len(told) - room + 1
		told = told[:room-1]
	}
	var lines []string
	for _, line := range told {
		lines = append(lines, m.paint(diffColor(line), cut("  "+line, m.width)))
	}
	if more > 0 {
		lines = append(lines, m.paint(dim, cut(fmt.Sprintf("  +%d more", more), m.width)))
	}
	return lines
}

func diffColor(line string) string {
	switch line[:1] {
	case "+":
		return green
	case "-":
		return red
	case "~":
		return yellow
	}
	return dim
}

// rowFrom is the first row to show: where the person scrolled to, else so that
// what a past revision changed first is in sight; -1 leaves it to the box.
func (m *model) rowFrom(before, s todo.Snapshot, past bool, height int) int {
	if m.scroll >= 0 || !past {
		return m.scroll
	}
	for _, d := range todo.Diff(before, s) {
		for i, item := range s.Items {
			if item.ID == d.After.ID {
				return max(i-(height-2)/2, 0)
			}
		}
	}
	return 0
}

// scrollBy moves the rows of the opened list.
func (m *model) scrollBy(by int) {
	s, _, _ := m.shown()
	room := max(m.height-4, 1)
	if m.scroll < 0 {
		m.scroll = min(max(focus(s)-room/2, 0), max(len(s.Items)-room, 0))
	}
	m.scroll = min(max(m.scroll+by, 0), max(len(s.Items)-room, 0))
}
