package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// Check reads every row of the store and calls found for each thing that is wrong
// with it. It returns how many revisions it read. An error means that it could
// not go on.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	err = s.withFile(ctx, func(f *file) error {
		c := checker{f: f, found: found}
		revisions = 0
		for _, step := range []func(context.Context) error{c.pages, c.revisions, c.newest, c.bases, c.cursors} {
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
	return c.f.forEachRow(ctx, `PRAGMA integrity_check`, nil, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if text != "ok" {
			c.found("SQLite: " + text)
		}
		return nil
	})
}

// revisions reads all revisions, list by list, and checks that none is missing in
// between and that they are what their numbers say.
func (c *checker) revisions(ctx context.Context) error {
	var after string
	for {
		list, err := c.nextList(ctx, after)
		if list == "" || err != nil {
			return err
		}
		if err := c.history(ctx, list); err != nil {
			return err
		}
		after = list
	}
}

// nextList returns the id, above after, of the next list that has a row anywhere;
// empty when there is none.
func (c *checker) nextList(ctx context.Context, after string) (string, error) {
	var list sql.NullString
	err := c.f.db.QueryRowContext(ctx, `SELECT min(x) FROM (
		SELECT (SELECT min(id) FROM lists WHERE id > ?1) AS x UNION ALL SELECT (SELECT min(list) FROM history WHERE list > ?1))`, after).Scan(&list)
	return list.String, err
}

// history checks one list, a revision at a time: together they may be larger than
// the memory.
func (c *checker) history(ctx context.Context, list string) error {
	last := int64(0)
	for {
		var r row
		rows := 0
		err := c.f.forEachRow(ctx, selectRecord+` WHERE h.list = ? AND h.revision > ? ORDER BY h.revision LIMIT 1`, []any{list, last}, func(from *sql.Rows) (err error) {
			rows++
			r, err = scan(from)
			return err
		})
		if errors.Is(err, errRecord) {
			c.found(fmt.Sprintf("list %s, after revision %d: %v", list, last, err))
			return nil
		}
		if err != nil {
			return err
		}
		if rows == 0 {
			if last == 0 {
				c.found(fmt.Sprintf("list %s: it has no row in lists, or no revisions", list))
			}
			return nil
		}
		c.read++
		revision := r.revision.Int64
		s, err := r.snapshot(func(id int64) (record.Base, error) { return c.f.base(ctx, id) })
		switch {
		case err != nil:
			c.found(err.Error())
		case s.Revision != revision || s.List.ID != list:
			c.found(fmt.Sprintf("list %s, revision %d: its content is that of list %s, revision %d", list, revision, s.List.ID, s.Revision))
		}
		if last > 0 && revision != last+1 {
			c.found(fmt.Sprintf("list %s: revision %d follows revision %d", list, revision, last))
		}
		last = revision
	}
}

// newest checks the newest revision of every list, as boards read it.
func (c *checker) newest(ctx context.Context) error {
	return c.f.forEachRow(ctx, `SELECT l.id FROM lists l WHERE l.revision <> (SELECT max(revision) FROM history WHERE list = l.id)
		OR NOT EXISTS (SELECT 1 FROM history h WHERE h.seq = l.seq AND h.list = l.id AND h.revision = l.revision)`, nil, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		c.found(fmt.Sprintf("list %s: its row does not name its newest revision", id))
		return err
	})
}

// bases reads all base items.
func (c *checker) bases(ctx context.Context) error {
	last := int64(0)
	for {
		var id sql.NullInt64
		if err := c.f.db.QueryRowContext(ctx, `SELECT min(id) FROM bases WHERE id > ?`, last).Scan(&id); err != nil || !id.Valid {
			return err
		}
		_, err := readBase(id.Int64, c.f.db.QueryRowContext(ctx, selectBase, id.Int64))
		if errors.Is(err, todo.ErrCorrupt) {
			c.found(err.Error())
		} else if err != nil && !errors.Is(err, errBaseGone) {
			return err
		}
		last = id.Int64
	}
}

// cursors reads all cursors.
func (c *checker) cursors(ctx context.Context) error {
	return c.f.forEachRow(ctx, selectCursor, nil, func(rows *sql.Rows) error {
		_, err := scanCursor(rows)
		if errors.Is(err, todo.ErrCorrupt) {
			c.found(err.Error())
			return nil
		}
		return err
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
