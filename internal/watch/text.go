package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

func cells(text string) int { return displaywidth.String(text) }

// cut shortens a text to a width and ends it with "…" if anything was cut.
func cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-cells(text), 0))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-cells(text), 0)) + text
}

// join joins parts with " · " to at most width cells. It skips empty parts, cuts
// the first of the others if necessary, and leaves out those after it that do not
// fit.
func join(width int, parts ...string) string { return joinWith(" · ", width, parts...) }

func joinWith(separator string, width int, parts ...string) string {
	line := ""
	for _, p := range parts {
		switch {
		case p == "":
		case line == "":
			line = cut(p, width)
		case cells(line+separator+p) <= width:
			line += separator + p
		}
	}
	return line
}

// maxWrapped is how many lines the text of an item takes unless it is shown whole.
const maxWrapped = 3

// wrap breaks a text into lines of a width, at spaces where there are any. The
// last of at most limit lines is cut.
func wrap(text string, width, limit int) []string {
	width = max(width, 1)
	var lines []string
	for cells(text) > width && len(lines) < limit-1 {
		head := displaywidth.TruncateString(text, width, "")
		if head == "" {
			break // a character wider than the line
		}
		if i := strings.LastIndexByte(head, ' '); i > 0 && text[len(head)] != ' ' {
			head = head[:i]
		}
		lines = append(lines, strings.TrimRight(head, " "))
		text = strings.TrimLeft(text[len(head):], " ")
	}
	return append(lines, cut(text, width))
}

// listName returns the agent of a sub-agent's list, and the title of any other.
func listName(s todo.Snapshot) string {
	if s.List.Agent != "" {
		return render.Safe(s.List.Agent)
	}
	return render.Safe(s.Title())
}

func progress(s todo.Snapshot) string {
	n := s.Progress()
	return fmt.Sprintf("%d/%d", n.Done, n.Total)
}

// ago says how long ago something happened: "4 s ago", "3 m ago".
func ago(d time.Duration) string {
	if d = max(d, 0); d < time.Minute {
		return fmt.Sprintf("%ds ago", d/time.Second)
	}
	return render.Ago(d)
}

// rest is how long a list that nobody works on has rested, in its largest unit:
// "2h".
func rest(d time.Duration) string { return strings.TrimSuffix(ago(d), " ago") }

// rootCause returns the safe text of the innermost wrapped error: "connection
// refused".
func rootCause(err error) string {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return render.Safe(err.Error())
		}
		err = inner.Unwrap()
	}
}
