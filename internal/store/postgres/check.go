package postgres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
)

// Check reads every revision and calls found for each thing that is wrong with one. It
// returns how many revisions it read. An error means that it could not go on. It does
// not check the database's own structures, as its data_checksums and amcheck do.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	err = s.call(ctx, "check store", func() error {
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it only reads
		if _, err = tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err != nil {
			return err
		}
		read, err := tx.Query(ctx, `SELECT l.id, l.revision, l.seq, l.meta, l.excerpt, coalesce(h.revision, 0), coalesce(h.seq, 0), h.body
			FROM todo_mcp.lists l LEFT JOIN todo_mcp.history h ON h.list = l.id ORDER BY l.id, h.revision`)
		if err != nil {
			return err
		}
		defer read.Close()
		var before revision
		for read.Next() {
			var r revision
			if err := read.Scan(&r.list, &r.newest, &r.newestSeq, &r.meta, &r.excerpt, &r.number, &r.seq, &r.body); err != nil {
				return err
			}
			if r.list != before.list {
				before.checkLast(found)
				before = revision{}
			}
			if r.number > 0 {
				revisions++
				r.checkAfter(before, found)
			}
			before = r
		}
		before.checkLast(found)
		return read.Err()
	})
	return revisions, err
}

// revision is a row of history beside that of its list; number is 0 where the list has no
// revision.
type revision struct {
	list                           string
	number, seq, newest, newestSeq int64
	meta, excerpt, body            []byte
}

// checkAfter checks that a revision follows another one, and can be read.
func (r revision) checkAfter(before revision, found func(string)) {
	read, err := record.Snapshot(r.body, r.meta, r.seq)
	switch {
	case err != nil:
		found(fmt.Sprintf("list %s, revision %d: %v", r.list, r.number, err))
	case read.Revision != r.number || read.List.ID != r.list:
		found(fmt.Sprintf("list %s, revision %d: it has the content of list %s, revision %d", r.list, r.number, read.List.ID, read.Revision))
	case r.number == r.newest:
		if want, _ := record.Body(read.Excerpt()); !bytes.Equal(want, r.excerpt) {
			found(fmt.Sprintf("list %s: what pages with many lists show of it is not what its newest revision says", r.list))
		}
	}
	if before.number > 0 && r.number != before.number+1 {
		found(fmt.Sprintf("list %s: revision %d follows revision %d", r.list, r.number, before.number))
	}
}

// checkLast checks that a list names its last revision, which is r.
func (r revision) checkLast(found func(string)) {
	if r.number != r.newest || r.seq != r.newestSeq {
		found(fmt.Sprintf("list %s: its row does not name its newest revision", r.list))
	}
}

// Unsafe says which setting of the database lets a commit be lost that was acknowledged;
// it is empty where none does.
func (s *Store) Unsafe(ctx context.Context) (setting string, err error) {
	return setting, s.call(ctx, "read settings", func() error {
		return one(ctx, s.pool, []any{&setting}, `SELECT coalesce(string_agg(name || ' = ' || setting, ', ' ORDER BY name), '') FROM pg_settings
			WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'`)
	})
}
