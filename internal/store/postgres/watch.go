package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

const (
	// aliveFor is how long a process counts as alive after it renewed its row, which it does every sayAliveEvery.
	aliveFor      = 30 * time.Second
	sayAliveEvery = aliveFor / 3
	// aliveAge is how long Alive returns what it read before.
	aliveAge = time.Second
	// maxKnown is how many processes are remembered.
	maxKnown = 10_000
)

// processes remembers which processes were alive.
type processes struct {
	mu    sync.Mutex
	known map[string]seen
}

// seen is whether a process was alive at a time. The time lies in the future while the process attends on this store.
type seen struct {
	alive bool
	at    time.Time
}

func (p *processes) note(process string, s seen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) > maxKnown {
		p.known = make(map[string]seen)
	}
	p.known[process] = s
}

// Attend implements board.Store. The process has a row that expires, and renews it until it leaves.
func (s *Store) Attend(process string) (leave func(), err error) {
	if err := s.life.Enter(s.life.Open); err != nil {
		return nil, err
	}
	s.alive.note(process, seen{true, time.Now().AddDate(100, 0, 0)})
	ctx, stop := context.WithCancel(s.life.Open)
	s.sayAlive(ctx, process)
	done := make(chan struct{})
	go func() {
		defer s.life.Work.Done()
		defer close(done)
		for board.Sleep(ctx, sayAliveEvery) {
			s.sayAlive(ctx, process)
		}
	}()
	return func() {
		stop()
		<-done
		s.alive.note(process, seen{})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.exec(ctx, "leave", `DELETE FROM todo_mcp.processes WHERE id = $1`, process)
	}, nil
}

// sayAlive renews the row of a process, and deletes rows that expired a day ago.
func (s *Store) sayAlive(ctx context.Context, process string) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	_ = s.exec(ctx, "make process known", `WITH old AS (DELETE FROM todo_mcp.processes WHERE until < now() - interval '1 day')
		INSERT INTO todo_mcp.processes VALUES ($1, now() + $2 * interval '1 millisecond')
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, process, aliveFor.Milliseconds())
}

// Alive implements board.Store. If the database does not answer it returns what it knew; an unknown process is alive.
func (s *Store) Alive(process string) bool {
	s.alive.mu.Lock()
	was, known := s.alive.known[process]
	s.alive.mu.Unlock()
	if known && time.Since(was.at) < aliveAge {
		return was.alive
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	now := seen{at: time.Now()}
	err := s.call(ctx, "ask for process", func() error {
		return one(ctx, s.pool, []any{&now.alive}, `SELECT EXISTS (SELECT 1 FROM todo_mcp.processes WHERE id = $1 AND until > now())`, process)
	})
	if err != nil {
		return was.alive || !known
	}
	s.alive.note(process, now)
	return now.alive
}

const (
	// channel is the channel on which notices are sent, and saves their payload.
	channel, saves = "todo_mcp", "saves"
	// noticeInterval is the least time between two notices of a server. No transaction with a save sends a notice,
	// because PostgreSQL commits transactions with notices one after the other.
	noticeInterval = 20 * time.Millisecond
	// reconnectAfter is how long to wait after a failure.
	reconnectAfter = 500 * time.Millisecond
	// settleAfter is the time from a hint to a second one: Find shows a save only after all earlier transactions ended.
	settleAfter = 10 * time.Millisecond
)

// notify notifies other servers of saves, once for all that were made since the last notice.
func (s *Store) notify() {
	for {
		select {
		case <-s.saved:
		case <-s.life.Open.Done():
			return
		}
		pause := noticeInterval
		if s.tell(s.life.Open) != nil {
			pause = reconnectAfter
			board.Signal(s.saved)
		}
		board.Sleep(s.life.Open, pause)
	}
}

// tell sends one notice.
func (s *Store) tell(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "SELECT pg_notify($1, $2)", channel, saves)
	return err
}

// receive hints the watchers for every notice, and whenever it has connected, since it may have missed notices.
func (s *Store) receive(config *pgx.ConnConfig) {
	for s.life.Open.Err() == nil {
		_ = s.listen(s.life.Open, config) // while it fails, watchers read by themselves every few seconds
		board.Sleep(s.life.Open, reconnectAfter)
	}
}

// listen receives notices on a connection of its own.
func (s *Store) listen(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	for { // first without a notice: one that was sent before may never come, and its save is read now
		s.life.Hint()
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// Watch implements board.Store.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	return s.life.Watch(ctx, hint, settleAfter, nil, func() (time.Duration, error) {
		hint()
		return 0, nil
	})
}
