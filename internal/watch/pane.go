package watch

import "slices"

// row is what a pane shows of one thing, in one or more lines.
type row struct {
	id   string // what the cursor keeps to; empty for a heading, which it skips
	draw func(selected bool) []string
}

// pane is a column of rows with a cursor, which stays where it is on the screen when
// rows come and go.
type pane struct {
	cursor string // the id of a row; empty until there is one
	index  int    // of the cursor's row when it was last moved
	top    int    // the first line shown
	drawn  string // the cursor when the pane was last drawn; empty before
	from   int    // the first line of its row then
}

// near returns a pane that shows some rows above its cursor.
func near(cursor string, above int) pane { return pane{cursor: cursor, drawn: cursor, top: -above} }

// move moves the cursor by delta rows, or to the last there is, and returns the index of its
// row. If the row is gone, the cursor goes to the one that took its place. It returns -1 if
// there is no row for a cursor.
func (p *pane) move(rows []row, delta int) int {
	at, stops := -1, []int(nil) // the rows that the cursor can be on
	for i, r := range rows {
		if r.id != "" && r.id == p.cursor {
			at = len(stops)
		}
		if r.id != "" {
			stops = append(stops, i)
		}
	}
	if len(stops) == 0 {
		p.cursor = ""
		return -1
	}
	if at < 0 {
		at, _ = slices.BinarySearch(stops, p.index)
	}
	p.index = stops[min(max(at+delta, 0), len(stops)-1)]
	p.cursor = rows[p.index].id
	return p.index
}

// lines draws rows in a height, the cursor's row whole if it fits. It scrolls as little as
// possible, and leaves no lines empty while there are rows above.
func (p *pane) lines(rows []row, height int) (lines []string) {
	at, from, to := p.move(rows, 0), 0, 0
	for i, r := range rows {
		start := len(lines)
		lines = append(lines, r.draw(i == at)...)
		if i == at {
			from, to = start, len(lines)
		}
	}
	if p.drawn == p.cursor {
		p.top += from - p.from
	}
	p.drawn, p.from = p.cursor, from
	height = max(height, 0)
	p.top = min(max(p.top, to-height), from, len(lines)-height)
	if p.top == from && at > 0 && rows[at-1].id == "" && to-from < height {
		p.top-- // a row is not shown without its heading at the edge
	}
	p.top = max(p.top, 0)
	return lines[p.top:min(p.top+height, len(lines))]
}
