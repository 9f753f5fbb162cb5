package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"todo-mcp/internal/todo"
)

// Announced implements todo.Store.
func (s *Store) Announced(ctx context.Context, after int64) (found []todo.Announcement, err error) {
	const query = `SELECT seq, list, revision, call, process FROM announcements WHERE seq > ? ORDER BY seq`
	err = s.forEachRow(ctx, query, []any{after}, func() { found = nil }, func(rows *sql.Rows) error {
		var a todo.Announcement
		err := rows.Scan(&a.Seq, &a.List, &a.Revision, &a.Call, &a.Process)
		found = append(found, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read announcements: %w", err)
	}
	return found, nil
}
