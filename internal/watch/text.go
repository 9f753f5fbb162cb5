package watch

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-render.Cells(text), 0)) + text
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
			line = render.Cut(p, width)
		case render.Cells(line+separator+p) <= width:
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
	for render.Cells(text) > width && len(lines) < limit-1 {
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
	return append(lines, render.Cut(text, width))
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
