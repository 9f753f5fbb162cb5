package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// The columns of writer, project and id give way, from their most to their
// least cells, so that minTitle cells are left for the title.
const (
	maxWriter  = 32
	maxProject = 20
	leastCells = 6
	minTitle   = 20
	leastID    = 8 // the beginning of an id, which commands take for the whole
)

// Lists is a table with a row a list, in the order given: id, progress, age,
// writer, project, and title; a sub-agent's list has the agent before its title.
// Lines are at most width cells wide; 0 or less is no limit.
func Lists(snaps []todo.Snapshot, now time.Time, width int) string {
	if len(snaps) == 0 {
		return "No lists\n"
	}
	rows := [][]string{{"LIST", "DONE", "UPDATED", "WRITER", "PROJECT", "TITLE"}}
	for _, s := range snaps {
		rows = append(rows, listRow(s, now))
	}
	widths := columns(rows, width)
	var b strings.Builder
	for _, row := range rows {
		row[0] = row[0][:min(len(row[0]), widths[0])] // no sign of a cut: it can be copied
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
	title := Safe(s.List.Title())
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

// writer is "client/variant", or what is known of it.
func writer(w todo.Writer) string {
	known := strings.Trim(Safe(w.Client)+"/"+Safe(w.Variant), "/")
	return cmp.Or(known, "-")
}

// columns returns the widths of the columns in a table of a width; 0 or less is
// no limit.
func columns(rows [][]string, width int) []int {
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
	over := 2*(len(widths)-1) - width + min(widths[title], minTitle)
	for _, w := range widths[:title] {
		over += w
	}
	for _, column := range []struct{ i, least int }{{writer, leastCells}, {project, leastCells}, {0, leastID}} {
		less := min(max(over, 0), max(widths[column.i]-column.least, 0))
		widths[column.i] -= less
		over -= less
	}
	return widths
}
