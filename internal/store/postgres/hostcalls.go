package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// NoteHostCall implements todo.Store.
func (s *Store) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	return s.call(ctx, "save host call", func() error {
		_, err := s.pool.Exec(ctx, `WITH old AS (DELETE FROM todo_mcp.host_calls WHERE at < $7)
			INSERT INTO todo_mcp.host_calls VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (principal, id) DO UPDATE SET session = excluded.session, agent = excluded.agent, folder = excluded.folder, at = excluded.at`,
			plain(principal), plain(c.ID), plain(c.Session), plain(c.Agent), plain(c.Folder), record.UnixNano(at), record.UnixNano(at.Add(-todo.HostCallAge)))
		return outcome(err)
	})
}

// HostCall implements todo.Store.
func (s *Store) HostCall(ctx context.Context, principal, id string) (todo.HostCall, error) {
	found, err := read(ctx, &s.reader, "read host call", func(from pgx.CollectableRow) (c todo.HostCall, err error) {
		err = from.Scan(&c.ID, &c.Session, &c.Agent, &c.Folder)
		for _, text := range []*string{&c.ID, &c.Session, &c.Agent, &c.Folder} {
			*text = original(*text)
		}
		return c, err
	}, `SELECT id, session, agent, folder FROM todo_mcp.host_calls WHERE principal = $1 AND id = $2 AND at >= $3`,
		plain(principal), plain(id), record.UnixNano(time.Now().Add(-todo.HostCallAge)))
	if err != nil || len(found) == 0 {
		return todo.HostCall{}, err
	}
	return found[0], nil
}
