package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/tables"
)

// checks select what is wrong with a store, each with what is said about it.
var checks = []struct{ query, problem string }{
	// SQLite checks its own structures.
	{`SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`, "SQLite: %s"},
	{`SELECT DISTINCT list FROM history WHERE list NOT IN (SELECT id FROM lists)`, "list %s: it has no row in lists"},
	{`SELECT l.id FROM lists l WHERE l.revision <> (SELECT max(revision) FROM history WHERE list = l.id)
		OR NOT EXISTS (SELECT 1 FROM history h WHERE h.seq = l.seq AND h.list = l.id AND h.revision = l.revision)`,
		"list %s: its row does not name its newest revision"},
}

// Check reads every row of the store and calls found for each thing that is wrong
// with it. It returns how many revisions it read. An error means that it could
// not go on.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	// What one query cannot read need not keep the others from being made.
	check := func(query string, read func(tables.Rows) error) {
		if err == nil {
			err = s.query(ctx, "check store", query, nil, func(rows tables.Rows) error {
				for rows.Next() {
					if err := read(rows); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		}
		if failedWith(err, codeCorrupt) {
			found(err.Error())
			err = nil
		}
	}
	for _, c := range checks {
		check(c.query, func(rows tables.Rows) error {
			var text string
			err := rows.Scan(&text)
			found(fmt.Sprintf(c.problem, text))
			return err
		})
	}
	var last row
	check(queries().Revisions+` ORDER BY h.list, h.revision`, func(rows tables.Rows) error {
		revisions++
		last, err = last.checkNext(rows, found)
		return err
	})
	check(`SELECT l.id, h.body, l.excerpt FROM lists l JOIN history h ON h.seq = l.seq`, func(rows tables.Rows) error {
		var id string
		var body, excerpt []byte
		if err := rows.Scan(&id, &body, &excerpt); err != nil {
			return err
		}
		newest, err := record.Snapshot(body, []byte(`{}`), 0)
		if want, _ := record.Body(newest.Excerpt()); err == nil && string(want) != string(excerpt) {
			found(fmt.Sprintf("list %s: what pages with many lists show of it is not what its newest revision says", id))
		}
		return nil
	})
	check(queries().AllSeen, func(rows tables.Rows) error {
		if _, err := scanSeen(rows); err != nil {
			found(err.Error())
		}
		return nil
	})
	check(queries().AllChats, func(rows tables.Rows) error {
		if _, err := scanChat(rows); err != nil {
			found(err.Error())
		}
		return nil
	})
	return revisions, err
}

// checkNext reads the revision after a row, and checks that none is missing in between
// and that it is what its number says. It returns the row that was read.
func (r *row) checkNext(rows tables.Rows, found func(problem string)) (next row, err error) {
	s, err := next.read(rows)
	switch {
	case err != nil && !errors.Is(err, errRecord):
		return next, err
	case err != nil:
		found(err.Error())
	case s.Revision != next[rowRevision] || s.List.ID != next[rowList]:
		found(fmt.Sprintf("list %v, revision %v: it has the content of list %s, revision %d", next[rowList], next[rowRevision], s.List.ID, s.Revision))
	}
	before, _ := r[rowRevision].(int64)
	if r[rowList] == next[rowList] && next[rowRevision] != before+1 {
		found(fmt.Sprintf("list %v: revision %v follows revision %d", next[rowList], next[rowRevision], before))
	}
	return next, nil
}

// compactStep is how many pages are moved in one transaction, while nobody else writes.
const compactStep = 256

// Compact gives the space that removed lists took back to the file system. Between its
// steps, which take some milliseconds, others write.
func (s *Store) Compact(ctx context.Context) error {
	db, err := openDatabase(s.path, 1, "mode=rw", "busy_timeout(10000)", "synchronous(FULL)")
	if err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	free := func() (pages int, err error) {
		return pages, db.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&pages)
	}
	for before, now := math.MaxInt, 0; err == nil; before = now {
		if now, err = free(); err != nil || now == 0 || now >= before { // nothing went: others take space, too
			break
		}
		began := time.Now()
		if err = step(ctx, db, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, compactStep)); err == nil {
			board.Sleep(ctx, time.Since(began)) // who waits to write is next
		}
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	if err = errors.Join(describe(s.path, err), db.Close()); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	return nil
}

// step runs a statement that goes on as its rows are read.
func step(ctx context.Context, db *sql.DB, statement string) error {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		continue
	}
	return rows.Err()
}
