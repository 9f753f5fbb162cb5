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

// Dialect is what the SQL of the reads differs in.
type Dialect struct {
	// Schema stands before the names of tables.
	Schema string
	// Columns are the columns of a snapshot, from the rows h of history and l of lists.
	// The current list of the parent's conversation follows them.
	Columns string
	// Newest joins the row h of the newest revision to the row l of its list.
	Newest string
	// Sum returns the checksum of the columns of a row, which each row has in its column
	// sum; nil where rows have none.
	Sum func(columns ...any) int64
	// Forget are the statements that remove the lists that a query selects, whose place
	// is %s.
	Forget []string
	// Lock and SkipLocked end a query that locks the rows that it selects, SkipLocked
	// without those that are locked.
	Lock, SkipLocked string
	// Like compares a text with a pattern without regard to the case of ASCII letters.
	Like string
	// Checks select what is wrong with the database itself, as it is said.
	Checks []string
	// Settled is below which seq nothing is saved any more; empty where saves are in
	// the order of seq.
	Settled string
}

// SQL are the queries of a [Reader], with a question mark for each argument.
type SQL struct {
	// Revisions selects any revisions of any lists, Newest the newest one of each, and
	// Excerpts the excerpts of these, for [ScanSnapshot].
	Revisions, Newest, Excerpts string
	// Load selects the newest revision of a list.
	Load string
	// AllSeen selects what all chats have seen, and SeenBy what one has, the list that became
	// current last first.
	AllSeen, SeenBy string

	loadRevision, history string
	checks                []string
	excerpted             string // the newest revisions beside their excerpts
	seenOn, currentSeen   string
	current               string

	addRevision, addList, updateList, setDeleted, countDropped, drop string
	usage, own, lockList                                             string
	setSeen, sawMore, oldSeen, moreSeen, named, setName              string
	// Queries for the ids of lists, each one of which is removed by all of Forget.
	list, trash, spare string
	// Of snapshots.
	spareLists string

	chatSQL
	of Dialect
}

// limit ends a query that returns so many rows. SQLite looks at the value of a plain
// parameter there when it prepares a statement, and so prepares it again each time that
// it runs.
const limit = ` LIMIT CAST(? AS bigint)`

// summed returns the columns of a row with their checksum, where rows have one.
func (s *SQL) summed(columns []any) []any {
	if s.of.Sum == nil {
		return columns
	}
	return append(columns, s.of.Sum(columns...))
}

// ifSummed returns a part of a statement where rows have a checksum, else nothing.
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
		Revisions: columns + `history h JOIN ` + d.Schema + `lists l ON l.id = h.list`,
		Newest:    columns + `lists l ` + d.Newest,
		Excerpts:  `SELECT l.seq, l.id, l.revision, l.excerpt, l.meta, ` + current + ` FROM ` + d.Schema + `lists l`,
		AllSeen: `SELECT c.principal, c.chat, c.mirrors, c.list, c.revision, c.process, c.held, c.current, c.at` + d.ifSummed(`, c.sum`) +
			` FROM ` + seen + ` c`,
		current: current, checks: d.checks(), of: d,
		excerpted: `SELECT l.id, h.body, l.excerpt FROM ` + d.Schema + `lists l JOIN ` + d.Schema + `history h ON h.list = l.id AND h.revision = l.revision`,
	}
	q.Load = q.Newest + ` WHERE l.id = ?`
	q.loadRevision = q.Revisions + ` WHERE h.list = ? AND h.revision = ?`
	q.history = q.Revisions + ` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision` + limit
	q.SeenBy = q.AllSeen + ` WHERE c.principal = ? AND c.chat = ? AND c.mirrors = ? ORDER BY c.held DESC, c.at`
	// With the empty text a database goes by the list, on which few are, and not through
	// all of the principal.
	q.seenOn = q.AllSeen + ` WHERE c.principal || '' = ? AND c.list = ? ORDER BY c.chat, c.mirrors`
	q.currentSeen = q.AllSeen + ` WHERE c.principal = ? AND c.current ORDER BY c.chat, c.mirrors`
	q.named = `SELECT list FROM ` + d.Schema + `names WHERE principal = ? AND name = ?`
	d.saves(q)
	return q
}

// saves adds what a [Saver] runs.
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
	q.spareLists = q.Excerpts + where + d.SkipLocked
	q.moreSeen = `DELETE FROM ` + seen + ` WHERE (principal, chat, mirrors, list) IN (SELECT principal, chat, mirrors, list
		FROM ` + seen + ` WHERE list = ? AND principal = ? ORDER BY at DESC` + limit + ` OFFSET ?)`
	q.setName = `INSERT INTO ` + d.Schema + `names (principal, name, list) VALUES (?, ?, ?) ON CONFLICT (principal, name) DO UPDATE SET list = excluded.list`
	q.list = `SELECT id FROM ` + lists + ` WHERE id = ?`
	q.trash = `SELECT id FROM ` + lists + ` WHERE deleted AND updated < ?` + limit
	q.lockList = `SELECT principal, revision, begun, deleted IS TRUE FROM ` + lists + ` WHERE id = ?` + d.Lock
	q.oldSeen = `DELETE FROM ` + seen + ` WHERE (principal, chat, mirrors, list) IN (SELECT principal, chat, mirrors, list
		FROM ` + seen + ` WHERE at < ? AND chat <> '` + todo.PersonChat + `'` + limit + d.SkipLocked + `)`
}

// Find returns the SQL of a query and its arguments. With [board.Query.Text] it selects all
// revisions that may say it, of each list the last one first; otherwise it ends with a limit,
// which the arguments are without.
func (s *SQL) Find(q board.Query) (sql string, args []any) {
	sql, row := s.Newest, "l"
	switch {
	case q.Text != "":
		sql = s.Revisions
	case q.Excerpt:
		sql = s.Excerpts
	}
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
			(SELECT chat FROM `+s.of.Schema+`seen WHERE list = ?) AND `+s.current+` = ?)`, q.Parent, q.Parent, q.Parent)
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
		if s.of.Settled != "" {
			add(row + ".seq < " + s.of.Settled)
		}
	}
	if q.Text != "" && q.Operation == "" {
		add("h.body "+s.of.Like+" ?", "%"+plainest(q.Text)+"%")
	}
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	if q.Text != "" && q.Operation == "" {
		return sql + " ORDER BY l.seq" + order + ", h.revision DESC", args
	}
	return sql + " ORDER BY " + row + ".seq" + order + limit, args
}

// plainest returns the longest part of a text that stands in a body as it is, but for the
// case of ASCII letters, and has no meaning in a pattern.
func plainest(text string) string {
	return slices.MaxFunc(notPlain.Split(text, -1), func(a, b string) int { return len(a) - len(b) })
}

// notPlain matches what JSON may escape, what LIKE reads otherwise, and letters that have
// a case which databases do not know.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9 .,:;/()#+=!?@*|{}$^~-]`)

// atMost returns a limit for SQL: 0 or less means none.
func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}
