package panel

import (
	"cmp"
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

func shortPath(path string) string { return homeFolder.ReplaceAllString(path, "~$2") }

// statusWord returns what a screen reader says before an item's text.
func statusWord(s todo.Status) string {
	words := map[todo.Status]string{todo.Completed: "Done", todo.Pending: "To do"}
	return cmp.Or(words[s], capital(render.StatusWord(s)))
}

func stateWord(s todo.State) string {
	words := map[todo.State]string{todo.Waiting: "Waiting for you"}
	return cmp.Or(words[s], capital(string(s)))
}

// capital returns a word in ASCII with a capital letter.
func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// verbs returns what a difference is, in the words of a summary; several when an
// item changed in several ways. Of a new status it has what toStatus returns.
func verbs(d todo.Difference, toStatus func(before, after todo.Status) string) (out []string) {
	if d.Kind != todo.Changed {
		return []string{string(d.Kind)}
	}
	if d.Before.Status != d.After.Status {
		out = append(out, toStatus(d.Before.Status, d.After.Status))
	}
	if d.Before.Text != d.After.Text {
		out = append(out, "reworded")
	}
	if len(out) == 0 {
		out = append(out, "edited")
	}
	return out
}

// statusVerb says in one word that an item got a status.
func statusVerb(_, status todo.Status) string {
	words := map[todo.Status]string{todo.InProgress: "started", todo.Pending: "reopened"}
	return cmp.Or(words[status], string(status))
}

// yourVerb returns what a person did to an item, in one word.
func yourVerb(d todo.Difference) string {
	verb := verbs(d, statusVerb)[0]
	return cmp.Or(map[string]string{string(todo.Completed): "ticked", "edited": "changed"}[verb], verb)
}

// changes returns what changed from one revision to a later one, in words, and
// how many changes that are. before is the zero Snapshot for a first revision.
func changes(before, after todo.Snapshot) (words string, n int) {
	counts := make(map[string]int)
	for _, d := range todo.Diff(before, after) {
		for _, what := range verbs(d, statusVerb) {
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
	if before.Revision > 0 {
		besides := render.Besides(before, after)
		parts, n = append(parts, besides...), n+len(besides)
	}
	if against := render.AgainstHand(before, after); against != "" {
		parts = append(parts, against)
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing changed"), n
}

// count returns a number with its noun: "1 list", "3 lists".
func count(n int, noun string) string { return fmt.Sprint(n, " ", word(n, noun, noun+"s")) }

// word returns a word as it stands beside a number.
func word(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
