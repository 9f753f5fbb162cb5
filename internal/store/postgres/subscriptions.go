package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/record"
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
		err := s.pool.QueryRow(ctx, `SELECT todo_mcp.subscribe($1, $2, $3, $4, $5, $6, $7)`, plain(sub.Session), plain(sub.URI), plain(sub.Conversation.Key), plain(string(who)), most,
			record.UnixNano(now), record.UnixNano(now.Add(-todo.CursorAge))).Scan(&done)
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
		done, err := s.pool.Exec(ctx, `DELETE FROM todo_mcp.subscriptions WHERE session = $1 AND ($2 = '' OR uri = $2)`, plain(session), plain(uri))
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
	plainIDs := make([]string, len(ids))
	for i, id := range ids {
		plainIDs[i] = plain(id)
	}
	now := time.Now()
	err = s.call(ctx, "read subscriptions", func() error {
		if _, err := s.pool.Exec(ctx, `UPDATE todo_mcp.subscriptions SET at = $2 WHERE session = ANY($1) AND at < $3`,
			plainIDs, record.UnixNano(now), record.UnixNano(now.Add(-useAge))); err != nil {
			return err
		}
		found, err = collect(ctx, s.pool, func(from pgx.CollectableRow) (sub todo.Subscription, err error) {
			var who string
			if err = from.Scan(&sub.Session, &sub.URI, &who); err != nil {
				return sub, err
			}
			sub.Session, sub.URI = original(sub.Session), original(sub.URI)
			return sub, json.Unmarshal([]byte(original(who)), &sub.Conversation)
		}, `SELECT session, uri, conversation FROM todo_mcp.subscriptions WHERE session = ANY($1)`, plainIDs)
		return err
	})
	return found, err
}
