package render

import (
	"cmp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// minBox and maxBox are the least and the greatest width of a box.
const minBox, maxBox = 8, 100

// Box draws a list as the command TodoWrite shows it in a terminal of a width in cells
// (docs/spec/variants.md C5): a box with one row per item. Its border holds a title, "Tasks" if
// that is empty. All lines have the same width. Callers set color only for a terminal, and not
// with NO_COLOR.
func Box(s todo.Snapshot, title string, width int, color bool) string {
	width = min(max(width, minBox), maxBox)
	top := "┌─ " + Cut(cmp.Or(Safe(title), "Tasks"), width-6) + " "
	lines := []string{top + strings.Repeat("─", max(width-Cells(top)-1, 0)) + "┐\n"}
	row := func(colour, mark, text, note string) {
		// A text gives way to the note behind it, down to half of the width.
		if room := width - 4 - Cells(mark); Cells(text+note) > room {
			text = Cut(Cut(text, max(room-Cells(note), room/2))+note, room)
		} else {
			text += note
		}
		// The whole is measured: characters may combine where its parts meet.
		text = mark + text
		padding := strings.Repeat(" ", max(width-Cells("│ "+text+" │"), 0))
		if color {
			text = "\x1b[" + colour + "m" + text + "\x1b[0m"
		}
		lines = append(lines, "│ "+text+padding+" │\n")
	}
	for _, item := range s.Items {
		look, text := looks[item.Status], Safe(item.Title())
		if item.Status == todo.InProgress {
			text = strings.TrimRight(text, ".…") + "..."
		}
		row(look.color, look.sign+" ", text, notes(s, item))
	}
	if len(s.Items) == 0 {
		row(looks[todo.Pending].color, "", "No tasks", "")
	}
	return strings.Join(lines, "") + "└" + strings.Repeat("─", width-2) + "┘\n"
}
