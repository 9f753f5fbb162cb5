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
	top    int    // the first row shown
	index  int    // where the cursor's row was when it was last placed
}

// place returns the index of the cursor's row, and moves top as far as that row has moved.
// If the row is gone, the cursor goes to the one that took its place. It returns -1 if
// there is no row for a cursor.
func (p *pane) place(rows []row) int {
	for i, r := range rows {
		if r.id != "" && r.id == p.cursor {
			p.top += i - p.index
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

// lines draws rows in a height, the cursor's row whole. more is how many rows after them
// are not shown whole.
func (p *pane) lines(rows []row, height int) (lines []string, more int) {
	at := p.place(rows)
	drawn := make([][]string, len(rows))
	draw := func(i int) []string {
		if drawn[i] == nil {
			drawn[i] = rows[i].draw(i == at)
		}
		return drawn[i]
	}
	p.top = window(p.top, at, len(rows), height, func(i int) int { return len(draw(i)) })
	if p.top == at && at > 0 && rows[at-1].id == "" && len(draw(at)) < height {
		p.top-- // a row is not shown without its heading at the edge
	}
	whole := p.top + 1
	for i := p.top; i < len(rows) && len(lines) < height; i++ {
		lines = append(lines, draw(i)...)
		if len(lines) <= height {
			whole = i + 1
		}
	}
	return lines[:min(len(lines), max(height, 0))], len(rows) - whole
}

// window returns the first of n rows to show so that row at is whole in height lines. It
// moves top as little as possible, and leaves no lines empty at the end while there are
// rows above. heights returns how many lines a row takes.
func window(top, at, n, height int, heights func(int) int) int {
	if n == 0 || height < 1 {
		return 0
	}
	fits := func(from, to int) bool {
		left := height
		for i := from; i <= to && left >= 0; i++ {
			left -= heights(i)
		}
		return left >= 0
	}
	at = min(max(at, 0), n-1)
	top = min(max(top, at-height+1, 0), at)
	for top < at && !fits(top, at) {
		top++
	}
	for top > 0 && fits(top-1, n-1) {
		top--
	}
	return top
}
