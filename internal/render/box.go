package render

import (
	"cmp"
	"strings"

	"todo-mcp/internal/todo"
)

// BoxOptions says how [Box] draws.
type BoxOptions struct {
	// Width is the outer width in cells. 0 or less takes what the list needs,
	// up to 100; widths below 8 draw 8.
	Width int
	// Color writes ANSI colours: only for a terminal, and not with NO_COLOR.
	Color bool
	// Title stands in the upper border; empty is "Tasks".
	Title string
}

const (
	minBox  = 8   // borders, a mark and two cells of text
	maxBox  = 100 // as wide as a box grows by itself
	minText = 6   // what a note must leave of a text
)

// SGR parameters of the colours.
const (
	grey   = "90"
	struck = "9;90"
	yellow = "33"
	red    = "31"
	dim    = "2"
)

// Box draws a list for a terminal: a box with one row an item (VARIANTS.md,
// Terminal). All lines have the same width.
func Box(s todo.Snapshot, o BoxOptions) string {
	title := cmp.Or(Safe(o.Title), "Tasks")
	rows := boxRows(s)
	width := boxWidth(o.Width, title, rows)

	var b strings.Builder
	top := "┌─ " + cut(title, width-6) + " "
	b.WriteString(top + fill("─", width-cells(top)-1) + "┐\n")
	for _, r := range rows {
		b.WriteString(r.line(width, o.Color))
	}
	b.WriteString("└" + fill("─", width-2) + "┘\n")
	return b.String()
}

// boxRow is one row before it is fitted.
type boxRow struct {
	mark, text string
	note       string // behind the text
	brief      string // what stays of a note that has no room
	color      string
}

func boxRows(s todo.Snapshot) []boxRow {
	if len(s.Items) == 0 {
		return []boxRow{{text: "No tasks", color: dim}}
	}
	rows := make([]boxRow, len(s.Items))
	for i, item := range s.Items {
		rows[i] = itemRow(item)
	}
	return rows
}

func itemRow(item todo.Item) boxRow {
	text := Safe(item.Title())
	switch item.Status {
	case todo.Completed:
		return boxRow{mark: "✓ ", text: text, color: grey}
	case todo.InProgress:
		return boxRow{mark: "● ", text: strings.TrimRight(text, ".…"), note: ellipsis, color: yellow}
	case todo.Failed:
		return boxRow{mark: "✗ ", text: text, color: red}
	case todo.Blocked:
		return boxRow{mark: "○ ", text: text, note: blockedNote(item), brief: blockedNote(todo.Item{Status: todo.Blocked}), color: dim}
	case todo.Cancelled:
		return boxRow{mark: "⊘ ", text: text, color: struck}
	}
	return boxRow{mark: "○ ", text: text, color: dim}
}

// ellipsis stands behind what is being done.
const ellipsis = "..."

func boxWidth(wanted int, title string, rows []boxRow) int {
	if wanted > 0 {
		return max(wanted, minBox)
	}
	width := cells(title) + 6
	for _, r := range rows {
		width = max(width, cells(r.mark+r.text+r.note)+4)
	}
	return min(max(width, minBox), maxBox)
}

// line draws the row at an outer width. The padding is measured with the row
// as a whole, since characters may join across the seams.
func (r boxRow) line(width int, color bool) string {
	text := r.mark + r.fit(width-4-cells(r.mark))
	padding := fill(" ", width-cells("│ "+text+" │"))
	if color {
		text = "\x1b[" + r.color + "m" + text + "\x1b[0m"
	}
	return "│ " + text + padding + " │\n"
}

// fit cuts the text to a width. Of a note that has no room the brief form
// stays, as long as some text can stand before it.
func (r boxRow) fit(width int) string {
	if cells(r.text+r.note) <= width {
		return r.text + r.note
	}
	note := r.brief
	if cells(note)+minText > width {
		note = ""
	}
	return cut(r.text, width-cells(note)) + note
}
