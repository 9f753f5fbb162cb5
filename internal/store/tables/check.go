package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
)

// checks returns queries that select texts, each about something wrong with lists and their revisions: those of the
// dialect, then those of both databases.
func (d Dialect) checks() []string {
	history, lists := d.Schema+"history", d.Schema+"lists"
	return append(d.Checks,
		`SELECT DISTINCT 'list ' || list || ': it has no row in lists' FROM `+history+` WHERE list NOT IN (SELECT id FROM `+lists+`)`,
		`SELECT 'list ' || l.id || ': its row does not name its newest revision' FROM `+lists+` l WHERE l.revision <> (SELECT max(revision) FROM `+history+` WHERE list = l.id)
			OR NOT EXISTS (SELECT 1 FROM `+history+` h WHERE h.seq = l.seq AND h.list = l.id AND h.revision = l.revision)`,
		`SELECT 'list ' || list || ': revision ' || revision || ' follows revision ' || before FROM
			(SELECT list, revision, lag(revision) OVER (PARTITION BY list ORDER BY revision) AS before FROM `+history+`) AS h WHERE revision <> before + 1`)
}

// Check reads every row, calls found for each problem, and returns how many revisions it read. An error means that it
// could not go on.
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
	each(r.sql.revisions+` ORDER BY h.list, h.revision`, func(rows Rows) error {
		revisions++
		_, err := r.sql.of.Snapshot(rows)
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
		_, err := r.sql.ScanSeen(rows)
		return err
	})
	each(r.sql.allChats, func(rows Rows) error {
		_, err := r.sql.ScanChat(rows)
		return err
	})
	return revisions, err
}
