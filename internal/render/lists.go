package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"todo-mcp/internal/todo"
)

// The writer and project columns are at most this wide. In a table that is too
// narrow they and then the id column shrink to their minimum, until minTitle
// cells are left for the title.
const (
	maxWriter  = 32
	maxProject = 20
	minColumn  = 6
	minTitle   = 20
	minID      = 8 // commands accept the beginning of an id in place of the whole
)

// Lists returns a table with one row per list, in the order of snaps: id,
// progress, age, writer, project and title. The title of a sub-agent's list
// follows the agent's name. Lines are at most width cells wide; 0 or less means
// no limit.
func Lists(snaps []todo.Snapshot, now time.Time, width int) string {
	if len(snaps) == 0 {
		return "No lists\n"
	}
	rows := [][]string{{"LIST", "DONE", "UPDATED", "WRITER", "PROJECT", "TITLE"}}
	for _, s := range snaps {
		rows = append(rows, listRow(s, now))
	}
	widths := columnWidths(rows, width)
	var b strings.Builder
	for _, row := range rows {
		row[0] = displaywidth.TruncateString(row[0], widths[0], "") // without "…", so that it can be copied
		for i := range row[:len(row)-1] {
			row[i] = pad(cut(row[i], widths[i]), widths[i])
		}
		line := strings.TrimRight(strings.Join(row, "  "), " ")
		b.WriteString(limit(line, width) + "\n")
	}
	return b.String()
}

func listRow(s todo.Snapshot, now time.Time) []string {
	n := s.Progress()
	title := Safe(s.Title())
	if s.List.Agent != "" {
		title = Safe(s.List.Agent) + ": " + title
	}
	return []string{
		Safe(s.List.ID),
		fmt.Sprintf("%d/%d", n.Done, n.Total),
		Ago(now.Sub(s.Updated)),
		writer(s.Writer),
		cmp.Or(Safe(s.List.Project()), "-"),
		title,
	}
}

// writer returns "client/variant", or the one that is known, or "-".
func writer(w todo.Writer) string {
	text := strings.Trim(Safe(w.Client)+"/"+Safe(w.Variant), "/")
	return cmp.Or(text, "-")
}

// columnWidths returns the widths of the columns in a table of at most width
// cells; 0 or less means no limit. The last column is not cut to its width.
func columnWidths(rows [][]string, width int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cells(cell))
		}
	}
	const writer, project, title = 3, 4, 5
	widths[writer] = min(widths[writer], maxWriter)
	widths[project] = min(widths[project], maxProject)
	if width <= 0 {
		return widths
	}
	excess := 2*(len(widths)-1) - width + min(widths[title], minTitle)
	for _, w := range widths[:title] {
		excess += w
	}
	for _, column := range []struct{ i, minimum int }{{writer, minColumn}, {project, minColumn}, {0, minID}} {
		reduction := min(max(excess, 0), max(widths[column.i]-column.minimum, 0))
		widths[column.i] -= reduction
		excess -= reduction
	}
	return widths
}
