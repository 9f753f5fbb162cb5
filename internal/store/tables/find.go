package tables

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Dialect is what differs in the SQL of the two databases.
type Dialect struct {
	// Schema stands before the names of tables.
	Schema string
	// Columns are those of a snapshot, from the rows h of history and l of lists. Snapshot reads them with one more, the
	// current list of the parent's conversation.
	Columns  string
	Snapshot func(Rows) (todo.Snapshot, error)
	// Newest joins the row h of the newest revision to the row l of its list.
	Newest string
	// Sum returns the checksum of the columns of a row, which is in its column sum; nil if rows have none.
	Sum func(columns ...any) int64
	// Forget are the statements that remove the lists that a query (in the place of %s) selects.
	Forget []string
	// Lock ends a query to lock the rows that it selects; SkipLocked also leaves out rows that others have locked.
	Lock, SkipLocked string
	// Like is the operator that matches a pattern and ignores the case of ASCII letters.
	Like string
	// Checks select texts, each about something wrong with the database itself.
	Checks []string
	// Settled is an expression for a Seq below which nothing is saved any more; empty if saves commit in the order of
	// Seq.
	Settled string
}

// SQL are the statements of a [Reader] and a [Saver], with a question mark for each argument.
type SQL struct {
	// Newest selects the newest revisions of lists, for [Dialect.Snapshot].
	Newest string
	// AllSeen selects what all chats have seen, and SeenBy what one chat has, its current list first.
	AllSeen, SeenBy string

	revisions string // selects any revisions of any lists, for [Dialect.Snapshot]
	excerpts  string // selects the excerpts of the newest ones, for [ScanSnapshot]

	load, loadRevision, history, excerpted, seenOn, currentSeen, current string
	addRevision, addList, updateList, setDeleted, countDropped, drop     string
	usage, own, lockList, spareLists                                     string
	setSeen, sawMore, oldSeen, moreSeen, forgetSeen, named, setName      string
	list, trash, spare                                                   string // select ids of lists for Forget
	checks                                                               []string

	chatSQL
	of Dialect
}

// limit ends a query. If its parameter were not in an expression, SQLite would prepare the statement for each value
// again.
const limit = ` LIMIT CAST(? AS bigint)`

// summed returns the columns of a row, and their checksum where rows have one.
func (s *SQL) summed(columns []any) []any {
	if s.of.Sum == nil {
		return columns
	}
	return append(columns, s.of.Sum(columns...))
}

// ifSummed returns sql where rows have a checksum, else nothing.
func (d Dialect) ifSummed(sql string) string {
	if d.Sum == nil {
		return ""
	}
	return sql
}

// Queries returns the queries of a dialect.
func (d Dialect) Queries() *SQL {
	seen := d.Schema + "seen"
	current := `coalesce((SELECT b.list FROM ` + seen + ` b WHERE l.parent_conversation <> '' AND b.principal = l.principal
		AND b.chat = l.parent_conversation AND b.mirrors = l.mirrored AND b.current), '')`
	columns := `SELECT ` + d.Columns + `, ` + current + ` FROM ` + d.Schema
	q := &SQL{
		revisions: columns + `history h JOIN ` + d.Schema + `lists l ON l.id = h.list`,
		Newest:    columns + `lists l ` + d.Newest,
		excerpts:  `SELECT l.seq, l.id, l.revision, l.excerpt, l.meta, ` + current + ` FROM ` + d.Schema + `lists l`,
		AllSeen:   `SELECT c.principal, c.chat, c.mirrors, c.list, c.revision, c.process, c.held, c.current, c.at` + d.ifSummed(`, c.sum`) + ` FROM ` + seen + ` c`,
		current:   current, checks: d.checks(), of: d,
		excerpted: `SELECT l.id, h.body, l.excerpt FROM ` + d.Schema + `lists l JOIN ` + d.Schema + `history h ON h.list = l.id AND h.revision = l.revision`,
	}
	q.load = q.Newest + ` WHERE l.id = ?`
	q.loadRevision = q.revisions + ` WHERE h.list = ? AND h.revision = ?`
	q.history = q.revisions + ` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision` + limit
	q.SeenBy = q.AllSeen + ` WHERE c.principal = ? AND c.chat = ? AND c.mirrors = ? ORDER BY c.held DESC, c.at`
	// principal || '' prevents the use of the principal's index, which has more rows than that of the list.
	q.seenOn = q.AllSeen + ` WHERE c.principal || '' = ? AND c.list = ? ORDER BY c.chat, c.mirrors`
	q.currentSeen = q.AllSeen + ` WHERE c.principal = ? AND c.current ORDER BY c.chat, c.mirrors`
	q.named = `SELECT list FROM ` + d.Schema + `names WHERE principal = ? AND name = ?`
	d.saves(q)
	return q
}

