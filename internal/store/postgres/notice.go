package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/store/hints"
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
	// reconnectAfter is for how long a lost connection for notices is not tried
	// again.
	reconnectAfter = 500 * time.Millisecond
)

// notices sends and receives notices on one connection, which it opens again when
// it is lost. It hints the watchers of this store.
type notices struct {
	config   *pgx.ConnConfig
	wake     chan struct{} // one slot: a notice is to be sent
	cancel   context.CancelFunc
	done     sync.WaitGroup
	watchers hints.Hints
	lag      noticeLag
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
	n.config, n.wake = config, make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.done.Go(func() { n.receive(ctx) })
	n.done.Go(func() { n.run(ctx) })
}

func (n *notices) stop() {
	n.cancel()
	n.done.Wait()
}

// send hints the watchers here and, soon, at other servers.
func (n *notices) send() {
	n.watchers.Send()
	n.lag.wait()
	n.want()
}

// want has run send a notice.
func (n *notices) want() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run sends notices, one for all that are wanted in the meantime.
func (n *notices) run(ctx context.Context) {
	var conn *pgx.Conn
	defer func() { closeConn(conn) }()
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		var err error
		if conn == nil {
			conn, err = pgx.ConnectConfig(ctx, n.config)
		}
		if err == nil {
			n.lag.mu.Lock()
			n.lag.sender = conn.PgConn().PID()
			n.lag.mu.Unlock()
			_, err = conn.Exec(ctx, "SELECT pg_notify($1, $2)", channel, saves)
		}
		pause := noticeInterval
		if err != nil {
			closeConn(conn)
			conn, pause = nil, reconnectAfter
			n.lag.wait()
			n.want() // it is still to be sent
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

// receive hints the watchers for every notice, and whenever it has connected: it may have
// missed some.
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
	n.watchers.Send()
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		n.lag.receive(notice.PID)
		n.watchers.Send()
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
func (s *Store) Watch(ctx context.Context, hint func()) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.work.Done()
	var hinted time.Time // zero once another hint has followed
	first := func() { hinted = time.Now(); hint() }
	return s.notices.watchers.Watch(ctx, s.ctx.Done(), first, func() error {
		if !hinted.IsZero() && time.Since(hinted) >= settleAfter {
			hinted = time.Time{}
			hint()
		}
		return nil
	})
}
