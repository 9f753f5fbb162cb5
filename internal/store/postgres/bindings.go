package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// selectBinding selects bindings.
const selectBinding = `SELECT b.principal, b.conversation, b.list, b.seen, b.process, b.moved, b.at, b.server, b.until FROM todo_mcp.bindings b`

// Bind implements todo.Store.
func (s *Store) Bind(ctx context.Context, bindings ...todo.Binding) error {
	return s.call(ctx, "save bindings", func() error {
		_, err := s.pool.Exec(ctx, `SELECT todo_mcp.bind('', $1, $2)`, record.UnixNano(time.Now()), newBindings(bindings))
		if err == nil && anyMoves(bindings, "") {
			s.notices.send(sessions)
		}
		return outcome(err)
	})
}

// anyMoves reports whether bindings, those without a list of the one given, may let a
// conversation hold another list than before.
func anyMoves(bindings []todo.Binding, list string) bool {
	return slices.ContainsFunc(bindings, func(b todo.Binding) bool { return b.Moves && b.Over != cmp.Or(b.List, list) })
}

// Moves implements todo.Subscriptions.
func (s *Store) Moves(ctx context.Context, after int64) (found []todo.Move, err error) {
	err = s.call(ctx, "read moves", func() error {
		rows, err := s.pool.Query(ctx, `SELECT principal, conversation, seq FROM todo_mcp.bindings WHERE seq > 0 AND seq > $1 AND seq < todo_mcp.settled()
			ORDER BY seq FETCH FIRST $2 ROWS WITH TIES`, after, pageSize)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(from pgx.CollectableRow) (m todo.Move, err error) {
			err = from.Scan(&m.Principal, &m.Conversation, &m.Seq)
			m.Principal, m.Conversation = original(m.Principal), original(m.Conversation)
			return m, err
		})
		return err
	})
	return found, err
}

// Bindings implements todo.Store.
func (s *Store) Bindings(ctx context.Context, principal, conversation string) ([]todo.Binding, error) {
	return s.queryBindings(ctx, selectBinding+` WHERE b.principal = $1 AND b.conversation = $2 ORDER BY b.moved DESC`, plain(principal), plain(conversation))
}

// Holders implements todo.Store.
func (s *Store) Holders(ctx context.Context, principal, list string) ([]todo.Binding, error) {
	where, args := `b.list = $2`, []any{plain(principal), list}
	if list == "" {
		where, args = `b.list <> ''`, args[:1]
	}
	return s.queryBindings(ctx, selectBinding+` WHERE b.principal = $1 AND `+where+` AND b.moved > 0 AND b.moved = (
		SELECT max(moved) FROM todo_mcp.bindings WHERE principal = b.principal AND conversation = b.conversation) ORDER BY b.conversation`, args...)
}

func (s *Store) queryBindings(ctx context.Context, sql string, args ...any) (found []todo.Binding, err error) {
	err = s.call(ctx, "read bindings", func() error {
		rows, err := s.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, scanBinding)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func scanBinding(from pgx.CollectableRow) (b todo.Binding, err error) {
	var at, until int64
	err = from.Scan(&b.Principal, &b.Conversation, &b.List, &b.Seen, &b.Process, &b.Moved, &at, &b.Server, &until)
	for _, text := range []*string{&b.Principal, &b.Conversation, &b.Process, &b.Server} {
		*text = original(*text)
	}
	b.At = time.Unix(0, at).UTC()
	if until != 0 {
		b.Until = time.Unix(0, until).UTC()
	}
	return b, err
}

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
func (s *Store) HostCall(ctx context.Context, principal, id string) (c todo.HostCall, err error) {
	err = s.call(ctx, "read host call", func() error {
		err := s.pool.QueryRow(ctx, `SELECT id, session, agent, folder FROM todo_mcp.host_calls WHERE principal = $1 AND id = $2 AND at >= $3`,
			plain(principal), plain(id), record.UnixNano(time.Now().Add(-todo.HostCallAge))).Scan(&c.ID, &c.Session, &c.Agent, &c.Folder)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		for _, text := range []*string{&c.ID, &c.Session, &c.Agent, &c.Folder} {
			*text = original(*text)
		}
		return err
	})
	if err != nil {
		return todo.HostCall{}, err
	}
	return c, nil
}

// Announce implements todo.Store.
func (s *Store) Announce(ctx context.Context, a todo.Announcement) error {
	return s.call(ctx, "announce call", func() error {
		_, err := s.pool.Exec(ctx, `WITH one AS (INSERT INTO todo_mcp.announcements (list, revision, call, process) VALUES ($1, $2, $3, $4) RETURNING seq)
			DELETE FROM todo_mcp.announcements WHERE seq <= (SELECT seq - $5 FROM one)`, plain(a.List), a.Revision, plain(a.Call), plain(a.Process), todo.KeepAnnouncements)
		if err == nil {
			s.notices.send(saves)
		}
		return outcome(err)
	})
}

// Announced implements todo.Store.
func (s *Store) Announced(ctx context.Context, after int64) (found []todo.Announcement, err error) {
	err = s.call(ctx, "read announcements", func() error {
		rows, err := s.pool.Query(ctx, `SELECT seq, list, revision, call, process FROM todo_mcp.announcements WHERE seq > $1 ORDER BY seq`, after)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(from pgx.CollectableRow) (a todo.Announcement, err error) {
			err = from.Scan(&a.Seq, &a.List, &a.Revision, &a.Call, &a.Process)
			a.List, a.Call, a.Process = original(a.List), original(a.Call), original(a.Process)
			return a, err
		})
		return err
	})
	return found, err
}
