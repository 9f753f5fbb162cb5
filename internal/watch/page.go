package watch

import (
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// pageLines is how many lines a paragraph of a page may take.
const pageLines = 20

// page is a text over the whole screen, which scrolls.
type page struct {
	title string
	texts []string // painted
	top   int      // the first line shown
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

// showHistory opens the page of a list's revisions, given oldest first and shown newest
// first: when and by whom each was made, what became of a person's, and what changed.
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
