package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

const (
	// aliveFor is for how long a process counts as alive after it has said so. A
	// server whose machine is lost is known as gone after it.
	aliveFor = 30 * time.Second
	// sayAliveEvery is how often a process says so.
	sayAliveEvery = aliveFor / 3
	// aliveAge is for how long what was read about a process is taken as it was.
	aliveAge = time.Second
)

// processes is what is known about processes.
type processes struct {
	mu    sync.Mutex
	known map[string]seen
}

// seen is what was read about a process. That one attends on this store is known until
// it leaves.
type seen struct {
	alive bool
	at    time.Time
}

// maxKnown is how many processes are remembered.
const maxKnown = 10_000

func (p *processes) note(process string, s seen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) > maxKnown {
		p.known = make(map[string]seen)
	}
	p.known[process] = s
}

// Attend implements board.Store. The process has a row that expires, and says again and
// again that it is alive, also after it could not be said.
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
			s.sayAlive(ctx, process) // the next time is before the row expires
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

// sayAlive says that a process of this store is alive, and forgets those that ended long
// ago.
func (s *Store) sayAlive(ctx context.Context, process string) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	_ = s.exec(ctx, "make process known", `WITH old AS (DELETE FROM todo_mcp.processes WHERE until < now() - interval '1 day')
		INSERT INTO todo_mcp.processes VALUES ($1, now() + $2 * interval '1 millisecond')
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, process, aliveFor.Milliseconds())
}

// Alive implements board.Store. When the database cannot be asked, a process counts as
// what it was, and an unknown one as alive.
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
