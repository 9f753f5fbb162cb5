package watch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// SGR parameters of the colours.
const (
	bold      = "1"
	dim       = "2"
	red       = "31"
	green     = "32"
	yellow    = "33"
	highlight = "1;36"
)

// paint colours a text without colours; it returns it unchanged if color is ""
// or colours are off.
func (m *model) paint(color, text string) string {
	if !m.color || text == "" || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func cells(text string) int { return displaywidth.String(text) }

func cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-cells(text), 0))
}

// join joins parts with " · " to at most width cells. It skips empty parts, cuts
// the first of the others if necessary, and leaves out those after it that do not
// fit.
func join(width int, parts ...string) string {
	line := ""
	for _, p := range parts {
		switch {
		case p == "":
		case line == "":
			line = cut(p, width)
		case cells(line+" · "+p) <= width:
			line += " · " + p
		}
	}
	return line
}

// listName returns the agent of a sub-agent's list, and the title of any other.
func listName(s todo.Snapshot) string { return render.Safe(cmp.Or(s.List.Agent, s.Title())) }

// project returns the folder a list is about, or "" if it is also the title.
func project(s todo.Snapshot) string {
	if p := s.List.Project(); p != s.Title() {
		return render.Safe(p)
	}
	return ""
}

func progress(s todo.Snapshot) string {
	n := s.Progress()
	return fmt.Sprintf("%d/%d", n.Done, n.Total)
}

func writer(w todo.Writer) string {
	return strings.Trim(render.Safe(w.Client)+"/"+render.Safe(w.Variant), "/")
}

// runningFor returns how long the current item has been in progress, as
// "running 4m 10s"; "" if there is no current item or its start is unknown.
func runningFor(s todo.Snapshot, now time.Time) string {
	item, ok := s.Current()
	if !ok || item.Started.IsZero() {
		return ""
	}
	return "running " + render.Took(now.Sub(item.Started))
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
