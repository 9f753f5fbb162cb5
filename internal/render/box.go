package render

import (
	"cmp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// minBox and maxBox limit the width of a box.
const minBox, maxBox = 8, 100

// Box draws a list in a box of a width in cells, as the command TodoWrite does (docs/spec/variants.md C5), with a
// row for each item and a title, by default "Tasks", in its border.
func Box(s todo.Snapshot, title string, width int, color bool) string {
	width = min(max(width, minBox), maxBox)
	top := "┌─ " + Cut(cmp.Or(Safe(title), "Tasks"), width-6) + " "
	lines := []string{top + strings.Repeat("─", max(width-Cells(top)-1, 0)) + "┐\n"}
	row := func(colour, mark, text, note string) {
		// The text is cut before the note, down to half of the width.
		if room := width - 4 - Cells(mark); Cells(text+note) > room {
			text = Cut(Cut(text, max(room-Cells(note), room/2))+note, room)
		} else {
			text += note
		}
		// Measured as a whole, since characters may combine where the parts meet.
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
