package watch

import (
	"fmt"
	"slices"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// An entry can shrink to minBoxHeight lines for its box, that is three rows and
// the borders, and minSubLines lines for its sub-agents' lists.
const (
	minBoxHeight = 5
	minSubLines  = 2
)

// overviewLines draws as many lists as fit into height lines, one below the
// other, the last changed first.
func (m *model) overviewLines(height int) []string {
	entries := m.entries()
	switch {
	case len(entries) == 0 && m.filter != "":
		return m.message("No list has “" + render.Safe(m.filter) + "” in it.")
	case len(entries) == 0:
		return m.message("Nothing is open.", "An agent begins a list by calling its todo tool; it shows up here as it moves.")
	}
	from, heights := m.chooseEntries(entries, height)
	var lines []string
	for i, h := range heights {
		lines = append(lines, m.entryLines(entries[from+i], h)...)
	}
	if rest := len(entries) - len(heights); rest > 0 {
		text := fmt.Sprintf("+%d more", rest)
		if from > 0 {
			text = fmt.Sprintf("+%d more, %d of them above", rest, from)
		}
		lines = append(lines, m.paint(dim, cut("  "+text, m.width)))
	}
	return lines
}

// chooseEntries returns the index of the first entry to draw, and the height of
// each entry drawn. The first is 0, or higher if the selected list would not fit
// otherwise.
func (m *model) chooseEntries(entries []entry, height int) (from int, heights []int) {
	selectedIndex := max(slices.IndexFunc(entries, func(e entry) bool { return e.contains(m.selected) }), 0)
	for from = 0; ; from++ {
		heights = allocateHeights(entries[from:], height, from > 0)
		if from+len(heights) > selectedIndex || from == selectedIndex {
			return from, heights
		}
		if selectedIndex-from > height { // too many to fit with the selected one: skip ahead
			from = selectedIndex - height
		}
	}
}

// allocateHeights returns the heights of the entries that fit into height lines,
// from the first on. Each gets its minimum; the lines that remain go to unsettled
// lists before settled ones. above is true if entries before these are left out;
// if any are left out, one line stays free for their count.
func allocateHeights(entries []entry, height int, above bool) (heights []int) {
	used := 0
	for i, e := range entries {
		need := e.minHeight()
		available := height - used
		if above || i < len(entries)-1 {
			available--
		}
		if need > available && i > 0 {
			break
		}
		heights = append(heights, max(min(need, available), 3))
		used += need
	}
	spare := height - used
	if above || len(heights) < len(entries) {
		spare--
	}
	for _, settled := range []bool{false, true} { // unsettled lists first
		for i, e := range entries[:len(heights)] {
			if e.main.Settled() == settled {
				grow := min(e.height()-heights[i], max(spare, 0))
				heights[i] += grow
				spare -= grow
			}
		}
	}
	return heights
}

func (e entry) contains(id string) bool {
	return e.main.List.ID == id || slices.ContainsFunc(e.subs, func(s todo.Snapshot) bool { return s.List.ID == id })
}

// boxHeight is the height of an entry's box with all its rows, height that of the
// whole entry, and minHeight the least height it can shrink to.
func (e entry) boxHeight() int { return max(len(e.main.Items), 1) + 2 }
func (e entry) height() int    { return e.boxHeight() + len(e.subs) }
func (e entry) minHeight() int {
	return min(e.boxHeight(), minBoxHeight) + min(len(e.subs), minSubLines)
}

// entryLines draws a list and, below it, one line for each sub-agent's list, in
// height lines together.
func (m *model) entryLines(e entry, height int) []string {
	subs := m.subLines(e.subs, max(height-min(e.boxHeight(), minBoxHeight), 0))
	color := ""
	if e.main.List.ID == m.selected {
		color = highlight
	}
	return append(m.box(e.main, m.titleLine(e.main), height-len(subs), -1, color, nil), subs...)
}

// titleLine returns the title line of a list: name, progress, how long the
// current item has been running, age, project, writer and revision, as far as
// they fit.
func (m *model) titleLine(s todo.Snapshot) string {
	mark := ""
	if s.List.ID == m.selected && m.opened == "" {
		mark = "▸ "
	}
	return join(m.width-6, mark+listName(s), progress(s), runningFor(s, m.now),
		render.Ago(m.now.Sub(s.Updated)), project(s), writer(s.Writer), fmt.Sprintf("rev %d", s.Revision))
}

// subLines draws sub-agents' lists in at most maxLines lines, including the
// selected one.
func (m *model) subLines(subs []todo.Snapshot, maxLines int) (lines []string) {
	selectedIndex := max(slices.IndexFunc(subs, func(s todo.Snapshot) bool { return s.List.ID == m.selected }), 0)
	start := min(max(selectedIndex-maxLines+1, 0), max(len(subs)-maxLines, 0))
	for i, s := range subs {
		if i < start || i >= start+maxLines {
			continue
		}
		mark, color := "↳ ", dim
		if s.List.ID == m.selected && m.opened == "" {
			mark, color = "↳ ▸ ", highlight
		}
		text := join(m.width-4, mark+listName(s), render.StatusLine(s, m.width), runningFor(s, m.now))
		if i == start+maxLines-1 && maxLines < len(subs) {
			text = join(m.width-4, text, fmt.Sprintf("+%d more", len(subs)-maxLines))
		}
		lines = append(lines, "  "+m.paint(color, text))
	}
	return lines
}
