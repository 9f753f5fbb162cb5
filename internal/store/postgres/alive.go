package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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

// processes knows which processes are alive: each writes a row that expires.
type processes struct {
	pool   *pgxpool.Pool
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	own   map[string]bool
	known map[string]seen
}

// seen is what was read about a process.
type seen struct {
	alive bool
	at    time.Time
}

func (p *processes) start(pool *pgxpool.Pool) {
	p.pool, p.own, p.known = pool, make(map[string]bool), make(map[string]seen)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.done.Go(func() {
		every := time.NewTicker(sayAliveEvery)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				_ = p.say(ctx) // the next time is before the rows expire
			case <-ctx.Done():
				return
			}
		}
	})
}

func (p *processes) stop() {
	p.cancel()
	p.done.Wait()
}

// say says that the processes of this store are alive, and forgets those that ended
// long ago.
func (p *processes) say(ctx context.Context) error {
	p.mu.Lock()
	ids := slices.Collect(maps.Keys(p.own))
	p.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	_, err := p.pool.Exec(ctx, `WITH old AS (DELETE FROM todo_mcp.processes WHERE until < now() - interval '1 day')
		INSERT INTO todo_mcp.processes SELECT id, now() + $2 * interval '1 millisecond' FROM unnest($1::text[]) AS id
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, stored([]any{ids, aliveFor.Milliseconds()})...)
	return err
}

// Attend implements todo.Store.
func (s *Store) Attend(process string) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	p := &s.alive
	err = s.call(ctx, "make process known", func() error {
		p.mu.Lock()
		p.own[process] = true
		p.mu.Unlock()
		return p.say(ctx)
	})
	if err != nil {
		return nil, err
	}
	return func() {
		p.mu.Lock()
		delete(p.own, process)
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.exec(ctx, "leave", `DELETE FROM todo_mcp.processes WHERE id = $1`, process)
	}, nil
}

// Alive implements todo.Store. When the database cannot be asked, a process counts as
// what it was, and one of which nothing is known as alive.
func (s *Store) Alive(process string) bool {
	p := &s.alive
	p.mu.Lock()
	was, known := p.known[process]
	own := p.own[process]
	p.mu.Unlock()
	if own || known && time.Since(was.at) < aliveAge {
		return own || was.alive
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) > maxKnown {
		clear(p.known)
	}
	p.known[process] = now
	return now.alive
}

// maxKnown is how many processes are remembered.
const maxKnown = 10_000
