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
	// Note follows the title, such as counts. The title is cut for it, as long as
	// anything of the title is left.
	Note string
}

const (
	minBox  = 8   // least width: borders, a mark and two cells of text
	maxBox  = 100 // greatest width of a box that fits its content
	minText = 6   // cells left for the text when a row keeps its short note
)

// Box draws a list for a terminal: a box with one row per item
// (docs/spec/variants.md, Terminal). All lines have the same width.
func Box(s todo.Snapshot, o BoxOptions) string {
	title, note := cmp.Or(Safe(o.Title), "Tasks"), ""
	if o.Note != "" {
		note = " · " + Safe(o.Note)
	}
	rows := boxRows(s)
	width := boxWidth(o.Width, title+note, rows)
	if room := width - 6 - Cells(note); room > 0 {
		title = Cut(title, room)
	}
	title += note

	var b strings.Builder
	top := "┌─ " + Cut(title, width-6) + " "
	b.WriteString(top + fill("─", width-Cells(top)-1) + "┐\n")
	for _, r := range rows {
		b.WriteString(r.line(width, o.Color))
	}
	b.WriteString("└" + fill("─", width-2) + "┘\n")
	return b.String()
}

// boxRow is one row before it is cut to the width of the box.
type boxRow struct {
	mark, text string
	note       string // follows the text
	shortNote  string // replaces note when the row is too narrow for it
	color      string
}

func boxRows(s todo.Snapshot) []boxRow {
	if len(s.Items) == 0 {
		return []boxRow{{text: "No tasks", color: dim}}
	}
	rows := make([]boxRow, len(s.Items))
	for i, item := range s.Items {
		look, notes := lookOf(item.Status), notes(s, item)
		r := boxRow{look.sign + " ", Safe(item.Title()), blockedNote(item) + notes, "", look.color}
		switch item.Status {
		case todo.InProgress:
			r.text, r.note = strings.TrimRight(r.text, ".…"), "..."+notes
			if notes != "" {
				r.shortNote = "..."
			}
		case todo.Blocked:
			r.shortNote = " (blocked)"
		}
		rows[i] = r
	}
	return rows
}

func boxWidth(wanted int, title string, rows []boxRow) int {
	if wanted > 0 {
		return max(wanted, minBox)
	}
	width := Cells(title) + 6
	for _, r := range rows {
		width = max(width, Cells(r.mark+r.text+r.note)+4)
	}
	return min(max(width, minBox), maxBox)
}

// line draws the row at an outer width. It measures the whole row to compute the
// padding, since characters may combine where its parts meet.
func (r boxRow) line(width int, color bool) string {
	text := r.mark + r.fit(width-4-Cells(r.mark))
	padding := fill(" ", width-Cells("│ "+text+" │"))
	if color {
		text = "\x1b[" + r.color + "m" + text + "\x1b[0m"
	}
	return "│ " + text + padding + " │\n"
}

// fit cuts the text and its note to a width. If both do not fit, it replaces the
// note with its short form, or drops it when that would leave fewer than minText
// cells for the text.
func (r boxRow) fit(width int) string {
	if Cells(r.text+r.note) <= width {
		return r.text + r.note
	}
	note := r.shortNote
	if Cells(note)+minText > width {
		note = ""
	}
	return Cut(r.text, width-Cells(note)) + note
}
