package watch

import (
	"slices"
	"strings"

	"todo-mcp/internal/render"
)

// helpSection is a part of the overlay.
type helpSection struct {
	title string
	rows  [][2]string // keys, what they do
}

// helpSections returns the keys by what they are for.
func (m *model) helpSections() []helpSection {
	sections := []helpSection{{"Showing " + m.sourceName, nil}}
	for _, of := range []struct {
		title string
		table []binding
	}{{"Moving", moving()}, {"Items", editing()}, {"Lists", wholeLists()}, {"History (h)", revisions()}, {"Everywhere", looking()}} {
		section := helpSection{title: of.title}
		for _, b := range of.table {
			row := [2]string{b.names, b.help}
			if b.names != "" && !slices.Contains(section.rows, row) {
				section.rows = append(section.rows, row)
			}
		}
		sections = append(sections, section)
	}
	return append(sections, helpSection{"Signs", [][2]string{
		{"◐ ‖ ◌", "working, waits for you, idle"}, {"◦ ✓ ✗", "left open, finished, failed"}, {"you", "your change, not seen by the agent"}}})
}

// keysWidth is the width of the column of keys in the overlay.
const keysWidth = 11

// helpLines draws the overlay in a height; it scrolls.
func (m *model) helpLines(height int) []line {
	var texts []string
	width := m.overlayWidth()
	if width >= 2*minColumn {
		width = width/2 - 1
	}
	for i, s := range m.helpSections() {
		if i > 0 {
			texts = append(texts, "")
		}
		texts = append(texts, paint(bold, render.Cut(s.title, width)))
		for _, row := range s.rows {
			texts = append(texts, paint(accent, render.Pad(row[0], keysWidth))+render.Cut(row[1], width-keysWidth))
		}
	}
	inside := max(height-2, 0)
	if m.overlayWidth() >= 2*minColumn {
		texts = m.inColumns(texts)
	}
	m.helpTop = min(max(m.helpTop, 0), max(len(texts)-inside, 0))
	texts = texts[m.helpTop:]
	for i := range texts {
		texts[i] = " " + texts[i]
	}
	boxed := framed("Keys", true, m.overlayWidth()+4, min(len(texts)+2, height), texts)
	margin := strings.Repeat(" ", max((m.width-m.overlayWidth()-4)/2, 0))
	for i := range boxed {
		boxed[i] = margin + boxed[i]
	}
	return single(boxed)
}

// minColumn is the width from which on the overlay has a second column.
const minColumn = 48

func (m *model) overlayWidth() int { return max(min(m.width-4, 2*minColumn+2), 1) }

// inColumns puts the second half of the texts beside the first, split between
// the two sections that are nearest to the middle.
func (m *model) inColumns(texts []string) []string {
	split, half := len(texts), len(texts)/2
	for i, t := range texts {
		if t == "" && max(i-half, half-i) < max(split-half, half-split) {
			split = i
		}
	}
	left, right := texts[:split], texts[min(split+1, len(texts)):]
	right = append([]string{"", ""}, right...)
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		column := m.overlayWidth()/2 + 1
		out[i] = l + strings.Repeat(" ", max(column-paintedCells(l), 1)) + r
	}
	return out
}

func (m *model) pressHelp(k key) {
	switch k {
	case keyDown, "j":
		m.helpTop++
	case keyUp, "k":
		m.helpTop--
	case keyPageDown, " ":
		m.helpTop += max(m.height/2, 1)
	case keyPageUp:
		m.helpTop -= max(m.height/2, 1)
	default:
		m.help = false
	}
}
