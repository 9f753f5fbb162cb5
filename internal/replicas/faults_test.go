//go:build e2e && linux

package replicas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func underLoad(t *testing.T, test func(f *fleet, l *load), options ...string) {
	sizes := []int{4}
	if programtest.Long() {
		sizes = []int{2, 4}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			t.Parallel() // the tests mostly wait
			f := newFleet(t, n, newDatabase(t).address, options...)
			test(f, newLoad(f, 8))
		})
	}
}

// BAD-INPUT 58: no call fails in a rolling restart.
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
	}, "--drain", "4") // much longer than askEvery, even if the machine stalls for a second or two
}

// BAD-INPUT 51: a call that fails because its replica is killed can be repeated, and is applied once.
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

// bound is the longest time that a call may take in tests that take the database away. storeTimeout is the
// --request-timeout of the servers in these tests, in seconds.
const (
	storeTimeout = 2
	bound        = (storeTimeout + 3) * time.Second
)

// maxConnections is how many connections two replicas may have. Each may have four to read and write (more on a machine
// of more processors), and two for notices.
var maxConnections = 2 * (max(4, runtime.NumCPU()) + 2)

// BAD-INPUT 53: PostgreSQL stopped, crashed, silent, cut off, or away as `serve` starts → Calls fail within
// `--request-timeout`, or their outcome is unknown; errors name no hosts or users; `/readyz` answers 503; all recovers
// by itself. Nothing is lost or applied twice
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
			t.Parallel() // the tests mostly wait for timeouts
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
					checktest.Check(t, c.goes(db, line))
					fell = max(fell, f.until("no replica is ready", func() bool { return !a.ready.Load() && !b.ready.Load() }))
					l.awaitFailures()
				}
				checktest.Check(t, c.comes(db, line))
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

func newLine(t *testing.T, db database) (line *postgrestest.Line, through string) {
	t.Helper()
	line = checktest.Must(postgrestest.NewLine(db.Server))(t)
	t.Cleanup(line.Close)
	return line, checktest.Must(line.Through(db.address))(t)
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

func (l *load) awaitFailures() {
	l.Helper()
	for _, a := range l.agents {
		before := a.failed.Load()
		l.fleet.until("every call fails", func() bool { return a.failed.Load() > before })
	}
}

func (l *load) end(row programtest.Row) (failed int, slowest time.Duration) {
	l.Helper()
	l.stop()
	l.done.Wait()
	h := checktest.Must(programtest.Export(program, l.TempDir(), nil, l.fleet.store))(l)
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

var (
	program string
	report  programtest.Table
)

func TestMain(m *testing.M) {
	// Many clients share the default transport, which keeps their connections.
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 100
	os.Exit(programtest.Run(m, &program, &report))
}

type database struct {
	*postgrestest.Server
	address string
}

// newDatabase starts a PostgreSQL server for the test, which may stop the server. Commits are as durable as in
// production. A deadlock in the server's log fails the test.
func newDatabase(t testing.TB) database {
	t.Helper()
	s := checktest.Must(postgrestest.New())(t)
	t.Cleanup(func() {
		if said, err := os.ReadFile(s.Log()); err != nil || bytes.Contains(said, []byte("deadlock")) {
			t.Errorf("calls waited for each other: %s, %v", said, err)
		}
		s.Close()
	})
	address := checktest.Must(s.NewDatabase())(t)
	return database{s, address}
}

func (d database) connections(t testing.TB) (n int) {
	t.Helper()
	ctx := context.Background()
	conn := checktest.Must(pgx.Connect(ctx, d.address))(t)
	defer conn.Close(ctx)
	checktest.Check(t, conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&n))
	return n
}

type replica struct {
	*programtest.Process
	url   *url.URL
	ready atomic.Bool // whether /readyz answered 200 when last asked
}

type fleet struct {
	testing.TB
	store    string
	options  []string
	replicas []*replica
	next     atomic.Int64
	balancer *httptest.Server
	failed   atomic.Int64 // requests for which the balancer got no answer from a replica
}

func newFleet(t testing.TB, n int, store string, options ...string) *fleet {
	t.Helper()
	f := &fleet{TB: t, store: store, options: options}
	for range n {
		f.replicas = append(f.replicas, &replica{})
	}
	for i := range n {
		f.start(i)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetXForwarded() }, FlushInterval: -1, Transport: f, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) {
			if r.Context().Err() == nil { // if not, the client went away
				f.failed.Add(1)
			}
			w.WriteHeader(http.StatusBadGateway)
		}}
	f.balancer = httptest.NewServer(proxy)
	ctx, stop := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	for _, r := range f.replicas {
		asking.Go(func() { r.ask(ctx) })
	}
	t.Cleanup(func() {
		stop()
		f.balancer.CloseClientConnections()
		f.balancer.Close()
		asking.Wait()
	})
	return f
}

