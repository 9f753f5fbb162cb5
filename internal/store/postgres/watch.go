package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

const (
	// aliveFor is how long a process counts as alive after it renewed its row. It renews the row every sayAliveEvery.
	aliveFor      = 30 * time.Second
	sayAliveEvery = aliveFor / 3
	// If a process was alive at the last read, Alive reads again after aliveAge. If it was not, Alive reads again after
	// deadAge, since the process may have begun meanwhile.
	aliveAge, deadAge = time.Second, 20 * time.Millisecond
)

// alive holds the processes that were alive at the last read.
type alive struct {
	sync.Mutex
	read    time.Time
	isKnown bool // the database answered that read
	are     []string
}

// forget makes the next call of Alive read the processes again.
func (a *alive) forget() {
	a.Lock()
	defer a.Unlock()
	a.read = time.Time{}
}

// Attend implements board.Store. The process gets a row that expires, and renews the row until it leaves.
func (s *Store) Attend(process string) (leave func()) {
	if s.life.Enter(s.life.Open) != nil {
		return nil
	}
	ctx, stop := context.WithCancel(s.life.Open)
	s.sayAlive(ctx, process)
	s.alive.forget()
	var renewing sync.WaitGroup
	renewing.Go(func() {
		defer s.life.Work.Done()
		for board.Sleep(ctx, sayAliveEvery) {
			s.sayAlive(ctx, process)
		}
	})
	return func() {
		stop()
		renewing.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.exec(ctx, "leave", `DELETE FROM todo_mcp.processes WHERE id = $1`, process)
		s.alive.forget()
	}
}

// sayAlive renews the row of a process, and deletes rows that expired a day ago.
func (s *Store) sayAlive(ctx context.Context, process string) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	_ = s.exec(ctx, "make process known", `WITH old AS (DELETE FROM todo_mcp.processes WHERE until < now() - interval '1 day')
		INSERT INTO todo_mcp.processes VALUES ($1, now() + $2 * interval '1 millisecond')
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, process, aliveFor.Milliseconds())
}

// Alive implements board.Store. If the database does not answer, all processes count as alive for aliveAge.
func (s *Store) Alive(process string) bool {
	s.alive.Lock()
	defer s.alive.Unlock()
	age := aliveAge
	if s.alive.isKnown && !slices.Contains(s.alive.are, process) {
		age = deadAge
	}
	if time.Since(s.alive.read) > age {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := s.call(ctx, "ask for processes", func() (err error) {
			found, _ := s.pool.Query(ctx, `SELECT id FROM todo_mcp.processes WHERE until > now()`) // CollectRows returns the error
			s.alive.are, err = pgx.CollectRows(found, pgx.RowTo[string])
			return err
		})
		s.alive.read, s.alive.isKnown = time.Now(), err == nil
	}
	return !s.alive.isKnown || slices.Contains(s.alive.are, process)
}

const (
	// channel is the channel on which notices are sent, and saves is their payload.
	channel, saves = "todo_mcp", "saves"
	// noticeInterval is the least time between two notices of a server. The transaction of a save never sends a notice,
	// because PostgreSQL commits transactions with notices one after the other.
	noticeInterval = 20 * time.Millisecond
	// reconnectAfter is the pause after a failed notice or a failed connection.
	reconnectAfter = 500 * time.Millisecond
	// settleAfter is the time until a second hint: Find shows a save only after all earlier transactions have ended.
	settleAfter = 10 * time.Millisecond
)

// notify notifies other servers of saves, with one notice for all saves since the last notice.
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

// receive hints the watchers at every notice, and at each new connection, since notices may have been missed before.
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
	for { // the first hint waits for no notice: a notice sent before LISTEN may never come, but its save can be read
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
	return s.life.Watch(ctx, hint, nil, func(waited bool) <-chan time.Time {
		if waited {
			return nil
		}
		return time.After(settleAfter)
	})
}
