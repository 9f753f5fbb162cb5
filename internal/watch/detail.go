package watch

import (
	"fmt"
	"strings"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// openedLines draws the opened list for a body of maxLines lines, with its
// sub-agents' lists below it; a past revision with what it changed instead.
func (m *model) openedLines(maxLines int) []string {
	s, before, past := m.openedSnapshot()
	if s.Revision == 0 {
		return m.message("This list is gone.", "Esc shows all lists.")
	}
	title, color, marks, below := m.titleLine(s), "", []string(nil), m.subLines(m.subsOf(s), max(maxLines/4, 1))
	if past {
		title, color, marks = m.revisionTitleLine(s), highlight, m.marks(before, s)
		below = m.changeLines(before, s, max(maxLines/3, 2))
	}
	height := min(maxLines-len(below), max(len(s.Items), 1)+2)
	return append(m.box(s, title, max(height, 3), m.firstRow(before, s, past, height), color, marks), below...)
}

func (m *model) subsOf(s todo.Snapshot) []todo.Snapshot {
	for _, e := range m.entries() {
		if e.main.List.ID == s.List.ID {
			return e.subs
		}
	}
	return nil
}

// revisionTitleLine returns the title line of a past revision: name, number,
// time, age, progress and writer, as far as they fit.
func (m *model) revisionTitleLine(s todo.Snapshot) string {
	newest := max(m.lists[m.opened].Revision, s.Revision)
	return join(m.width-6-markWidth, fmt.Sprintf("%s · revision %d of %d", listName(s), s.Revision, newest),
		s.Updated.In(m.now.Location()).Format("Jan 2 15:04:05"), render.Ago(m.now.Sub(s.Updated)), progress(s), writer(s.Writer))
}

// markWidth is the width in cells of the mark before a row.
const markWidth = 2

// marks returns the mark before each row: "+ " for an item that was added since
// before, "~ " for one that was changed or moved, else spaces.
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

// changeLines describes what a revision changed, in at most maxLines lines.
func (m *model) changeLines(before, s todo.Snapshot, maxLines int) []string {
	diff := strings.Split(strings.TrimSuffix(render.Diff(before, s), "\n"), "\n")
	if diff[0] == "" {
		diff[0] = "nothing changed"
	}
	if before.Revision == 0 && s.Revision > 1 {
		diff = []string{"earlier revisions are not kept"}
	}
	more := 0
	if len(diff) > maxLines {
		more = len(diff) - maxLines + 1
		diff = diff[:maxLines-1]
	}
	var lines []string
	for _, line := range diff {
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

// firstRow returns the index of the first row to show: the scroll position, or,
// for a past revision that was not scrolled, one that shows the first change.
// -1 lets box choose.
func (m *model) firstRow(before, s todo.Snapshot, past bool, height int) int {
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

// scrollBy scrolls the opened list by delta rows, down if positive.
func (m *model) scrollBy(delta int) {
	s, _, _ := m.openedSnapshot()
	rows := max(m.height-4, 1)
	if m.scroll < 0 {
		m.scroll = min(max(focusRow(s)-rows/2, 0), max(len(s.Items)-rows, 0))
	}
	m.scroll = min(max(m.scroll+delta, 0), max(len(s.Items)-rows, 0))
}
