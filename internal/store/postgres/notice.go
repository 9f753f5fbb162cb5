package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/hints"
)

const (
	// channel is the name under which notices are sent. Their payload is a topic.
	channel = "todo_mcp"
	// noticeInterval is the least time between two notices of a server. PostgreSQL
	// commits transactions that send notices one after the other, so they are not
	// sent in those that save.
	noticeInterval = 20 * time.Millisecond
	// reconnectAfter is for how long a lost connection for notices is not tried
	// again.
	reconnectAfter = 500 * time.Millisecond
)

// topic is what a notice says there is to read.
type topic string

const (
	saves    topic = "saves"
	currents topic = "currents" // which lists are current
)

// notices sends and receives notices on one connection, which it opens again when
// it is lost. It hints the watchers of this store.
type notices struct {
	config *pgx.ConnConfig
	wake   chan struct{} // one slot: the wanted notices are to be sent
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	wanted map[topic]bool // not sent yet

	watchers map[topic]*hints.Hints

	lag noticeLag
}

// noticeLag times notices from a save until this server has its own notice back,
// as every other server then has it. A save between another one and its notice is not
// timed.
type noticeLag struct {
	mu     sync.Mutex
	since  time.Time // a save waits since then for its notice to come back; zero: none does
	sender uint32    // the database's process that sends notices of this server
}

// wait is called when a save is to be told of.
func (l *noticeLag) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = time.Now()
	}
}

// receive is called when a notice of a process of the database has come. Process 0 means
// that this server listens again: a notice that was sent before may never come, and what
// it told is read anyhow.
func (l *noticeLag) receive(process uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if process == l.sender || process == 0 {
		l.since = time.Time{}
	}
}

// NoticeLag returns for how long a notice of a save has been on its way back from the
// database; 0 when none is.
func (s *Store) NoticeLag() time.Duration {
	l := &s.notices.lag
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return 0
	}
	return time.Since(l.since)
}

func (n *notices) start(config *pgx.ConnConfig) {
	n.config, n.wake, n.wanted = config, make(chan struct{}, 1), make(map[topic]bool)
	n.watchers = map[topic]*hints.Hints{saves: {}, currents: {}}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.done.Go(func() { n.receive(ctx) })
	n.done.Go(func() { n.run(ctx) })
}

func (n *notices) stop() {
	n.cancel()
	n.done.Wait()
}

// send hints the watchers of a topic here and, soon, at other servers.
func (n *notices) send(t topic) {
	n.hint(t)
	n.lag.wait()
	n.want(t)
}

// want has run send notices.
func (n *notices) want(topics ...topic) {
	n.mu.Lock()
	for _, t := range topics {
		n.wanted[t] = true
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notices) hint(t topic) {
	if watchers := n.watchers[t]; watchers != nil {
		watchers.Send()
	}
}

// run sends notices, and what is asked for in the meantime with the next one.
func (n *notices) run(ctx context.Context) {
	var conn *pgx.Conn
	defer func() { closeConn(conn) }()
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		n.mu.Lock()
		topics := slices.Collect(maps.Keys(n.wanted))
		clear(n.wanted)
		n.mu.Unlock()
		var err error
		if conn == nil {
			conn, err = pgx.ConnectConfig(ctx, n.config)
		}
		if err == nil {
			n.lag.mu.Lock()
			n.lag.sender = conn.PgConn().PID()
			n.lag.mu.Unlock()
			_, err = conn.Exec(ctx, "SELECT pg_notify($1, t) FROM unnest($2::text[]) AS t", channel, topics)
		}
		pause := noticeInterval
		if err != nil {
			closeConn(conn)
			conn, pause = nil, reconnectAfter
			n.lag.wait()
			n.want(topics...) // they are still to be sent
		}
		sleep(ctx, pause)
	}
}

// sleep returns after a time, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// receive hints the watchers of its topic for every notice, and all whenever it has
// connected: it may have missed some.
func (n *notices) receive(ctx context.Context) {
	for ctx.Err() == nil {
		_ = n.listen(ctx) // the feed reads by itself every few seconds
		sleep(ctx, reconnectAfter)
	}
}

func (n *notices) listen(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, n.config)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	n.lag.receive(0)
	n.hint(saves)
	n.hint(currents)
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		n.lag.receive(notice.PID)
		n.hint(topic(notice.Payload))
	}
}

func closeConn(conn *pgx.Conn) {
	if conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}
}

// settleAfter is the least time after a hint at which another one follows. A save can be
// read at once, but Find with a position shows it only when all that began before it have
// ended, too.
const settleAfter = 10 * time.Millisecond

// Watch implements todo.Store.
func (s *Store) Watch(ctx context.Context, hint func()) error { return s.watch(ctx, saves, hint) }

// WatchCurrent implements store.SessionKeeper: another save gives no hint.
func (s *Store) WatchCurrent(ctx context.Context, hint func()) error {
	return s.watch(ctx, currents, hint)
}

func (s *Store) watch(ctx context.Context, t topic, hint func()) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.work.Done()
	var hinted time.Time // zero once another hint has followed
	first := func() { hinted = time.Now(); hint() }
	return s.notices.watchers[t].Watch(ctx, s.ctx.Done(), first, func() error {
		if !hinted.IsZero() && time.Since(hinted) >= settleAfter {
			hinted = time.Time{}
			hint()
		}
		return nil
	})
}
