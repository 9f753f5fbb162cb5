package tables

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Dialect holds the SQL that differs between the two databases. All tables have the prefix "main.", as in SQLite.
type Dialect struct {
	// Newest joins the row h of the newest revision to the row l of its list.
	Newest string
	// Sum names the SQL function that computes a row's checksum, which the row's column sum stores; empty if rows have
	// no checksum.
	Sum string
	// Forget are the statements that remove lists. A query that selects the lists replaces %s in each.
	Forget []string
	// IsFree is appended to a condition for rows of all principals. It skips the principals that another transaction is
	// changing, and locks the other principals against changes by other transactions. Lock is appended to a query with
	// IsFree, so that the query selects no row that changed meanwhile.
	IsFree, Lock string
	// Like is the operator that matches a pattern and ignores the case of ASCII letters.
	Like string
	// Checks are queries that select a text for each problem of the database itself.
	Checks []string
	// Settled is an expression for the Seq below which no save can commit any more; empty if Seqs commit in order.
	Settled string
	// Size selects the size of the store in bytes; if empty, the sizes of all rows are added up.
	Size string
	// Position selects a Seq such that all saves up to it can be read.
	Position string
}

// SQL holds the statements of a [Reader] and a [Saver] that differ between the two databases.
type SQL struct {
	// Newest selects newest revisions of lists, for [ScanSnapshot]. ChatOf selects a chat, for [ScanChat].
	Newest, ChatOf string
	// AllSeen selects all rows of seen. SeenBy selects the rows of one chat, the current list first.
	AllSeen, SeenBy string

	load, revisions, allChats, addRevision, addList, listRow, spareLists string
	sayChat, saveChat, sawMore, setSeen                                  string
	oldLists, oldSeen, oldChats, oldKeys, size, ownSize                  string

	of Dialect
}

// limited ends a query. Without the CAST, SQLite would prepare the statement again for each value.
const limited = ` LIMIT CAST(? AS bigint)`

const (
	// current selects the id of the list that is now current in the parent conversation of list l.
	current = `coalesce((SELECT b.list FROM main.seen b WHERE l.parent_conversation <> '' AND b.principal = l.principal
		AND b.chat = l.parent_conversation AND b.mirrors = l.mirrored AND b.current), '')`
	// excerpts selects the excerpts of the newest revisions of lists, for [ScanSnapshot].
	excerpts = `SELECT l.id, l.revision, l.seq, l.excerpt, l.meta, ` + current + `, TRUE, TRUE FROM main.lists l`
	// oneList selects one given list id. spare selects the ids of lists that may be removed to make room.
	oneList = `SELECT id FROM main.lists WHERE id = ?`
	spare   = `SELECT l.id FROM main.lists l` + isSpare
	isSpare = ` WHERE l.principal = ? AND l.spare = ? AND l.spare > 0 AND l.updated < ? AND l.begun < ? AND l.id <> ? AND NOT EXISTS
		(SELECT 1 FROM main.seen c WHERE c.list = l.id AND c.principal = l.principal AND c.chat = ?) ORDER BY l.updated` + limited
)

// The columns that the checksum of a row covers, for each table.
const (
	historyColumns = `list, revision, operation, updated, body`
	listColumns    = `id, principal, client, workspace, parent, parent_conversation, mirrored, conversation, begun, meta`
	seenColumns    = `principal, chat, mirrors, list, revision, process, held, current, at`
	chatColumns    = `id, principal, member, used, ended, body`
)

// whole returns an expression that is true if a row's checksum fits its columns. The prefix, as in "h.", names the row.
func (d Dialect) whole(prefix, columns string) string {
	if d.Sum == "" {
		return `TRUE`
	}
	return d.Sum + `(` + prefix + strings.ReplaceAll(columns, `, `, `, `+prefix) + `) = ` + prefix + `sum`
}

// insert returns a statement that inserts a row: columns, their checksum if rows have one, and further columns.
func (d Dialect) insert(table, columns, more string) string {
	n := strings.Count(columns, `,`) + 1
	values := strings.Repeat(`, ?`, n)[2:]
	if d.Sum != "" {
		first := make([]string, n)
		for i := range first {
			first[i] = fmt.Sprintf(`?%d`, i+1)
		}
		columns, values = columns+`, sum`, values+`, `+d.Sum+`(`+strings.Join(first, `, `)+`)`
	}
	values += strings.Repeat(`, ?`, strings.Count(more, `,`))
	return `INSERT INTO main.` + table + ` (` + columns + more + `) VALUES (` + values + `)`
}

