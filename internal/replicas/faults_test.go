//go:build e2e && linux

package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
)

// underLoad runs a test with four replicas, in the long form also with two, each with eight agents
// that write meanwhile.
func underLoad(t *testing.T, test func(f *fleet, l *load), options ...string) {
	sizes := []int{4}
	if programtest.Long() {
		sizes = []int{2, 4}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			t.Parallel() // most wait
			f := newFleet(t, n, newDatabase(t).address, options...)
			test(f, newLoad(f, 8))
		})
	}
}

// BAD-INPUT 58
func TestRollingRestart(t *testing.T) {
	underLoad(t, func(f *fleet, l *load) {
		watching := watchers(f.TB, f.balancer.URL)
		rounds, ended := programtest.Size(1, 5), time.Duration(0)
		for range rounds {
			for i := range f.replicas {
				l.await(20)
				ended = max(ended, f.restart(i))
			}
		}
		l.await(20)
		for _, w := range watching {
			if w.discard(); w.renew != nil {
				w.renew()
			}
			w.await(f.TB, "a")
		}
		failed, _ := l.end(programtest.Row{Fault: "rolling restart", Tried: fmt.Sprintf("%d replicas, SIGTERM one by one under load", len(f.replicas)),
			Times: fmt.Sprint(rounds*len(f.replicas), " restarts"), Notes: "ended within " + ms(ended)})
		if failed+int(f.failed.Load()) > 0 {
			f.Errorf("%d calls failed, %d requests reached no replica", failed, f.failed.Load())
		}
	}, "--drain", "1")
}

// BAD-INPUT 51: a call that failed is repeated without being applied twice.
func TestKilledReplicas(t *testing.T) {
	underLoad(t, func(f *fleet, l *load) {
		kills := programtest.Size(2, 40)
		for k := range kills {
			l.await(1 + rand.IntN(20))
			f.replicas[k%len(f.replicas)].Kill()
			l.await(5)
			f.start(k % len(f.replicas))
		}
		l.await(20)
		_, slowest := l.end(programtest.Row{Fault: "kill -9", Tried: fmt.Sprintf("%d replicas, one after the other under load", len(f.replicas)), Times: fmt.Sprint(kills, " kills")})
		if slowest > callTimeout {
			f.Errorf("a call took %s", slowest)
		}
	})
}

func ms(d time.Duration) string { return d.Round(time.Millisecond).String() }

// bound is the most that a call may take in the tests that take the database away;
// storeTimeout is their --request-timeout.
const (
	storeTimeout = 2
	bound        = (storeTimeout + 3) * time.Second
)

// maxConnections is how many connections two replicas may have: four each to read and
// write (more on a machine of more processors), and two each for notices.
var maxConnections = 2 * (max(4, runtime.NumCPU()) + 2)