// saves adds the statements of a [Saver].
func (d Dialect) saves(q *SQL) {
	history, lists, seen := d.Schema+"history", d.Schema+"lists", d.Schema+"seen"
	insert := func(table, columns, more string) string {
		columns += d.ifSummed(`, sum`) + more
		return `INSERT INTO ` + table + ` (` + columns + `) VALUES (?` + strings.Repeat(", ?", strings.Count(columns, ",")) + `)`
	}
	q.chatSQL = d.chatQueries(insert)
	q.addRevision = insert(history, `list, revision, operation, updated, body`, `, seq`)
	q.addList = insert(lists, `id, principal, client, workspace, parent, parent_conversation, mirrored, conversation, begun, meta`,
		`, revision, seq, updated, deleted, bytes, spare, excerpt`)
	q.updateList = `UPDATE ` + lists + ` SET revision = ?, seq = ?, updated = ?, bytes = bytes + ?, spare = ?, excerpt = ? WHERE id = ?`
	q.setDeleted = `UPDATE ` + lists + ` SET deleted = ? WHERE id = ?`
	q.countDropped = `UPDATE ` + lists + ` SET bytes = bytes - (SELECT coalesce(sum(octet_length(body)), 0) FROM ` + history + `
		WHERE list = ? AND revision < ?) WHERE id = ?`
	q.drop = `DELETE FROM ` + history + ` WHERE list = ? AND revision < ?`
	q.sawMore = insert(seen, `principal, chat, mirrors, list, revision, process, held, current, at`, ``) + `
		ON CONFLICT (principal, chat, mirrors, list) DO UPDATE SET revision = excluded.revision, process = excluded.process` + d.ifSummed(`, sum = excluded.sum`)
	q.setSeen = q.sawMore + `, held = excluded.held, current = excluded.current, at = excluded.at`
	q.usage = `SELECT CAST((SELECT coalesce(sum(n), 0) FROM ` + d.Schema + `list_counts WHERE principal = ?) AS bigint),
		(SELECT count(*) FROM (SELECT 1 FROM ` + lists + ` WHERE principal = ? AND conversation = ? AND begun >= ? AND updated >= ?` + limit + `) AS lately),
		coalesce((SELECT updated FROM ` + lists + ` ORDER BY seq DESC LIMIT 1), 0)`
	q.own = `SELECT CAST(coalesce(sum(bytes), 0) + (SELECT count(*) * ? FROM ` + seen + ` WHERE principal = ?) + (SELECT count(*) * ? FROM ` + d.Schema + `names WHERE principal = ?)
		+ (SELECT coalesce(sum(? + octet_length(body)), 0) FROM ` + d.Schema + `chats WHERE principal = ?)
		+ (SELECT count(*) * ? FROM ` + d.Schema + `keys WHERE principal = ?) + (SELECT count(*) * ? FROM ` + d.Schema + `notices WHERE principal = ?) AS bigint)
		FROM ` + lists + ` WHERE principal = ?`
	where := ` WHERE l.principal = ? AND l.spare = ? AND l.spare > 0 AND l.updated < ? AND l.begun < ? AND l.id <> ? AND NOT EXISTS
		(SELECT 1 FROM ` + seen + ` c WHERE c.list = l.id AND c.principal = l.principal AND c.chat = ?) ORDER BY l.updated` + limit
	q.spare = `SELECT l.id FROM ` + lists + ` l` + where
	q.spareLists = q.excerpts + where + d.SkipLocked
	q.moreSeen = `DELETE FROM ` + seen + ` WHERE (principal, chat, mirrors, list) IN (SELECT principal, chat, mirrors, list
		FROM ` + seen + ` WHERE list = ? AND principal = ? ORDER BY at DESC` + limit + ` OFFSET ?)`
	q.forgetSeen = `DELETE FROM ` + seen + ` WHERE principal = ? AND chat = ? AND mirrors = ?`
	q.setName = `INSERT INTO ` + d.Schema + `names (principal, name, list) VALUES (?, ?, ?) ON CONFLICT (principal, name) DO UPDATE SET list = excluded.list`
	q.list = `SELECT id FROM ` + lists + ` WHERE id = ?`
	q.trash = `SELECT id FROM ` + lists + ` WHERE deleted AND updated < ?` + limit
	q.lockList = `SELECT principal, revision, begun, deleted IS TRUE FROM ` + lists + ` WHERE id = ?` + d.Lock
	q.oldSeen = `DELETE FROM ` + seen + ` WHERE (principal, chat, mirrors, list) IN (SELECT principal, chat, mirrors, list
		FROM ` + seen + ` WHERE at < ? AND chat <> '` + todo.PersonChat + `'` + limit + d.SkipLocked + `)`
}

