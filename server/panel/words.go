package panel

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

var unit = regexp.MustCompile(`(\d)([smhd])\b`)

// spaced returns a duration, or how long ago something was, with a narrow space that
// does not break before each unit, as panel.js writes what goes on.
func spaced(text string) string { return unit.ReplaceAllString(text, "$1\u202f$2") }

// dayOf returns the name of a day.
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

// shortPath returns a path with the home folder as people write it.
func shortPath(path string) string { return homeFolder.ReplaceAllString(path, "~$2") }

// statusWord returns what a screen reader says before an item's text.
func statusWord(s todo.Status) string {
	switch s {
	case todo.Completed:
		return "Done"
	case todo.InProgress:
		return "In progress"
	case todo.Failed:
		return "Failed"
	case todo.Cancelled:
		return "Cancelled"
	case todo.Blocked:
		return "Blocked"
	}
	return "To do"
}

// statusVerb returns what was done to an item whose status changed.
func statusVerb(d todo.Difference) string {
	switch d.After.Status {
	case todo.InProgress:
		return "started"
	case todo.Pending:
		return "reopened"
	}
	return string(d.After.Status)
}

// verbs returns what a difference is, in the words of a summary; several when an
// item changed in several ways.
func verbs(d todo.Difference) (out []string) {
	if d.Kind != todo.Changed {
		return []string{string(d.Kind)}
	}
	if d.Before.Status != d.After.Status {
		out = append(out, statusVerb(d))
	}
	if d.Before.Text != d.After.Text {
		out = append(out, "reworded")
	}
	if len(out) == 0 {
		out = append(out, "edited")
	}
	return out
}

// yourVerb returns what a person did to an item, in one word.
func yourVerb(d todo.Difference) string {
	switch words := verbs(d); {
	case words[0] == string(todo.Completed):
		return "ticked"
	case words[0] == "edited":
		return "changed"
	default:
		return words[0]
	}
}

// changes returns what changed from one revision to a later one, in words, and
// how many changes that are. before is the zero Snapshot for a first revision.
func changes(before, after todo.Snapshot) (words string, n int) {
	counts := make(map[string]int)
	for _, d := range todo.Diff(before, after) {
		for _, what := range verbs(d) {
			counts[what]++
			n++
		}
	}
	var parts []string
	for _, what := range []string{"completed", "started", "blocked", "failed", "cancelled", "reopened", "reworded", "edited", "added", "removed", "moved"} {
		if counts[what] > 0 {
			parts = append(parts, fmt.Sprint(counts[what], " ", what))
		}
	}
	for _, set := range []struct {
		is   bool
		what string
	}{
		{before.Revision > 0 && before.GivenTitle != after.GivenTitle, "renamed"},
		{after.Archived && !before.Archived, "archived"},
		{before.Archived && !after.Archived, "taken out of the archive"},
		{before.Deleted && !after.Deleted, "brought back"},
	} {
		if set.is {
			parts = append(parts, set.what)
			n++
		}
	}
	if against := render.AgainstHand(before, after); against != "" {
		parts = append(parts, against)
	}
	if len(parts) == 0 {
		parts = []string{"nothing changed"}
	}
	return strings.Join(parts, ", "), n
}

// count returns a number with its noun: "1 list", "3 lists".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprint(n, " ", noun, "s")
}
