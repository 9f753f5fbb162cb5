package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
)

// Columns of a table of lists are at most this wide. In a table that is too narrow
// for all of them, the title is cut first, down to minTitle, then columns are left
// out, and then the title is cut down to leastTitle.
const (
	maxTitle   = 60 // where nothing limits the table
	minTitle   = 20
	leastTitle = 10
	maxProject = 20
	maxClient  = 20
	maxNext    = 30
	shortID    = 8
)

// column is one column of a table of lists.
type column struct {
	head string
	max  int // widest; 0 is as wide as its cells
	// leave is the order in which columns are left out of a table that is too
	// narrow; 0 is never.
	leave int
	cell  func(todo.Snapshot) string

	cells []string // with the head
	width int
}

// Lists returns a table with one row per list, in the order of snaps: title,
// progress, state, age, project, client and the beginning of the id, as long as
// it must be to tell the lists apart. An archived list has that in place of its
// state. Where a list was put away for another one, a column has the title of that,
// which is among snaps or others. Lines are at most width cells wide; 0 or less means
// no limit.
func Lists(snaps []todo.Snapshot, states map[string]todo.State, now time.Time, width int, others ...todo.Snapshot) string {
	if len(snaps) == 0 {
		return "No lists\n"
	}
	id := idLength(snaps)
	columns := []column{
		{head: "TITLE", cell: ListTitle},
		{head: "DONE", cell: done},
		{head: "STATE", cell: func(s todo.Snapshot) string { return StateWord(s, states[s.List.ID]) }},
		{head: "UPDATED", leave: 3, cell: func(s todo.Snapshot) string { return When(s.Updated, now) }},
		{head: "PROJECT", max: maxProject, leave: 2, cell: func(s todo.Snapshot) string { return cmp.Or(Safe(s.List.Project()), "-") }},
		{head: "CLIENT", max: maxClient, leave: 1, cell: func(s todo.Snapshot) string { return cmp.Or(Client(account.Client(s)), "-") }},
		{head: "ID", cell: func(s todo.Snapshot) string { return Safe(s.List.ID[:min(id, len(s.List.ID))]) }},
	}
	if slices.ContainsFunc(snaps, func(s todo.Snapshot) bool { return s.ReplacedBy != "" }) {
		columns = slices.Insert(columns, 3, column{head: "REPLACED BY", max: maxNext, leave: 1, cell: func(s todo.Snapshot) string {
			return cmp.Or(replacing(s, append(slices.Clip(snaps), others...)), "-")
		}})
	}
	return table(columns, snaps, width)
}

// done returns how many items of a list are done: "1/3", and "-" of one without items.
func done(s todo.Snapshot) string {
	if len(s.Items) == 0 {
		return "-"
	}
	n := s.Progress()
	return fmt.Sprintf("%d/%d", n.Done, n.Total)
}

// replacing returns the title of the list for which one was put away, or the beginning
// of its id where it is not among lists; empty when it was not put away for another.
func replacing(s todo.Snapshot, lists []todo.Snapshot) string {
	for _, l := range lists {
		if l.List.ID == s.ReplacedBy {
			return ListTitle(l)
		}
	}
	return Safe(s.ReplacedBy[:min(shortID, len(s.ReplacedBy))])
}

// PutAway says of a list that was put away for another one which that is, by its title
// if it is among lists; empty for any other list.
func PutAway(s todo.Snapshot, lists ...todo.Snapshot) string {
	if s.ReplacedBy == "" {
		return ""
	}
	return "replaced by “" + replacing(s, lists) + "”"
}

// StateWord returns how a list stands, in one word or two: its state, or
// "archived" when it was put away.
func StateWord(s todo.Snapshot, state todo.State) string {
	if s.Archived {
		return "archived"
	}
	return string(state)
}

// ShortID returns as much of a list's id as people are shown; commands accept it.
func ShortID(s todo.Snapshot) string { return Safe(s.List.ID[:min(shortID, len(s.List.ID))]) }

// idLength returns how much of the ids tells the lists apart, shortID at least.
func idLength(snaps []todo.Snapshot) int {
	for n := shortID; ; n++ {
		seen, longest := make(map[string]bool), 0
		for _, s := range snaps {
			longest = max(longest, len(s.List.ID))
			seen[s.List.ID[:min(n, len(s.List.ID))]] = true
		}
		if len(seen) == len(snaps) || n >= longest {
			return n
		}
	}
}

// table draws a table whose first column has what the others leave of the width.
func table(columns []column, snaps []todo.Snapshot, width int) string {
	for i := range columns {
		c := &columns[i]
		c.cells = []string{c.head}
		for _, s := range snaps {
			c.cells = append(c.cells, c.cell(s))
		}
		for _, text := range c.cells {
			c.width = max(c.width, Cells(text))
		}
		if c.max > 0 {
			c.width = min(c.width, c.max)
		}
	}
	title := &columns[0]
	if width <= 0 {
		title.width = min(title.width, maxTitle)
		return lines(columns, len(snaps))
	}
	others := func() (n int) {
		for _, c := range columns[1:] {
			n += 2 + c.width
		}
		return n
	}
	for leave := 1; leave <= 3 && others()+min(title.width, minTitle) > width; leave++ {
		columns = slices.DeleteFunc(columns, func(c column) bool { return c.leave == leave })
	}
	title.width = max(min(title.width, width-others()), min(title.width, leastTitle))
	var b strings.Builder
	for line := range strings.Lines(lines(columns, len(snaps))) {
		// without "…", so that the end of an id can be copied
		b.WriteString(displaywidth.TruncateString(strings.TrimSuffix(line, "\n"), width, "") + "\n")
	}
	return b.String()
}

// lines draws the head of a table and so many rows.
func lines(columns []column, rows int) string {
	var b strings.Builder
	for row := range rows + 1 {
		var parts []string
		for _, c := range columns {
			parts = append(parts, Pad(Cut(c.cells[row], c.width), c.width))
		}
		b.WriteString(strings.TrimRight(strings.Join(parts, "  "), " ") + "\n")
	}
	return b.String()
}