func (f *fleet) start(i int) {
	f.Helper()
	r, addr := f.replicas[i], "127.0.0.1:0"
	if r.url != nil {
		addr = r.url.Host
	}
	args := append([]string{"serve", "--addr", addr, "--store", f.store, "--tools", "all", "--keep-revisions", "0"}, f.options...)
	p := checktest.Must(programtest.Start(f, program, f.TempDir(), nil, args...))(f)
	address, err := p.URL()
	checktest.Check(f, err)
	if r.url == nil {
		if r.url, err = url.Parse(address); err != nil {
			f.Fatal(err)
		}
	}
	r.Process = p
	if !r.isReady() {
		f.Fatalf("%s is not ready when it listens: %s", address, p.Log)
	}
	r.ready.Store(true)
}

// probe requests /readyz on a new connection each time. An answer may take as long as any call (bound).
var probe = &http.Client{Timeout: bound, Transport: &http.Transport{DisableKeepAlives: true}}

func (r *replica) isReady() bool {
	res, err := probe.Get(r.url.String() + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

const askEvery = 100 * time.Millisecond

func (r *replica) ask(ctx context.Context) {
	every := time.NewTicker(askEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			r.ready.Store(r.isReady())
		case <-ctx.Done():
			return
		}
	}
}

// passing sends each request to a replica on a new connection, as balancers do by default, so that no request goes to a
// connection that the replica is about to close.
var passing = &http.Transport{DisableKeepAlives: true}

// RoundTrip passes a request to the next ready replica. A request that was sent is never sent again.
func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	first := int(f.next.Add(1))
	for i := range 2 * len(f.replicas) {
		at := f.replicas[(first+i)%len(f.replicas)]
		if i < len(f.replicas) && !at.ready.Load() {
			continue // only the second round tries replicas that are not ready
		}
		var res *http.Response
		r.URL.Scheme, r.URL.Host = at.url.Scheme, at.url.Host
		if res, err = passing.RoundTrip(r); !errors.Is(err, syscall.ECONNREFUSED) {
			return res, err
		}
	}
	return nil, fmt.Errorf("no replica takes the request: %w", err)
}

// restart ends a replica with SIGTERM, so that it drains, and starts it again at its address. It returns how long the
// replica took to end.
func (f *fleet) restart(i int) (took time.Duration) {
	f.Helper()
	r := f.replicas[i]
	began := time.Now()
	checktest.Check(f, r.Terminate())
	if err := r.Wait(20 * time.Second); err != nil {
		f.Errorf("a replica ended with %v: %s", err, r.Log)
	}
	took = time.Since(began)
	f.start(i)
	return took
}

func (f *fleet) until(what string, isSo func() bool) time.Duration {
	f.Helper()
	began, look := time.Now(), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	for !isSo() {
		if <-look.C; time.Since(began) > 30*time.Second {
			var logs string
			for _, r := range f.replicas {
				logs += r.Log.String()
			}
			f.Fatalf("never so: %s\n%s", what, logs)
		}
	}
	return time.Since(began)
}

func newHTTPClient(t testing.TB) *http.Client {
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return &http.Client{Transport: connections}
}

type agent struct {
	programtest.Writer
	chat   *servertest.Chat
	failed atomic.Int64 // calls without an answer, or refused
	slow   time.Duration
}

// callTimeout bounds a call. It is longer than a server takes for any call.
const callTimeout = 15 * time.Second

func newAgents(t testing.TB, f *fleet, n int) (agents []*agent) {
	t.Helper()
	for i := range n {
		era := []servertest.Transport{servertest.Session, servertest.Sessionless}[i%2]
		a := &agent{Writer: programtest.Writer{Name: fmt.Sprint("a", i)}}
		a.chat = servertest.OverHTTP(t, era, "tester", fmt.Sprintf("%s/mcp?list=list-%d", f.balancer.URL, i/2))
		a.chat.HTTP = newHTTPClient(t)
		a.chat.HTTP.Timeout = callTimeout
		agents = append(agents, a)
	}
	return agents
}

// write makes the next write. Until the write is acknowledged, it is repeated after a pause as the same operation. ok
// is false if ctx ended first.
func (a *agent) write(ctx context.Context) (done programtest.Acknowledged, ok bool) {
	tool, args, id := a.Next()
	for pause := time.Duration(0); ; pause = 50 * time.Millisecond {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return done, false
		}
		began := time.Now()
		got, err := a.chat.InOperation(id).Try(tool, args)
		a.slow = max(a.slow, time.Since(began))
		if errors.Join(err, got.Refused()) == nil {
			return programtest.Acknowledged{List: got.List(), Revision: got.Revision(), Write: id}, true
		}
		a.failed.Add(1)
	}
}
