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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// replica is one server of a fleet. It keeps its address when it starts again.
type replica struct {
	*programtest.Process
	url   *url.URL
	ready atomic.Bool // as the balancer last found it
}

// fleet is replicas on one database, and the balancer before them.
type fleet struct {
	testing.TB
	store    string
	options  []string
	replicas []*replica
	next     atomic.Int64
	balancer *httptest.Server
	failed   atomic.Int64 // requests that the balancer could pass to no replica
}

// newFleet starts n replicas on a store, and a balancer.
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

// start starts a replica, at the address that it had if there is one.
func (f *fleet) start(i int) {
	f.Helper()
	r, addr := f.replicas[i], "127.0.0.1:0"
	if r.url != nil {
		addr = r.url.Host
	}
	args := append([]string{"serve", "--addr", addr, "--store", f.store, "--tools", "all", "--keep-revisions", "0"}, f.options...)
	p, err := programtest.Start(f, program, f.TempDir(), nil, args...)
	if err != nil {
		f.Fatal(err)
	}
	address, err := p.URL()
	if err != nil {
		f.Fatal(err)
	}
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

// askEvery is how often the balancer asks a replica whether it is ready.
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

// RoundTrip passes a request to the next replica that is ready, and to another one
// when the connection is refused: then nothing was sent. A request that was sent is
// never sent again.
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

// restart ends a replica as an operator does, by a signal alone: it is not ready then,
// so that the balancer sends it nothing more, and goes on for as long as the fleet's
// --drain says. restart starts it again at its address, and returns how long the end
// took.
func (f *fleet) restart(i int) (took time.Duration) {
	f.Helper()
	r := f.replicas[i]
	began := time.Now()
	if err := r.Terminate(); err != nil {
		f.Fatal(err)
	}
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
			f.Fatalf("never so: %s\n%s", what, f.logs())
		}
	}
	return time.Since(began)
}
