package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
)

// checks are queries that select a text for each problem of lists and their revisions.
var checks = []string{
	`SELECT DISTINCT 'list ' || list || ': it has no row in lists' FROM main.history WHERE list NOT IN (SELECT id FROM main.lists)`,
	`SELECT 'list ' || l.id || ': its row does not name its newest revision' FROM main.lists l WHERE l.revision <> (SELECT max(revision) FROM main.history WHERE list = l.id)
		OR NOT EXISTS (SELECT 1 FROM main.history h WHERE h.seq = l.seq AND h.list = l.id AND h.revision = l.revision)`,
	`SELECT 'list ' || list || ': revision ' || revision || ' follows revision ' || before FROM
		(SELECT list, revision, lag(revision) OVER (PARTITION BY list ORDER BY revision) AS before FROM main.history) AS h WHERE revision <> before + 1`,
}

// Check reads all lists, chats and rows of seen. It calls found for each problem, and returns the number of revisions.
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
	for _, sql := range append(r.sql.of.Checks, checks...) {
		each(sql, func(rows Rows) error {
			var problem string
			err := rows.Scan(&problem)
			found(problem)
			return err
		})
	}
	each(r.sql.revisions+` ORDER BY h.list, h.revision`, func(rows Rows) error {
		revisions++
		_, err := ScanSnapshot(rows)
		return err
	})
	each(`SELECT l.id, h.body, l.excerpt FROM main.lists l JOIN main.history h ON h.list = l.id AND h.revision = l.revision`, func(rows Rows) error {
		var id string
		var body, excerpt []byte
		if err := rows.Scan(&id, &body, &excerpt); err != nil {
			return err
		}
		newest, err := record.Snapshot(body, []byte(`{}`), 0)
		if want, _ := record.Body(newest.Excerpt()); err == nil && string(want) != string(excerpt) {
			found(fmt.Sprintf("list %s: its summary on pages with many lists differs from its newest revision", id))
		}
		return nil
	})
	each(r.sql.AllSeen, func(rows Rows) error {
		_, err := ScanSeen(rows)
		return err
	})
	each(r.sql.allChats, func(rows Rows) error {
		_, err := ScanChat(rows)
		return err
	})
	return revisions, err
}

// Health holds the damaged rows that were read within damageAge. Rows that were read earlier may be repaired.
type Health struct {
	mu    sync.Mutex
	found map[string]time.Time // when each problem was last met, by its text
}

// maxDamage is how many damaged rows are remembered, each for damageAge.
const maxDamage, damageAge = 1000, time.Hour

func (h *Health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.found == nil {
		h.found = make(map[string]time.Time)
	}
	if _, known := h.found[err.Error()]; known || len(h.found) < maxDamage {
		h.found[err.Error()] = time.Now()
	}
}

// Damaged returns a text for each damaged row, sorted.
func (h *Health) Damaged() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.found, func(_ string, at time.Time) bool { return time.Since(at) > damageAge })
	return slices.Sorted(maps.Keys(h.found))
}

// Step calls run for each step after a version, to execute it and set its version. If version > 0, it first calls say.
func Step(steps []string, version int, say func(text string), run func(version int, step string) error) error {
	for n := version; n < len(steps); n++ {
		if version > 0 {
			say(fmt.Sprintf("moving the store to schema %d of %d…", n+1, len(steps)))
		}
		if err := run(n+1, steps[n]); err != nil && version > 0 {
			return fmt.Errorf("schema%03d.sql: %w; nothing was changed: go back to the todo-mcp that you had, and report this", n+1, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}
