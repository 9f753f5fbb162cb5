package render

import (
	"cmp"
	"strings"

	"todo-mcp/internal/todo"
)

// BoxOptions are the options of [Box].
type BoxOptions struct {
	// Width is the outer width in cells. 0 or less fits the box to its content,
	// up to 100 cells; widths from 1 to 7 are drawn as 8.
	Width int
	// Color adds ANSI colours. Callers set it only for a terminal, and not with
	// NO_COLOR.
	Color bool
	// Title is written into the upper border; empty means "Tasks".
	Title string
	Note  string // follows the title, such as counts
}

const (
	minBox = 8   // least width: borders, a mark and two cells of text
	maxBox = 100 // greatest width of a box that fits its content
)

// Box draws a list for a terminal: a box with one row per item
// (docs/spec/variants.md, Terminal). All lines have the same width.
func Box(s todo.Snapshot, o BoxOptions) string {
	title, note := cmp.Or(Safe(o.Title), "Tasks"), ""
	if o.Note != "" {
		note = " · " + Safe(o.Note)
	}
	rows := boxRows(s)
	width := o.Width
	if width <= 0 {
		width = Cells(title+note) + 6
		for _, r := range rows {
			width = max(width, Cells(r.mark+r.text+r.note)+4)
		}
		width = min(width, maxBox)
	}
	width = max(width, minBox)

	var b strings.Builder
	top := "┌─ " + fit(title, note, width-6) + " "
	b.WriteString(top + fill("─", width-Cells(top)-1) + "┐\n")
	for _, r := range rows {
		b.WriteString(r.line(width, o.Color))
	}
	b.WriteString("└" + fill("─", width-2) + "┘\n")
	return b.String()
}

// boxRow is one row before it is cut to the width of the box.
type boxRow struct{ mark, text, note, color string }

func boxRows(s todo.Snapshot) (rows []boxRow) {
	if len(s.Items) == 0 {
		return []boxRow{{text: "No tasks", color: dim}}
	}
	for _, item := range s.Items {
		look, text := lookOf(item.Status), Safe(item.Title())
		if item.Status == todo.InProgress {
			text = strings.TrimRight(text, ".…") + "..."
		}
		rows = append(rows, boxRow{look.sign + " ", text, notes(s, item), look.color})
	}
	return rows
}

// line draws the row at an outer width. It measures the whole row to compute the
// padding, since characters may combine where its parts meet.
func (r boxRow) line(width int, color bool) string {
	text := r.mark + fit(r.text, r.note, width-4-Cells(r.mark))
	padding := fill(" ", width-Cells("│ "+text+" │"))
	if color {
		text = "\x1b[" + r.color + "m" + text + "\x1b[0m"
	}
	return "│ " + text + padding + " │\n"
}

// fit cuts a text and the note behind it to a width: first the text, down to half
// of the width, and then the note.
func fit(text, note string, width int) string {
	if Cells(text+note) > width {
		text = Cut(text, max(width-Cells(note), width/2))
	}
	return Cut(text+note, width)
}
