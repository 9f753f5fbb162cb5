package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/hints"
)

const (
	// channel is the name under which notices are sent, and saves what they say: there is
	// something to read.
	channel = "todo_mcp"
	saves   = "saves"
	// noticeInterval is the least time between two notices of a server. PostgreSQL
	// commits transactions that send notices one after the other, so they are not
	// sent in those that save.
	noticeInterval = 20 * time.Millisecond
	// reconnectAfter is for how long nothing is tried again after a failure.
	reconnectAfter = 500 * time.Millisecond
)

// notices tells other servers of saves, by the pool, and receives what they tell on a
// connection of its own, which it opens again when it is lost. It hints the watchers of
// this store.
type notices struct {
	pool     *pgxpool.Pool
	receiver *pgx.ConnConfig
	wake     chan struct{} // one slot: a notice is to be sent
	watchers hints.Hints
	since    atomic.Int64 // a save waits since then for a notice, in Unix nanoseconds; 0: none does
}

// NoticeLag returns for how long a save of this server has been waiting for a notice
// to come from the database; 0 when none is. Every other server is to have it then, too.
func (s *Store) NoticeLag() time.Duration {
	since := s.notices.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// send hints the watchers here and, soon, at other servers.
func (n *notices) send() {
	n.watchers.Send()
	n.want()
}

// want has run send a notice.
func (n *notices) want() {
	n.since.CompareAndSwap(0, time.Now().UnixNano())
	board.Signal(n.wake)
}

// run sends notices, one for all that are wanted in the meantime.
func (n *notices) run(ctx context.Context) {
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		pause := noticeInterval
		if _, err := n.pool.Exec(ctx, "SELECT pg_notify($1, $2)", channel, saves); err != nil {
			pause = reconnectAfter
			n.want() // it is still to be sent
		}
		board.Sleep(ctx, pause)
	}
}

// receive hints the watchers for every notice, and whenever it has connected: it may have
// missed some.
func (n *notices) receive(ctx context.Context) {
	for ctx.Err() == nil {
		_ = n.listen(ctx) // the feed reads by itself every few seconds
		board.Sleep(ctx, reconnectAfter)
	}
}

func (n *notices) listen(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, n.receiver)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	n.since.Store(0) // a notice that was sent before may never come; what it told is read now
	n.watchers.Send()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		n.since.Store(0)
		n.watchers.Send()
	}
}

// lookEvery is how often the store looks for what is new where no notices arrive.
const lookEvery = 50 * time.Millisecond

// newestSeqs selects what changes with each save.
const newestSeqs = `SELECT coalesce(sum(seq), 0)::text FROM ((SELECT seq FROM todo_mcp.lists ORDER BY seq DESC LIMIT 1000)
	UNION ALL (SELECT seq FROM todo_mcp.chats ORDER BY seq DESC LIMIT 1000)) AS newest`

// look hints the watchers when another list or chat, or another revision of a list, is among
// the newest. More than those are not saved at once.
func (n *notices) look(ctx context.Context) {
	last, pause := "", lookEvery
	for board.Sleep(ctx, pause) {
		now := ""
		if pause = lookEvery; one(ctx, n.pool, []any{&now}, newestSeqs) != nil {
			pause = reconnectAfter
			continue
		}
		n.since.Store(0)
		if now != last {
			last = now
			n.watchers.Send()
		}
	}
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// settleAfter is the least time after a hint at which another one follows. A save can be
// read at once, but Find with a position shows it only when all that began before it have
// ended, too.
const settleAfter = 10 * time.Millisecond

// Watch implements board.Store.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.work.Done()
	return s.notices.watchers.Watch(ctx, s.ctx.Done(), hint, settleAfter, nil, func() (time.Duration, error) {
		hint()
		return 0, nil
	})
}
