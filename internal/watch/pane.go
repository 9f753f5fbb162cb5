package watch

// row is what a pane shows of one thing, in one or more lines.
type row struct {
	id   string // what the cursor keeps to; empty for a heading, which it skips
	draw func(selected bool) []string
}

// pane is a column of rows with a cursor, which stays where it is on the screen when
// rows come and go.
type pane struct {
	cursor string // the id of a row; empty until there is one
	index  int    // where the cursor's row was when it was last placed
	top    int    // the first line shown
	drawn  string // the cursor when the pane was last drawn; empty before
	from   int    // the first line of its row then
}

// near returns a pane that shows some rows above its cursor.
func near(cursor string, above int) pane { return pane{cursor: cursor, drawn: cursor, top: -above} }

// place returns the index of the cursor's row. If the row is gone, the cursor goes to the
// one that took its place. It returns -1 if there is no row for a cursor.
func (p *pane) place(rows []row) int {
	for i, r := range rows {
		if r.id != "" && r.id == p.cursor {
			p.index = i
			return i
		}
	}
	at := min(max(p.index, 0), len(rows)-1)
	if next := selectable(rows, at, 1); next >= 0 {
		return p.set(rows, next)
	}
	return p.set(rows, selectable(rows, at, -1))
}

// set puts the cursor onto a row; -1 is none.
func (p *pane) set(rows []row, at int) int {
	p.cursor, p.index = "", max(at, 0)
	if at >= 0 {
		p.cursor = rows[at].id
	}
	return at
}

// selectable returns the first row from an index on that the cursor can be on; -1 if
// there is none.
func selectable(rows []row, from, step int) int {
	for i := from; i >= 0 && i < len(rows); i += step {
		if rows[i].id != "" {
			return i
		}
	}
	return -1
}

// move moves the cursor by delta rows, or to the last there is.
func (p *pane) move(rows []row, delta int) {
	step := 1
	if delta < 0 {
		step = -1
	}
	at := p.place(rows)
	for next := at; next >= 0 && delta != 0; delta -= step {
		if next = selectable(rows, at+step, step); next < 0 {
			break
		}
		at = next
	}
	p.set(rows, at)
}

// lines draws rows in a height, the cursor's row whole if it fits. It scrolls as little as
// possible, and leaves no lines empty while there are rows above.
func (p *pane) lines(rows []row, height int) (lines []string) {
	at, from, to := p.place(rows), 0, 0
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