// BAD-INPUT 53: PostgreSQL stopped, crashed, silent, cut off, or away as `serve` starts → Calls
// fail within `--request-timeout`, or their outcome is unknown, without names of hosts or users;
// `/readyz` answers 503; all recovers by itself. Nothing is lost or applied twice
func TestDatabaseGoes(t *testing.T) {
	start := func(db database, _ *postgrestest.Line) error { return db.Start() }
	for _, c := range []struct {
		fault, tried string
		goes, comes  func(db database, line *postgrestest.Line) error
	}{
		{"PostgreSQL stopped", "fast shutdown, start", func(db database, _ *postgrestest.Line) error { return db.Stop("fast") }, start},
		{"PostgreSQL crashed", "immediate shutdown, start with recovery", func(db database, _ *postgrestest.Line) error { return db.Stop("immediate") }, start},
		{"PostgreSQL does not answer", "no byte passes, connections stay open",
			func(_ database, line *postgrestest.Line) error { line.Hold(); return nil },
			func(_ database, line *postgrestest.Line) error { line.Release(); return nil }},
		{"connections cut", "all connections to PostgreSQL reset at once", nil, func(_ database, line *postgrestest.Line) error { line.Cut(); return nil }},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel() // they wait for bounds to pass
			db := newDatabase(t)
			line, through := newLine(t, db)
			f := newFleet(t, 2, through, "--request-timeout", fmt.Sprint(storeTimeout))
			l := newLoad(f, 8)
			a, b := f.replicas[0], f.replicas[1]
			var fell, healed time.Duration
			times := programtest.Size(1, 5)
			for range times {
				l.await(20)
				if c.goes != nil {
					check(t, c.goes(db, line))
					fell = max(fell, f.until("no replica is ready", func() bool { return !a.ready.Load() && !b.ready.Load() }))
					l.awaitFailures()
				}
				check(t, c.comes(db, line))
				healed = max(healed, f.until("both replicas are ready", func() bool { return a.ready.Load() && b.ready.Load() }))
				l.await(20)
				if n := db.connections(t); n > maxConnections {
					t.Errorf("%d connections are open, want at most %d: they pile up", n, maxConnections)
				}
			}
			_, slowest := l.end(programtest.Row{Fault: c.fault, Tried: c.tried + "; 2 replicas under load", Times: fmt.Sprint(times, " times"),
				Notes: fmt.Sprintf("not ready after %s, ready again after %s", ms(fell), ms(healed))})
			if slowest > bound || fell > bound || healed > bound {
				t.Errorf("a call took %s, readiness fell after %s and came back after %s, want at most %s each", slowest, fell, healed, bound)
			}
		})
	}
}

// newLine returns a line to a database, and the address of that through it.
func newLine(t *testing.T, db database) (line *postgrestest.Line, through string) {
	t.Helper()
	line = must(postgrestest.NewLine(db.Server))(t)
	t.Cleanup(line.Close)
	return line, must(line.Through(db.address))(t)
}

type load struct {
	testing.TB
	fleet   *fleet
	agents  []*agent
	journal programtest.Journal
	stop    context.CancelFunc
	done    sync.WaitGroup
}

func newLoad(f *fleet, n int) *load {
	f.Helper()
	l := &load{TB: f.TB, fleet: f, agents: newAgents(f, f, n)}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	for _, a := range l.agents {
		l.done.Go(func() {
			for {
				done, ok := a.write(ctx)
				if !ok {
					return
				}
				l.journal.Add(done)
			}
		})
	}
	f.Cleanup(func() { stop(); l.done.Wait() })
	return l
}

func (l *load) await(n int) {
	l.Helper()
	enough := l.journal.Len() + n
	l.fleet.until("writes go on", func() bool { return l.journal.Len() >= enough })
}

// awaitFailures waits until a call of every agent has failed since.
func (l *load) awaitFailures() {
	l.Helper()
	for _, a := range l.agents {
		before := a.failed.Load()
		l.fleet.until("every call fails", func() bool { return a.failed.Load() > before })
	}
}

// end ends the load, looks at what is in the store, and reports the row with it.
func (l *load) end(row programtest.Row) (failed int, slowest time.Duration) {
	l.Helper()
	l.stop()
	l.done.Wait()
	h := must(programtest.Export(program, l.TempDir(), nil, l.fleet.store))(l)
	row.Acknowledged, row.Lost = l.journal.Len(), h.Check(l, l.journal.Acks)
	for _, a := range l.agents {
		for serial := 1; serial <= a.Serial; serial++ {
			if write := fmt.Sprintf("%s-%d", a.Name, serial); h.Made(write) > 1 {
				l.Errorf("the write %s was made %d times", write, h.Made(write))
			}
		}
		failed, slowest = failed+int(a.failed.Load()), max(slowest, a.slow)
	}
	row.Notes += fmt.Sprintf("; %d failed calls repeated, slowest call %s", failed, ms(slowest))
	report.Add(l, row)
	return failed, slowest
}
