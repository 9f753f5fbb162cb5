package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// queries returns the statements of this package. A list without its newest revision is found, as a damaged one.
var queries = sync.OnceValue(tables.Dialect{
	Columns: `h.seq, h.list, h.revision, h.operation, h.updated, h.body, h.sum,
		l.id, l.principal, l.client, l.workspace, l.parent, l.parent_conversation, l.mirrored, l.conversation, l.begun, l.meta, l.sum, l.seq, l.revision`,
	Snapshot: scanSnapshot,
	Newest:   `LEFT JOIN history h ON h.seq = l.seq`,
	Sum:      sumOf,
	Like:     `LIKE`,
	Checks:   []string{`SELECT 'SQLite: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`},
	Forget:   []string{`DELETE FROM history WHERE list IN (%s)`, `DELETE FROM seen WHERE list IN (%s)`, `DELETE FROM names WHERE list IN (%s)`, `DELETE FROM lists WHERE id IN (%s)`},
}.Queries)

// row is a row of a query for snapshots, with blobs as text. A list without its newest revision has nil for history.
type row [21]any

// Places of columns in a row. Each checksum is of the columns before it, up to the id of the list.
const (
	rowSeq, rowList, rowRevision, rowBody, rowSum = 0, 1, 2, 5, 6
	rowID, rowMeta, rowListSum                    = 7, 16, 17
	rowNewestSeq, rowNewest, rowCurrent           = 18, 19, 20
)

// scanSnapshot reads a row of a query for snapshots, or returns [board.ErrDamaged] if it is not as it was written.
func scanSnapshot(rows tables.Rows) (todo.Snapshot, error) {
	var r row
	into := make([]any, len(r))
	for i := range r {
		into[i] = &r[i]
	}
	if err := rows.Scan(into...); err != nil {
		return todo.Snapshot{}, err
	}
	for i := range r {
		if blob, ok := r[i].([]byte); ok {
			r[i] = string(blob)
		}
	}
	isNewest := r[rowSeq] == r[rowNewestSeq]
	switch {
	case sumOf(r[rowID:rowListSum]...) != r[rowListSum]:
		return todo.Snapshot{}, tables.Damaged("lists", r[rowID])
	case r[rowSeq] == nil || r[rowList] != r[rowID] || isNewest != (r[rowRevision] == r[rowNewest]):
		return todo.Snapshot{}, tables.Damaged("lists", r[rowID], "newest revision", r[rowNewest])
	case sumOf(r[rowList:rowSum]...) != r[rowSum]:
		return todo.Snapshot{}, tables.Damaged("history", r[rowList], r[rowRevision])
	}
	seq, _ := r[rowSeq].(int64)
	list, _ := r[rowID].(string)
	revision, _ := r[rowRevision].(int64)
	body, _ := r[rowBody].(string)
	meta, _ := r[rowMeta].(string)
	current, _ := r[rowCurrent].(string)
	s, err := tables.Decode(seq, list, revision, []byte(body), []byte(meta), current)
	if err != nil {
		err = fmt.Errorf("%w: %w", tables.ErrRecord, err)
	}
	return s, err
}

// Position implements board.Store.
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	return seq, s.query(ctx, "read position", lastSeq, nil, func(rows tables.Rows) error {
		rows.Next()
		return rows.Scan(&seq)
	})
}

// query is the [tables.Query] of the store. It finds no rows if there is no file yet. It waits for a locked file.
func (s *Store) query(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.work.Done()
	try := func() error {
		f, err := s.use(ctx)
		if f == nil || err != nil {
			return err
		}
		defer f.release() //nolint:errcheck // everything is read already
		if err = f.statements.query(ctx, query, args, read); err != nil {
			err = describe(s.path, err)
		}
		return err
	}
	for isLocked := false; ; isLocked = true {
		err, ended := try(), ctx.Err()
		switch isBusy := err != nil && busy(err); {
		case ended != nil && (isLocked || isBusy):
			return fmt.Errorf("%s: %w: another program has %s locked; end it, or name another store with --store", what, ended, s.path)
		case ended != nil: // it explains an interrupted query
			return fmt.Errorf("%s: %w", what, ended)
		case err == nil:
			return nil
		case !isBusy:
			return fmt.Errorf("%s: %w", what, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// sumOf returns the checksum (CRC-32 + 1) of columns. Each row has one of the columns before it, because SQLite does not
// notice when a disk returns other bytes than were written (BAD-INPUT 130). The columns of lists that say which revision
// is the newest are in none: the revision's row says the same.
func sumOf(columns ...any) int64 {
	crc := uint32(0)
	number := func(n int64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // the same 64 bits
		crc = crc32.Update(crc, crc32.IEEETable, b[:])
	}
	text := func(b []byte) { // the length separates it from the next text
		number(int64(len(b)))
		crc = crc32.Update(crc, crc32.IEEETable, b)
	}
	for _, column := range columns {
		switch v := column.(type) {
		case string:
			text([]byte(v))
		case []byte:
			text(v)
		case int64:
			number(v)
		case bool:
			if v {
				number(1)
			} else {
				number(0)
			}
		}
	}
	return int64(crc) + 1
}
