package watch

import (
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// row is an entry of a pane, of one or more lines.
type row struct {
	id   string // empty for a heading, which the cursor skips
	draw func(selected bool) []string
}

// pane is a column of rows. Its cursor stays at its place on the screen when rows come and go.
type pane struct {
	cursor string // id of the selected row; empty without rows
	index  int    // of that row at the last move
	top    int    // first visible line
	drawn  string // the cursor when last drawn
	from   int    // the first line of its row then
}

// near returns a pane with some rows visible above its cursor.
func near(cursor string, above int) pane { return pane{cursor: cursor, drawn: cursor, top: -above} }

// move moves the cursor by delta rows, as far as there are any, and returns the index of its row; -1 without rows.
// If the cursor's row is gone, it first goes to the row at its index.
func (p *pane) move(rows []row, delta int) int {
	at, stops := -1, []int(nil) // stops are the indexes of rows that are no headings
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

// lines draws rows in a height, with the cursor's row whole if it fits. It scrolls as little as possible, and shows
// no blank lines at the end while rows are hidden above.
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
		p.top-- // show the heading above the first row
	}
	p.top = max(p.top, 0)
	return lines[p.top:min(p.top+height, len(lines))]
}

// pageLines limits the lines of a paragraph.
const pageLines = 20

// page is a text that covers the lists and scrolls.
type page struct {
	title string
	texts []string // painted
	top   int      // first visible line
}

func (p *page) add(r role, text string) { p.texts = append(p.texts, paint(r, text)) }

func (p *page) draw(width, height int) []string {
	var lines []string
	for _, t := range p.texts {
		for _, line := range wrap(t, width-4, pageLines) {
			lines = append(lines, " "+line)
		}
	}
	p.top = min(max(p.top, 0), max(len(lines)-max(height-2, 0), 0))
	return framed(p.title, true, width, height, lines[p.top:])
}

func (m *model) showKeys() {
	signs := strings.NewReplacer("PgUp", "PgUp", "Up", "↑", "Down", "↓", "Left", "←", "Right", "→")
	m.page = &page{title: "Keys"}
	for _, section := range []string{"Moving", "Items", "Lists", everywhere} {
		m.page.add(bold, section)
		for _, b := range bindings() {
			if b.section == section && b.help != "" {
				m.page.texts = append(m.page.texts, render.Pad(signs.Replace(b.keys), 14)+b.help)
			}
		}
		m.page.add(plainText, "")
	}
	m.page.add(bold, "Signs")
	m.page.add(plainText, "◐ ‖ ◌         working, waits for you, idle")
	m.page.add(plainText, "◦ ✓ ✗         left open, finished, failed")
	m.page.add(dim, "Showing "+m.sourceName)
}

// showHistory shows a page of revisions, which are given oldest first, with the newest at the top.
func (m *model) showHistory(revisions []todo.Snapshot, err error) {
	if err != nil || len(revisions) == 0 {
		m.say(bad, "The history cannot be read.")
		return
	}
	newest := revisions[len(revisions)-1]
	m.page = &page{title: "History of " + listName(newest)}
	for i, r := range slices.Backward(revisions) {
		var before todo.Snapshot
		if i > 0 {
			before = revisions[i-1]
		}
		head, changes := render.Revision(before, r, m.standings[r.List.ID].Edits, m.now.Location(), m.lists[r.ReplacedBy])
		if i == 0 && r.Revision > 1 {
			changes = []string{"Earlier revisions are not kept."}
		}
		m.page.add(bold, head)
		for _, text := range changes {
			m.page.add(plainText, "  "+text)
		}
		m.page.add(plainText, "")
	}
}
