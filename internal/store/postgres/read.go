package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// heldByParent selects, for a list l with a parent_conversation, the list that
// this conversation holds.
const heldByParent = `(CASE WHEN l.parent_conversation <> '' THEN todo_mcp.held(l.principal, l.parent_conversation) END)`

const columns = `SELECT h.seq, h.base, h.body, l.meta, ` + heldByParent

// selectRecord selects any revisions of any lists.
const selectRecord = columns + ` FROM todo_mcp.history h JOIN todo_mcp.lists l ON l.id = h.list`

// selectNewest selects the newest revision of each list.
const selectNewest = columns + ` FROM todo_mcp.lists l JOIN todo_mcp.history h ON h.list = l.id AND h.revision = l.revision`

// row is a row of selectRecord or selectNewest.
type row struct {
	seq, base  int64
	body, meta []byte
	parent     *string
}

// errBaseGone means that base items were deleted since the revision was read.
var errBaseGone = errors.New("its base items are missing")

// maxBaseTries is how often a query is tried because base items are missing.
const maxBaseTries = 5

// query returns the snapshots that a query on selectRecord or selectNewest
// selects.
func (s *Store) query(ctx context.Context, sql string, args ...any) ([]todo.Snapshot, error) {
	for try := 1; ; try++ {
		found, err := s.tryQuery(ctx, sql, args)
		if !errors.Is(err, errBaseGone) {
			return found, err
		}
		if try == maxBaseTries {
			return nil, fmt.Errorf("%w: %s", todo.ErrCorrupt, err.Error())
		}
	}
}

