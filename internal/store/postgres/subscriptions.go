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
func (s *Store) Subscribe(ctx context.Context, sub todo.Subscription) error {
	who, err := json.Marshal(sub.Conversation)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	now := time.Now()
	return s.call(ctx, "subscribe", func() error {
		_, err := s.pool.Exec(ctx, `WITH old AS (DELETE FROM todo_mcp.subscriptions WHERE at < $6 AND session <> $1)
			INSERT INTO todo_mcp.subscriptions VALUES ($1, $2, todo_mcp.seq(), $3, $4, $5)
			ON CONFLICT (session, uri) DO UPDATE SET seq = excluded.seq, ended = excluded.ended, conversation = excluded.conversation, at = excluded.at`,
			plain(sub.Session), plain(sub.URI), sub.Ended, plain(string(who)), record.UnixNano(now), record.UnixNano(now.Add(-todo.BindingAge)))
		if err == nil {
			s.notices.send()
		}
		return outcome(err)
	})
}

const subscriptionColumns = ` session, uri, seq, ended, conversation `

// SubscriptionsOf implements todo.Subscriptions.
func (s *Store) SubscriptionsOf(ctx context.Context, session string) ([]todo.Subscription, error) {
	return s.querySubscriptions(ctx, `UPDATE todo_mcp.subscriptions SET at = $2 WHERE session = $1 AND NOT ended RETURNING`+subscriptionColumns,
		plain(session), record.UnixNano(time.Now()))
}

// pageSize is about how many rows a server reads at once of what others stored. Those
// of one transaction have the same seq and come together.
const pageSize = 500

// SubscriptionsAfter implements todo.Subscriptions.
func (s *Store) SubscriptionsAfter(ctx context.Context, after int64) ([]todo.Subscription, error) {
	return s.querySubscriptions(ctx, `SELECT`+subscriptionColumns+`FROM todo_mcp.subscriptions WHERE seq > $1 AND seq < todo_mcp.settled()
		ORDER BY seq FETCH FIRST $2 ROWS WITH TIES`, after, pageSize)
}

func (s *Store) querySubscriptions(ctx context.Context, sql string, args ...any) (found []todo.Subscription, err error) {
	err = s.call(ctx, "read subscriptions", func() error {
		rows, err := s.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(from pgx.CollectableRow) (sub todo.Subscription, err error) {
			var who string
			if err = from.Scan(&sub.Session, &sub.URI, &sub.Seq, &sub.Ended, &who); err != nil {
				return sub, err
			}
			sub.Session, sub.URI = original(sub.Session), original(sub.URI)
			return sub, json.Unmarshal([]byte(original(who)), &sub.Conversation)
		})
		return err
	})
	return found, err
}
