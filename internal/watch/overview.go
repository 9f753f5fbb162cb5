package watch

import (
	"fmt"
	"slices"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// smallest is the height that a box is squeezed to: three rows and borders; and
// fewSubs how many sub-agents' lists stay then.
const (
	smallest = 5
	fewSubs  = 2
)

// viewOverview stacks the lists, newest first, as many as fit.
func (m *model) viewOverview(room int) []string {
	entries := m.entries()
	switch {
	case len(entries) == 0 && m.filter != "":
		return m.note("No list has “" + render.Safe(m.filter) + "” in it.")
	case len(entries) == 0:
		return m.note("Nothing is open.", "An agent begins a list by calling its todo tool; it shows up here as it moves.")
	}
	from, heights := m.fit(entries, room)
	var lines []string
	for i, h := range heights {
		lines = append(lines, m.viewEntry(entries[from+i], h)...)
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

// fit chooses the lists to show, from the first on or so far down that the
// selected one is among them, and how high each may be.
func (m *model) fit(entries []entry, room int) (from int, heights []int) {
	at := max(slices.IndexFunc(entries, func(e entry) bool { return e.has(m.selected) }), 0)
	for from = 0; ; from++ {
		heights = heightsOf(entries[from:], room, from > 0)
		if from+len(heights) > at || from == at {
			return from, heights
		}
		if at-from > room { // none of those can be in sight
			from = at - room
		}
	}
}

// heightsOf gives room to lists: first what each needs at least, then the rest
// from the first on. One line is kept for what is left out, also above.
func heightsOf(entries []entry, room int, above bool) (heights []int) {
	used := 0
	for i, e := range entries {
		least := e.least()
		left := room - used
		if above || i < len(entries)-1 {
			left--
		}
		if least > left && i > 0 {
			break
		}
		heights = append(heights, max(min(least, left), 3))
		used += least
	}
	spare := room - used
	if above || len(heights) < len(entries) {
		spare--
	}
	for _, settled := range []bool{false, true} { // who works comes before who is done
		for i, e := range entries[:len(heights)] {
			if e.main.Settled() == settled {
				more := min(e.height()-heights[i], max(spare, 0))
				heights[i] += more
				spare -= more
			}
		}
	}
	return heights
}

func (e entry) has(id string) bool {
	return e.main.List.ID == id || slices.ContainsFunc(e.subs, func(s todo.Snapshot) bool { return s.List.ID == id })
}

// boxHeight is what the box of an entry takes when nothing is left out, height
// what all of it does, and least what it can be squeezed to.
func (e entry) boxHeight() int { return max(len(e.main.Items), 1) + 2 }
func (e entry) height() int    { return e.boxHeight() + len(e.subs) }
func (e entry) least() int     { return min(e.boxHeight(), smallest) + min(len(e.subs), fewSubs) }

// viewEntry draws a list and, below it, a line for each sub-agent's.
func (m *model) viewEntry(e entry, height int) []string {
	subs := m.subLines(e.subs, max(height-min(e.boxHeight(), smallest), 0))
	color := ""
	if e.main.List.ID == m.selected {
		color = chosen
	}
	return append(m.box(e.main, m.title(e.main), height-len(subs), -1, color, nil), subs...)
}

// title is a list's line: name, progress, time of the current item, age,
// writer, revision; what does not fit is left out.
func (m *model) title(s todo.Snapshot) string {
	mark := ""
	if s.List.ID == m.selected && m.opened == "" {
		mark = "▸ "
	}
	return join(m.width-6, mark+name(s.List), progress(s), running(s, m.now),
		render.Ago(m.now.Sub(s.Updated)), project(s.List), writer(s.Writer), fmt.Sprintf("rev %d", s.Revision))
}

// subLines draws sub-agents' lists in a number of lines, the selected one among
// them.
func (m *model) subLines(subs []todo.Snapshot, room int) (lines []string) {
	at := max(slices.IndexFunc(subs, func(s todo.Snapshot) bool { return s.List.ID == m.selected }), 0)
	start := min(max(at-room+1, 0), max(len(subs)-room, 0))
	for i, s := range subs {
		if i < start || i >= start+room {
			continue
		}
		mark, color := "↳ ", dim
		if s.List.ID == m.selected && m.opened == "" {
			mark, color = "↳ ▸ ", chosen
		}
		text := join(m.width-4, mark+name(s.List), render.StatusLine(s, m.width), running(s, m.now))
		if i == start+room-1 && room < len(subs) {
			text = join(m.width-4, text, fmt.Sprintf("+%d more", len(subs)-room))
		}
		lines = append(lines, "  "+m.paint(color, text))
	}
	return lines
}
