package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/tables"
	"todo-mcp/internal/todo"
)

var _ todo.Subscriptions = (*Store)(nil)

// Subscribe implements todo.Subscriptions.
func (s *Store) Subscribe(ctx context.Context, sub todo.Subscription, most int) error {
	who, err := json.Marshal(sub.Conversation)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	now := time.Now()
	return s.call(ctx, "subscribe", func() error {
		var done bool
		err := one(ctx, s.pool, []any{&done}, `SELECT todo_mcp.subscribe($1, $2, $3, $4, $5, $6, $7)`, sub.Session, sub.URI, sub.Conversation.Key,
			string(who), most, record.UnixNano(now), record.UnixNano(now.Add(-todo.CursorAge)))
		switch {
		case err != nil:
			return outcome(err)
		case !done:
			return todo.ErrTooManySubscriptions
		}
		s.notices.send(sessions)
		return nil
	})
}

// Unsubscribe implements todo.Subscriptions.
func (s *Store) Unsubscribe(ctx context.Context, session, uri string) error {
	return s.call(ctx, "unsubscribe", func() error {
		done, err := s.pool.Exec(ctx, `DELETE FROM todo_mcp.subscriptions WHERE session = $1 AND ($2 = '' OR uri = $2)`, stored([]any{session, uri})...)
		if err == nil && done.RowsAffected() > 0 {
			s.notices.send(sessions)
		}
		return outcome(err)
	})
}

// useAge is how exactly it is known when a stream last asked for a subscription.
const useAge = 24 * time.Hour

// SubscriptionsOf implements todo.Subscriptions.
func (s *Store) SubscriptionsOf(ctx context.Context, ids []string) (found []todo.Subscription, err error) {
	now := time.Now()
	err = s.call(ctx, "read subscriptions", func() error {
		if _, err := s.pool.Exec(ctx, `UPDATE todo_mcp.subscriptions SET at = $2 WHERE session = ANY($1) AND at < $3`,
			stored([]any{ids, record.UnixNano(now), record.UnixNano(now.Add(-useAge))})...); err != nil {
			return err
		}
		found, err = collect(ctx, s.pool, func(from tables.Rows) (sub todo.Subscription, err error) {
			var who string
			if err = from.Scan(&sub.Session, &sub.URI, &who); err != nil {
				return sub, err
			}
			return sub, json.Unmarshal([]byte(who), &sub.Conversation)
		}, `SELECT session, uri, conversation FROM todo_mcp.subscriptions WHERE session = ANY($1)`, ids)
		return err
	})
	return found, err
}

// SessionKey implements store.SessionKeeper: the key that signs the ids of sessions
// is kept with the lists, so that a session is valid on every server. fresh is the
// key that it becomes if there is none.
func (s *Store) SessionKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	err = s.call(ctx, "read session key", func() error {
		err := one(ctx, s.pool, []any{&key}, `SELECT session_key FROM todo_mcp.store WHERE session_key IS NOT NULL`)
		if errors.Is(err, pgx.ErrNoRows) {
			err = one(ctx, s.pool, []any{&key}, `UPDATE todo_mcp.store SET session_key = coalesce(session_key, $1) RETURNING session_key`, fresh)
		}
		return err
	})
	if err == nil && len(key) < len(fresh) {
		err = fmt.Errorf("read session key: it has %d bytes, not %d", len(key), len(fresh))
	}
	return key, err
}
