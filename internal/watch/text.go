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
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	chosen = "1;36"
)

// paint colours a text that holds no colours yet.
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

// join puts parts side by side as far as they fit; the first is cut rather than
// left out. Empty parts do not count.
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

// name is what people tell a list by; never empty.
func name(l todo.List) string {
	folder := strings.TrimRight(l.Workspace, `/\`)
	folder = folder[strings.LastIndexAny(folder, `/\`)+1:]
	id := l.ID
	if len(id) > 8 {
		id = id[:8]
	}
	return render.Safe(cmp.Or(l.Name, l.Agent, folder, id, "Tasks"))
}

func progress(s todo.Snapshot) string {
	counts := s.Counts()
	return fmt.Sprintf("%d/%d", counts[todo.Completed], len(s.Items)-counts[todo.Cancelled])
}

func writer(w todo.Writer) string {
	return strings.Trim(render.Safe(w.Client)+"/"+render.Safe(w.Variant), "/")
}

// running is how long the current item has been; empty when none is.
func running(s todo.Snapshot, now time.Time) string {
	item, ok := s.Current()
	if !ok || item.Started.IsZero() {
		return ""
	}
	return "running " + render.Took(now.Sub(item.Started))
}

// cause is the innermost of an error: "connection refused".
func cause(err error) string {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return render.Safe(err.Error())
		}
		err = inner.Unwrap()
	}
}
