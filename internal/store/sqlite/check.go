package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"todo-mcp/internal/store/tables"
)

// Check reads every row of the store and calls found for each thing that is wrong
// with it. It returns how many revisions it read. An error means that it could
// not go on.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	err = s.withFile(ctx, func(f *file) error {
		c := checker{f: f, found: found}
		revisions = 0
		for _, step := range []func(context.Context) error{c.pages, c.revisions, c.orphans, c.newest, c.cursors} {
			// What one step cannot read need not keep the others from it.
			if err := step(ctx); failedWith(err, codeCorrupt) {
				found(err.Error())
			} else if err != nil {
				return err
			}
		}
		revisions = c.read
		return nil
	})
	if err != nil {
		return revisions, fmt.Errorf("check store: %w", err)
	}
	return revisions, nil
}

type checker struct {
	f     *file
	found func(string)
	read  int
}

// pages lets SQLite check its own structures.
func (c *checker) pages(ctx context.Context) error {
	return c.each(ctx, `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`, "SQLite: %s")
}

// revisions reads all revisions, list by list, and checks that none is missing in
// between and that they are what their numbers say.
func (c *checker) revisions(ctx context.Context) error {
	var last row
	return c.f.statements.query(ctx, queries.Revisions+` ORDER BY h.list, h.revision`, nil, func(rows tables.Rows) error {
		for rows.Next() {
			c.read++
			var r row
			if err := r.scan(rows); err != nil {
				c.found(fmt.Sprintf("list %s, after revision %d: %v", last.list.String, last.revision.Int64, err))
				last = row{}
				continue
			}
			list, revision := r.list.String, r.revision.Int64
			s, err := r.snapshot(new(recent))
			switch {
			case err != nil:
				c.found(err.Error())
			case s.Revision != revision || s.List.ID != list:
				c.found(fmt.Sprintf("list %s, revision %d: its content is that of list %s, revision %d", list, revision, s.List.ID, s.Revision))
			}
			if last.list == r.list && revision != last.revision.Int64+1 {
				c.found(fmt.Sprintf("list %s: revision %d follows revision %d", list, revision, last.revision.Int64))
			}
			last.list, last.revision = r.list, r.revision
		}
		return rows.Err()
	})
}

// orphans looks for revisions of no list.
func (c *checker) orphans(ctx context.Context) error {
	return c.each(ctx, `SELECT DISTINCT list FROM history WHERE list NOT IN (SELECT id FROM lists)`, "list %s: it has no row in lists")
}

// newest checks the newest revision of every list, as boards read it.
func (c *checker) newest(ctx context.Context) error {
	return c.each(ctx, `SELECT l.id FROM lists l WHERE l.revision <> (SELECT max(revision) FROM history WHERE list = l.id)
		OR NOT EXISTS (SELECT 1 FROM history h WHERE h.seq = l.seq AND h.list = l.id AND h.revision = l.revision)`, "list %s: its row does not name its newest revision")
}

// each reports a problem for each text that a query selects.
func (c *checker) each(ctx context.Context, query, problem string) error {
	return c.f.statements.query(ctx, query, nil, func(rows tables.Rows) error {
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			c.found(fmt.Sprintf(problem, text))
		}
		return rows.Err()
	})
}

// cursors reads all cursors.
func (c *checker) cursors(ctx context.Context) error {
	return c.f.statements.query(ctx, queries.AllCursors, nil, func(rows tables.Rows) error {
		for rows.Next() {
			if _, err := scanCursor(rows); err != nil {
				c.found(err.Error())
			}
		}
		return rows.Err()
	})
}

// Compact gives the space that removed lists took back to the file system.
func (s *Store) Compact(ctx context.Context) error {
	db, err := sql.Open("sqlite", dsn(s.path, "mode=rw", "busy_timeout(10000)"))
	if err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	_, err = db.ExecContext(ctx, `VACUUM`)
	if err == nil {
		_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	if err = errors.Join(describe(s.path, err), db.Close()); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	return nil
}