// find returns the SQL of a query and its arguments. With a text it selects all revisions that may have that, of each
// list the last one first. Otherwise it ends with a limit, whose argument the caller adds.
func (s *SQL) find(q board.Query) (sql string, args []any) {
	sql, row, isSearch := s.Newest, "l", q.Text != "" && q.Operation == ""
	var where []string
	add := func(isAsked bool, condition string, values ...any) {
		if isAsked {
			where, args = append(where, condition), append(args, values...)
		}
	}
	switch {
	case q.Operation != "": // it selects one revision, to which the other conditions apply
		sql, row = s.revisions, "h"
		add(true, "h.operation = ? AND h.operation <> ''", q.Operation)
	case isSearch:
		sql = s.revisions
	case q.Excerpt:
		sql = s.excerpts
	}
	add(q.Operation == "" && !q.Deleted, "NOT l.deleted")
	switch {
	case q.Principal != nil && q.Parent != "":
		add(true, "l.principal || '' = ?", *q.Principal) // so that the index of the parent is chosen, which has fewer rows
	case q.Principal != nil:
		add(true, "l.principal = ?", *q.Principal)
	}
	if q.Workspace != nil {
		add(true, "l.workspace = ?", *q.Workspace)
	}
	add(q.Client != "", "l.client = ?", q.Client)
	add(q.Parent != "", `(l.parent = ? AND l.parent <> '' OR l.parent_conversation <> '' AND l.parent_conversation IN
		(SELECT chat FROM `+s.of.Schema+`seen WHERE list = ?) AND `+s.current+` = ?)`, q.Parent, q.Parent, q.Parent)
	add(!q.UpdatedSince.IsZero(), row+".updated >= ?", record.UnixNano(q.UpdatedSince))
	add(q.AfterSeq > 0, row+".seq > ?", q.AfterSeq)
	add(q.BeforeSeq > 0, row+".seq < ?", q.BeforeSeq)
	add(q.OldestFirst && s.of.Settled != "", row+".seq < "+s.of.Settled)
	if isSearch {
		add(true, "h.body "+s.of.Like+" ?", "%"+plainest(q.Text)+"%")
	}
	order := " DESC"
	if q.OldestFirst {
		order = ""
	}
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	if isSearch {
		return sql + " ORDER BY l.seq" + order + ", h.revision DESC", args
	}
	return sql + " ORDER BY " + row + ".seq" + order + limit, args
}

// plainest returns the longest part of a text that JSON and LIKE leave as it is, but for the case of ASCII letters.
func plainest(text string) string {
	return slices.MaxFunc(notPlain.Split(text, -1), func(a, b string) int { return len(a) - len(b) })
}

// notPlain matches what JSON may escape or LIKE interprets, and letters outside ASCII, whose case is not ignored.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9 .,:;/()#+=!?@*|{}$^~-]`)

// atMost returns the limit for SQL; 0 or less means none.
func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}
