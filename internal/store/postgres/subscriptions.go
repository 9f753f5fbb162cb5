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

// endedAge is for how long the end of a subscription is kept for other servers, which
// read it within seconds.
const endedAge = 5 * time.Minute

// Subscribe implements todo.Subscriptions.
func (s *Store) Subscribe(ctx context.Context, sub todo.Subscription, most int) error {
	who, err := json.Marshal(sub.Conversation)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	now := time.Now()
	return s.call(ctx, "subscribe", func() error {
		var done bool
		err := s.pool.QueryRow(ctx, `SELECT todo_mcp.subscribe($1, $2, $3, $4, $5, $6, $7)`, plain(sub.Session), plain(sub.URI), plain(string(who)), most,
			record.UnixNano(now), record.UnixNano(now.Add(-todo.CursorAge)), record.UnixNano(now.Add(-endedAge))).Scan(&done)
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
		done, err := s.pool.Exec(ctx, `UPDATE todo_mcp.subscriptions SET ended = true, seq = todo_mcp.seq(), at = $3
			WHERE session = $1 AND ($2 = '' OR uri = $2) AND NOT ended`, plain(session), plain(uri), record.UnixNano(time.Now()))
		if err == nil && done.RowsAffected() > 0 {
			s.notices.send(sessions)
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

func (s *Store) querySubscriptions(ctx context.Context, sql string, args ...any) ([]todo.Subscription, error) {
	return read(ctx, &s.reader, "read subscriptions", func(from pgx.CollectableRow) (sub todo.Subscription, err error) {
		var who string
		if err = from.Scan(&sub.Session, &sub.URI, &sub.Seq, &sub.Ended, &who); err != nil {
			return sub, err
		}
		sub.Session, sub.URI = original(sub.Session), original(sub.URI)
		return sub, json.Unmarshal([]byte(original(who)), &sub.Conversation)
	}, sql, args...)
}
