package postgres

import (
	"context"
	"sync"
	"time"

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

// seen is whether a process was alive when its row was read. For a process that attends on this store, at lies far in
// the future until it leaves.
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

// Attend implements board.Store. The process has a row that expires, and renews it until it leaves, also after a renewal
// failed.
func (s *Store) Attend(process string) (leave func(), err error) {
	if err := s.enter(s.ctx); err != nil {
		return nil, err
	}
	s.alive.note(process, seen{true, time.Now().AddDate(100, 0, 0)})
	ctx, stop := context.WithCancel(s.ctx)
	s.sayAlive(ctx, process)
	done := make(chan struct{})
	go func() {
		defer s.work.Done()
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

// Alive implements board.Store. When the database does not answer it returns what it read last, and true for an unknown
// process.
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