func (s *Store) tryQuery(ctx context.Context, sql string, args []any) ([]todo.Snapshot, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	selected, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (r row, err error) {
		err = from.Scan(&r.seq, &r.base, &r.body, &r.meta, &r.parent)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	found := make([]todo.Snapshot, len(selected))
	for i, r := range selected {
		if found[i], err = s.decode(ctx, r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (s *Store) decode(ctx context.Context, r row) (todo.Snapshot, error) {
	var b record.Base
	if r.base > 0 {
		var err error
		if b, err = s.base(ctx, r.base); err != nil {
			return todo.Snapshot{}, err
		}
	}
	snapshot, err := record.Snapshot(r.body, r.meta, b.Items, r.seq)
	if err == nil && snapshot.List.ParentConversation != "" && r.parent != nil {
		snapshot.List.Parent = *r.parent
	}
	return snapshot, err
}

// decodeList decodes a list as a caller reads it: with the parent that it has now.
func decodeList(meta []byte, parent *string) (l todo.List, err error) {
	if err := json.Unmarshal(meta, &l); err != nil {
		return l, fmt.Errorf("list: %w: %w", todo.ErrCorrupt, err)
	}
	if l.ParentConversation != "" && parent != nil {
		l.Parent = *parent
	}
	return l, nil
}

// base returns base items.
func (s *Store) base(ctx context.Context, id int64) (record.Base, error) {
	return s.bases.Get(id, func() (b record.Base, err error) {
		var data []byte
		err = s.pool.QueryRow(ctx, `SELECT list, items FROM todo_mcp.bases WHERE id = $1`, id).Scan(&b.List, &data)
		if errors.Is(err, pgx.ErrNoRows) {
			return b, errBaseGone
		}
		if err != nil {
			return b, err
		}
		b.Size = len(data)
		b.Items, err = record.BaseItems(data)
		return b, err
	})
}

// Load implements todo.Store.
func (s *Store) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	err = s.call(ctx, "read snapshot", func() error {
		found, err = s.load(ctx, list, revision)
		return err
	})
	return found, err
}

func (s *Store) load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	sql, args := selectNewest+` WHERE l.id = $1`, []any{plain(list)}
	if revision != 0 {
		sql, args = selectRecord+` WHERE h.list = $1 AND h.revision = $2`, []any{plain(list), revision}
	}
	return s.one(ctx, sql, args...)
}

// one returns the first snapshot that a query selects, or todo.ErrNotFound.
func (s *Store) one(ctx context.Context, sql string, args ...any) (todo.Snapshot, error) {
	found, err := s.query(ctx, sql, args...)
	if err == nil && len(found) == 0 {
		err = todo.ErrNotFound
	}
	if err != nil {
		return todo.Snapshot{}, err
	}
	return found[0], nil
}

// LastBy implements todo.Store.
func (s *Store) LastBy(ctx context.Context, list string, person bool, upTo int64) (found todo.Snapshot, err error) {
	err = s.call(ctx, "read snapshot", func() error {
		found, err = s.one(ctx, selectRecord+` WHERE h.list = $1 AND h.person = $2 AND h.revision <= $3 ORDER BY h.revision DESC LIMIT 1`, plain(list), person, upTo)
		return err
	})
	return found, err
}

// History implements todo.Store.
func (s *Store) History(ctx context.Context, list string, after int64, limit int) (found []todo.Snapshot, err error) {
	err = s.call(ctx, "read snapshots", func() error {
		found, err = s.query(ctx, selectRecord+` WHERE h.list = $1 AND h.revision > $2 ORDER BY h.revision LIMIT $3`, plain(list), after, sqlLimit(limit))
		return err
	})
	return found, err
}

// Find implements todo.Store. With Query.AfterSeq and OldestFirst it finds no list
// with a Seq that another save may still be given a smaller one than: so who goes
// on from the last Seq misses none.
func (s *Store) Find(ctx context.Context, q todo.Query) (found []todo.Snapshot, err error) {
	sql, args := findQuery(q)
	err = s.call(ctx, "read snapshots", func() error {
		found, err = s.query(ctx, sql, args...)
		return err
	})
	return found, err
}

// findQuery returns the SQL of a query and its arguments.
func findQuery(q todo.Query) (sql string, args []any) {
	from, seq, updated := selectNewest, "l.seq", "l.updated"
	var where []string
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, strings.ReplaceAll(condition, "?", fmt.Sprint("$", len(args))))
	}
	if q.Operation != "" {
		// An operation selects one revision; the other conditions apply to it.
		from, seq, updated = selectRecord, "h.seq", "h.updated"
		add("h.operation = ?", plain(q.Operation))
	} else if !q.Deleted {
		where = append(where, "NOT l.deleted")
	}
	if q.Principal != nil {
		add("l.principal = ?", plain(*q.Principal))
	}
	if q.Client != "" {
		add("l.client = ?", plain(q.Client))
	}
	if q.Workspace != nil {
		add("l.workspace = ?", plain(*q.Workspace))
	}
	if q.Parent != "" {
		add(`(l.parent = ? OR l.parent_conversation <> '' AND l.parent_conversation IN
			(SELECT conversation FROM todo_mcp.bindings WHERE list = ?) AND `+heldByParent+` = ?)`, plain(q.Parent))
	}
	if !q.UpdatedSince.IsZero() {
		add(updated+" >= ?", record.UnixNano(q.UpdatedSince))
	}
	if q.AfterSeq > 0 {
		add(seq+" > ?", q.AfterSeq)
	}
	if q.BeforeSeq > 0 {
		add(seq+" < ?", q.BeforeSeq)
	}
	if q.OldestFirst {
		where = append(where, seq+" < todo_mcp.settled()")
	}
	sql = from
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	sql += " ORDER BY " + seq
	if !q.OldestFirst {
		sql += " DESC"
	}
	args = append(args, sqlLimit(q.Limit))
	return sql + fmt.Sprint(" LIMIT $", len(args)), args
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	err = s.call(ctx, "read position", func() error {
		return s.pool.QueryRow(ctx, `SELECT todo_mcp.settled() - 1`).Scan(&seq)
	})
	return seq, err
}

// sqlLimit converts a limit for SQL's LIMIT; nil means none.
func sqlLimit(limit int) *int {
	if limit <= 0 {
		return nil
	}
	return &limit
}

// plain returns a text as it is stored in a column of its own: PostgreSQL stores no
// NUL and no invalid UTF-8, which a client may send.
func plain(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") && !strings.HasPrefix(text, escape) {
		return text
	}
	return escape + hex.EncodeToString([]byte(text))
}

// escape begins a text that is stored in hexadecimal.
const escape = `\x`

// original is the inverse of plain.
func original(stored string) string {
	if encoded, ok := strings.CutPrefix(stored, escape); ok {
		if text, err := hex.DecodeString(encoded); err == nil {
			return string(text)
		}
	}
	return stored
}
