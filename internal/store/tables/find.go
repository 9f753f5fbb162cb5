package tables

import (
	"math"
	"strings"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// Dialect is what the SQL of the reads differs in.
type Dialect struct {
	// Schema stands before the names of tables.
	Schema string
	// Columns are the columns of a snapshot, from the rows h of history and l of lists.
	// The current list of the parent's conversation follows them.
	Columns string
	// Newest joins the row h of the newest revision to the row l of its list.
	Newest string
	// CursorColumns are more columns of a row c of cursors.
	CursorColumns string
	// True is how a truth is stored.
	True string
	// Settled is below which seq nothing is saved any more; empty where saves are in
	// the order of seq.
	Settled string
}

// SQL are the queries of a [Reader], with a question mark for each argument.
type SQL struct {
	// Revisions selects any revisions of any lists, and Newest the newest one of each.
	Revisions, Newest string
	// Load selects the newest revision of a list.
	Load string
	// AllCursors selects all cursors, and CursorsOf the cursors of a conversation, the
	// one that became current last first.
	AllCursors, CursorsOf string

	loadRevision, history               string
	cursorsOn, currentCursors, hostCall string
	current, cursors, settled           string
}

// Queries returns the queries of a dialect.
func (d Dialect) Queries() *SQL {
	cursors := d.Schema + "cursors"
	current := `coalesce((SELECT b.list FROM ` + cursors + ` b WHERE l.parent_conversation <> '' AND b.principal = l.principal
		AND b.conversation = l.parent_conversation AND b.current = ` + d.True + `), '')`
	columns := `SELECT ` + d.Columns + `, ` + current + ` FROM ` + d.Schema
	q := &SQL{
		Revisions: columns + `history h JOIN ` + d.Schema + `lists l ON l.id = h.list`,
		Newest:    columns + `lists l ` + d.Newest,
		AllCursors: `SELECT c.principal, c.conversation, c.list, c.seen, c.process, c.until, c.moved, c.current, c.at` + d.CursorColumns +
			` FROM ` + cursors + ` c`,
		hostCall: `SELECT id, session, agent, folder FROM ` + d.Schema + `host_calls WHERE principal = ? AND id = ? AND at >= ?`,
		current:  current, cursors: cursors, settled: d.Settled,
	}
	q.Load = q.Newest + ` WHERE l.id = ?`
	q.loadRevision = q.Revisions + ` WHERE h.list = ? AND h.revision = ?`
	q.history = q.Revisions + ` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision LIMIT ?`
	q.CursorsOf = q.AllCursors + ` WHERE c.principal = ? AND c.conversation = ? ORDER BY c.moved DESC, c.at`
	// With the empty text a database goes by the list, on which few are, and not through
	// all of the principal.
	q.cursorsOn = q.AllCursors + ` WHERE c.principal || '' = ? AND c.list = ? ORDER BY c.conversation`
	q.currentCursors = q.AllCursors + ` WHERE c.principal = ? AND c.current = ` + d.True + ` ORDER BY c.conversation`
	return q
}

// Find returns the SQL of a query and its arguments.
func (s *SQL) Find(q todo.Query) (sql string, args []any) {
	sql, row := s.Newest, "l"
	var where []string
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Operation != "" {
		// An operation selects one revision; the other conditions apply to it.
		sql, row = s.Revisions, "h"
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
			(SELECT conversation FROM `+s.cursors+` WHERE list = ?) AND `+s.current+` = ?)`, q.Parent, q.Parent, q.Parent)
	}
	if !q.UpdatedSince.IsZero() {
		add(row+".updated >= ?", record.UnixNano(q.UpdatedSince))
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
		if s.settled != "" {
			add(row + ".seq < " + s.settled)
		}
	}
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY " + row + ".seq" + order + " LIMIT ?", append(args, atMost(q.Limit))
}

// atMost returns a limit for SQL: 0 or less means none.
func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}