// Queries returns the statements of a dialect.
func (d Dialect) Queries() *SQL {
	setSum := ""
	if d.Sum != "" {
		setSum = `, sum = excluded.sum`
	}
	snapshot := `SELECT l.id, h.revision, h.seq, h.body, l.meta, ` + current + `, ` + d.whole(`l.`, listColumns) + `, ` +
		d.whole(`h.`, historyColumns) + ` AND h.list = l.id AND (h.seq = l.seq) = (h.revision = l.revision) FROM main.`
	q := &SQL{
		revisions: snapshot + `history h JOIN main.lists l ON l.id = h.list`,
		Newest:    snapshot + `lists l ` + d.Newest,
		AllSeen:   `SELECT ` + seenColumns + `, ` + d.whole(``, seenColumns) + ` FROM main.seen`,
		allChats:  `SELECT seq, ` + chatColumns + `, ` + d.whole(``, chatColumns) + ` FROM main.chats`,

		addRevision: d.insert(`history`, historyColumns, `, seq`),
		addList:     d.insert(`lists`, listColumns, `, revision, seq, updated, deleted, bytes, spare, excerpt`),
		listRow:     `SELECT principal, revision, begun, deleted IS TRUE FROM main.lists WHERE id = ?`,
		spareLists:  excerpts + isSpare,
		sawMore: d.insert(`seen`, seenColumns, ``) + `
			ON CONFLICT (principal, chat, mirrors, list) DO UPDATE SET revision = excluded.revision, process = excluded.process` + setSum,
		oldSeen: `DELETE FROM main.seen WHERE (principal, chat, mirrors, list) IN (SELECT principal, chat, mirrors, list
			FROM main.seen WHERE at < ? AND chat <> '` + todo.PersonChat + `'` + d.IsFree + limited + d.Lock + `)`,
		oldLists: `SELECT id FROM main.lists WHERE deleted AND updated < ?` + d.IsFree + limited,
		oldChats: `DELETE FROM main.chats WHERE (used < ? OR ended > 0 AND NOT held AND ended < ?)` + d.IsFree,
		oldKeys:  `DELETE FROM main.keys WHERE until < ?` + d.IsFree,
		sayChat: d.insert(`chats`, chatColumns, `, seq`) + `
			ON CONFLICT (id) DO UPDATE SET body = excluded.body, seq = excluded.seq` + setSum,
		size:    cmp.Or(d.Size, sizeOf(``)),
		ownSize: sizeOf(` WHERE principal = ?`),
		of:      d,
	}
	q.load = q.Newest + ` WHERE l.id = ?`
	q.ChatOf = q.allChats + ` WHERE id = ?`
	q.SeenBy = q.AllSeen + ` WHERE principal = ? AND chat = ? AND mirrors = ? ORDER BY held DESC, at`
	q.setSeen = q.sawMore + `, held = excluded.held, current = excluded.current, at = excluded.at`
	q.saveChat = q.sayChat + `, principal = excluded.principal, member = excluded.member, used = excluded.used, ended = excluded.ended`
	return q
}

// find returns the SQL of a query and its arguments. For a query with a text, the SQL selects all revisions that may
// have the text, each list's newest one first. Otherwise it ends with a limit, whose argument the caller adds.
func (s *SQL) find(q board.Query) (sql string, args []any) {
	sql, row, isSearch := s.Newest, "l", q.Text != "" && q.Operation == ""
	var where []string
	add := func(isAsked bool, condition string, values ...any) {
		if isAsked {
			where, args = append(where, condition), append(args, values...)
		}
	}
	switch {
	case q.Operation != "": // an operation has one revision, to which the other conditions apply
		sql, row = s.revisions, "h"
		add(true, "h.operation = ? AND h.operation <> ''", q.Operation)
	case isSearch:
		sql = s.revisions
	case q.Excerpt:
		sql = excerpts
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
		(SELECT chat FROM main.seen WHERE list = ?) AND `+current+` = ?)`, q.Parent, q.Parent, q.Parent)
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
	return sql + " ORDER BY " + row + ".seq" + order + limited, args
}

// plainest returns the longest part of a text without a match of notPlain. LIKE finds that part in the JSON of a body.
func plainest(text string) string {
	return slices.MaxFunc(notPlain.Split(text, -1), func(a, b string) int { return len(a) - len(b) })
}

// notPlain matches characters that JSON may escape or LIKE interprets, and letters outside ASCII, whose case counts.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9 .,:;/()#+=!?@*|{}$^~-]`)

// atMost returns limit for SQL. For 0 or less, which means no limit, it returns the largest integer.
func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}
