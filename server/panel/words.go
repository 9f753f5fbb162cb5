package panel

import (
	"cmp"
	"net/url"
	"regexp"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var unit = regexp.MustCompile(`(\d)([smhd])\b`)

// spaced puts a narrow no-break space before each unit of a duration, as panel.js does.
func spaced(text string) string { return unit.ReplaceAllString(text, "$1\u202f$2") }

func dayOf(t, now time.Time) string {
	t = t.In(now.Location())
	switch days := render.DaysAgo(t, now); {
	case days <= 0:
		return "Today"
	case days == 1:
		return "Yesterday"
	case t.Year() == now.Year():
		return t.Format("Monday, 2 January")
	}
	return t.Format("Monday, 2 January 2006")
}

var homeFolder = regexp.MustCompile(`^(/home/[^/]+|/Users/[^/]+|/root)(/|$)`)

// projectOf returns the name of a folder's project, the path to show, and the address of its page.
func projectOf(folder string) (name, path, href string) {
	name = cmp.Or(render.Safe((todo.List{Workspace: folder}).Project()), "No folder")
	return name, render.Safe(homeFolder.ReplaceAllString(folder, "~$2")), "./?project=" + url.QueryEscape(folder)
}

var (
	// statusWords are read by screen readers before an item's text.
	statusWords = map[todo.Status]string{todo.Pending: "To do", todo.InProgress: "In progress", todo.Completed: "Done",
		todo.Failed: "Failed", todo.Cancelled: "Cancelled", todo.Blocked: "Blocked"}
	stateWords = map[todo.State]string{todo.Working: "Working", todo.Idle: "Idle", todo.Waiting: "Waiting for you",
		todo.LeftOpen: "Left open", todo.Away: "Archived", todo.Finished: "Finished", todo.InVain: "Failed"}
	// newStatus has the verbs for a change to a status that differ from its name.
	newStatus = map[todo.Status]string{todo.InProgress: "began", todo.Pending: "reopened"}
)

// verbs returns a verb for each way in which an item changed, of a new status first.
func verbs(d todo.Difference) (out []string) {
	if d.Kind != todo.Changed {
		return []string{string(d.Kind)}
	}
	if d.Before.Status != d.After.Status {
		out = append(out, cmp.Or(newStatus[d.After.Status], string(d.After.Status)))
	}
	if d.Before.Text != d.After.Text {
		out = append(out, "reworded")
	}
	if len(out) == 0 {
		out = append(out, "edited")
	}
	return out
}

// count returns "1 list" or "3 lists".
func count(n int, noun string) string { return render.Count(n, noun, noun+"s") }

// word returns one for 1, else many.
func word(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
