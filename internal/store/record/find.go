package record

import (
	"math"
	"strings"

	"todo-mcp/internal/todo"
)

// Dialect is what the SQL of a [todo.Query] differs in: what selects the newest
// revisions of lists and any revisions, from the rows l of lists and h of history; an
// expression for the list that the conversation of l's parent holds; the table of
// cursors; and below which seq nothing is saved any more, empty where saves are in the
// order of seq.
type Dialect struct{ Newest, Revisions, HeldByParent, Cursors, Settled string }

// Find returns the SQL of a query, with a question mark for each argument.
func (d Dialect) Find(q todo.Query) (sql string, args []any) {
	sql, row := d.Newest, "l"
	var where []string
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Operation != "" {
		// An operation selects one revision; the other conditions apply to it.
		sql, row = d.Revisions, "h"
		add("h.operation = ? AND h.operation <> ''", q.Operation)
	} else if !q.Deleted {
		add("NOT l.deleted")
	}
	switch {
	case q.Principal != nil && q.Parent != "":
		// So the database goes by the parent, which few lists have, and not through all
		// lists of the principal.
		add("l.principal || '' = ?", *q.Principal)
	case q.Principal != nil:
		add("l.principal = ?", *q.Principal)
	}
	if q.Client != "" {
		add("l.client = ?", q.Client)
	}
	if q.Workspace != nil {
		add("l.workspace = ?", *q.Workspace)
	}
	if q.Parent != "" {
		add(`(l.parent = ? AND l.parent <> '' OR l.parent_conversation <> '' AND l.parent_conversation IN
			(SELECT conversation FROM `+d.Cursors+` WHERE list = ?) AND `+d.HeldByParent+` = ?)`, q.Parent, q.Parent, q.Parent)
	}
	if !q.UpdatedSince.IsZero() {
		add(row+".updated >= ?", UnixNano(q.UpdatedSince))
	}
	if q.AfterSeq > 0 {
		add(row+".seq > ?", q.AfterSeq)
	}
	if q.BeforeSeq > 0 {
		add(row+".seq < ?", q.BeforeSeq)
	}
	order := " DESC"
	if q.OldestFirst {
		order = ""
		if d.Settled != "" {
			add(row + ".seq < " + d.Settled)
		}
	}
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY " + row + ".seq" + order + " LIMIT ?", append(args, Limit(q.Limit))
}

// Limit returns a limit for SQL: 0 or less means none.
func Limit(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}
