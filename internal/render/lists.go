package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// The writer's column gives way, from maxWriter to minWriter cells, so that
// minAbout cells are left for what a list is about.
const (
	maxWriter = 32
	minWriter = 6
	minAbout  = 20
)

// Lists is a table with a row a list, in the order given: id, progress, age,
// writer, and what it is about (its name, sub-agent or workspace, else what it
// is at). Lines are at most width cells wide; 0 or less is no limit.
func Lists(snaps []todo.Snapshot, now time.Time, width int) string {
	if len(snaps) == 0 {
		return "No lists\n"
	}
	rows := [][]string{{"LIST", "DONE", "UPDATED", "WRITER", "ABOUT"}}
	for _, s := range snaps {
		rows = append(rows, listRow(s, now))
	}
	widths := columns(rows, width)
	var b strings.Builder
	for _, row := range rows {
		for i := range row[:len(row)-1] {
			row[i] = pad(cut(row[i], widths[i]), widths[i])
		}
		line := strings.TrimRight(strings.Join(row, "  "), " ")
		b.WriteString(limit(line, width) + "\n")
	}
	return b.String()
}

func listRow(s todo.Snapshot, now time.Time) []string {
	done, total := progress(s)
	about := label(s.List)
	if about == "" && len(s.Items) > 0 {
		about = standing(s)
	}
	return []string{
		Safe(s.List.ID),
		fmt.Sprintf("%d/%d", done, total),
		Ago(now.Sub(s.Updated)),
		writer(s.Writer),
		Safe(about),
	}
}

// writer is "client/variant", or what is known of it.
func writer(w todo.Writer) string {
	known := strings.Trim(Safe(w.Client)+"/"+Safe(w.Variant), "/")
	return cmp.Or(known, "-")
}

// columns are the widths of the columns in a table of a width.
func columns(rows [][]string, width int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cells(cell))
		}
	}
	const writer, about = 3, 4
	room := maxWriter
	if width > 0 {
		gaps := 2 * (len(widths) - 1)
		room = width - gaps - widths[0] - widths[1] - widths[2] - min(widths[about], minAbout)
	}
	widths[writer] = min(widths[writer], max(room, minWriter), maxWriter)
	return widths
}
