package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
)

// checks returns what selects what is wrong with lists and their revisions together, as it is
// said, after a dialect's own.
func (d Dialect) checks() []string {
	history, lists := d.Schema+"history", d.Schema+"lists"
	return append(d.Checks,
		`SELECT DISTINCT 'list ' || list || ': it has no row in lists' FROM `+history+` WHERE list NOT IN (SELECT id FROM `+lists+`)`,
		`SELECT 'list ' || l.id || ': its row does not name its newest revision' FROM `+lists+` l WHERE l.revision <> (SELECT max(revision) FROM `+history+` WHERE list = l.id)
			OR NOT EXISTS (SELECT 1 FROM `+history+` h WHERE h.seq = l.seq AND h.list = l.id AND h.revision = l.revision)`,
		`SELECT 'list ' || list || ': revision ' || revision || ' follows revision ' || before FROM
			(SELECT list, revision, lag(revision) OVER (PARTITION BY list ORDER BY revision) AS before FROM `+history+`) AS h WHERE revision <> before + 1`)
}

// Check reads every row and calls found for each thing that is wrong with one. It returns how
// many revisions it read. An error means that it could not go on.
func (r Reader) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	each := func(sql string, read func(Rows) error) {
		if err != nil {
			return
		}
		err = r.query(ctx, "check store", sql, nil, func(rows Rows) error {
			for rows.Next() {
				if err := read(rows); errors.Is(err, board.ErrDamaged) {
					found(err.Error())
				} else if err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	for _, sql := range r.sql.checks {
		each(sql, func(rows Rows) error {
			var problem string
			err := rows.Scan(&problem)
			found(problem)
			return err
		})
	}
	each(r.sql.Revisions+` ORDER BY h.list, h.revision`, func(rows Rows) error {
		revisions++
		_, err := r.scans.Snapshot(rows)
		return err
	})
	each(r.sql.excerpted, func(rows Rows) error {
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
	each(r.sql.AllSeen, func(rows Rows) error {
		_, err := r.scans.Seen(rows)
		return err
	})
	each(r.sql.AllChats, func(rows Rows) error {
		_, err := r.scans.Chat(rows)
		return err
	})
	return revisions, err
}
