//go:build e2e && linux

package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
)

// program is the path of the real binary, and report what the tests found; both
// are of one run of the tests.
var (
	program string
	report  programtest.Table
)

func TestMain(m *testing.M) {
	// Many clients share the default one: they keep their connections.
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 100
	os.Exit(programtest.Run(m, &program, &report))
}

type database struct {
	*postgrestest.Server
	address string
}

// newDatabase starts a PostgreSQL of the test's own, which it may stop. Its commits
// are as durable as in production.
func newDatabase(t testing.TB) database {
	t.Helper()
	s := must(postgrestest.New())(t)
	t.Cleanup(s.Close)
	address := must(s.NewDatabase())(t)
	return database{s, address}
}

func (d database) connections(t testing.TB) (n int) {
	t.Helper()
	ctx := context.Background()
	conn := must(pgx.Connect(ctx, d.address))(t)
	defer conn.Close(ctx)
	check(t, conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&n))
	return n
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

type replica struct {
	*programtest.Process
	url   *url.URL
	ready atomic.Bool // as the balancer last found it
}

type fleet struct {
	testing.TB
	store    string
	options  []string
	replicas []*replica
	next     atomic.Int64
	balancer *httptest.Server
	failed   atomic.Int64 // requests that the balancer could pass to no replica
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
			if r.Context().Err() == nil { // else its client went away
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
	p := must(programtest.Start(f, program, f.TempDir(), nil, args...))(f)
	address, err := p.URL()
	check(f, err)
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

// probe asks for readiness on connections of its own, and waits for as long as a
// replica may take to answer.
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

// passing passes requests to replicas on a connection each, as balancers do by
// default: nothing is sent on one that the replica is about to close.
var passing = &http.Transport{DisableKeepAlives: true}

// RoundTrip passes a request to the next replica that is ready. One that was sent is never sent
// again.
func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	first := int(f.next.Add(1))
	for i := range 2 * len(f.replicas) {
		at := f.replicas[(first+i)%len(f.replicas)]
		if i < len(f.replicas) && !at.ready.Load() {
			continue // in the second round one that is not ready will do
		}
		var res *http.Response
		r.URL.Scheme, r.URL.Host = at.url.Scheme, at.url.Host
		if res, err = passing.RoundTrip(r); !errors.Is(err, syscall.ECONNREFUSED) {
			return res, err
		}
	}
	return nil, fmt.Errorf("no replica takes the request: %w", err)
}

// restart ends a replica by a signal, so that it drains, starts it again at its address, and
// returns how long the end took.
func (f *fleet) restart(i int) (took time.Duration) {
	f.Helper()
	r := f.replicas[i]
	began := time.Now()
	check(f, r.Terminate())
	if err := r.Wait(20 * time.Second); err != nil {
		f.Errorf("a replica ended with %v: %s", err, r.Log)
	}
	took = time.Since(began)
	f.start(i)
	return took
}

// until waits until something is so, which cannot be waited for otherwise, and
// returns how long that took.
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
	chat   *chattest.Chat
	failed atomic.Int64 // calls without an answer, or refused
	slow   time.Duration
}

// callTimeout bounds a call: longer than the server takes at most.
const callTimeout = 15 * time.Second

func newAgents(t testing.TB, f *fleet, n int) (agents []*agent) {
	t.Helper()
	for i := range n {
		era := []chattest.Transport{chattest.Session, chattest.Sessionless}[i%2]
		a := &agent{Writer: programtest.Writer{Name: fmt.Sprint("a", i)}}
		a.chat = chattest.OverHTTP(t, era, "tester", fmt.Sprintf("%s/mcp?list=list-%d", f.balancer.URL, i/2))
		a.chat.HTTP = newHTTPClient(t)
		a.chat.HTTP.Timeout = callTimeout
		agents = append(agents, a)
	}
	return agents
}

// write makes the next write, and repeats it with the same operation until it is
// acknowledged, after a pause as clients make it. It returns ok false when ctx ended first.
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
