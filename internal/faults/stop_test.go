//go:build e2e && linux

package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// stopTimeout is how long calls in progress may take after a process is told to end. stopGrace is how much longer the
// process may take to write, close and end.
const (
	stopTimeout = 8 * time.Second
	stopGrace   = 2 * time.Second
)

// BAD-INPUT 58: a server that is told to end (SIGTERM) while calls are in flight, over HTTP or on stdio, ends without
// an error and in time. Each acknowledged write is stored, a refused one is not, and an unanswered one is stored whole
// or not at all.
func TestStopUnderLoad(t *testing.T) {
	rounds, calls := size(1, 5), size(200, 1000)
	stopping{"SIGTERM over HTTP", stopServing, rounds, calls, 0}.run(t)
	stopping{"SIGTERM on stdio", stopAgents, rounds, calls, 0}.run(t)
}

// BAD-INPUT 58: the same on a disk whose syncs may outlast the time that calls have left: the process ends as soon as
// the sync in progress ends.
func TestStopOnSlowDisk(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "SIGTERM on a slow disk", why)
		return
	}
	takes := time.Duration(size(5, 15)) * time.Second
	stopping{"SIGTERM on a slow disk, HTTP", stopServing, 1, 20, takes}.run(t)
	stopping{"SIGTERM on a slow disk, stdio", stopAgents, 1, size(4, 16), takes}.run(t)
}

type stopping struct {
	fault         string
	stop          func(t *testing.T, path string, calls int, out *inFlight)
	rounds, calls int
	syncTakes     time.Duration
}

type inFlight struct {
	outcomes
	slowest   time.Duration // from the signal to the end of the process
	slow      *mounted      // a disk that becomes slow, or nil
	syncTakes time.Duration // how long a sync takes on the slow disk
}

func (s stopping) run(t *testing.T) {
	t.Helper()
	t.Run(s.fault, func(t *testing.T) {
		tried, within := fmt.Sprintf("%d calls in flight", s.calls), stopTimeout+stopGrace
		if s.syncTakes > 0 {
			t.Parallel()
			tried, within = fmt.Sprintf("each sync takes %s, %s", s.syncTakes, tried), within+stopGrace+s.syncTakes
		}
		total := row{Fault: s.fault, Tried: tried, Times: fmt.Sprintf("%d times", s.rounds)}
		var slowest time.Duration
		var unknown, refused int
		for range s.rounds {
			path, out := filepath.Join(t.TempDir(), "todos.db"), &inFlight{syncTakes: s.syncTakes}
			if s.syncTakes > 0 {
				out.slow = checktest.Must(mount(t, newDisk()))(t)
				path = filepath.Join(out.slow.dir, storePath)
			}
			s.stop(t, path, s.calls, out)
			out.slowDown(0)
			out.check(t, path, false)
			total.Acknowledged, total.Lost = total.Acknowledged+out.acks.Len(), total.Lost+out.lost
			slowest, unknown, refused = max(slowest, out.slowest), unknown+len(out.unknown), refused+len(out.refused)
		}
		if slowest > within {
			t.Errorf("%s until the process had ended", slowest)
		}
		total.Notes = fmt.Sprintf("exit 0 within %.1f s; %d refused, %d unanswered: whole or not there", slowest.Seconds(), refused, unknown)
		report.Add(t, total)
	})
}

func (f *inFlight) slowDown(takes time.Duration) {
	if f.slow != nil {
		f.slow.syncTakes.Store(int64(takes))
	}
}

func (f *inFlight) note(a servertest.Answer, err error, write string) error {
	if errors.Is(err, servertest.ErrGone) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.unknown = append(f.unknown, write)
		return nil
	}
	if err == nil {
		f.sort(a, write)
	}
	return err
}

func (f *inFlight) end(t *testing.T, p *process, signalled time.Time) {
	t.Helper()
	if err := p.Wait(5*f.syncTakes + stopTimeout + 5*stopGrace); err != nil {
		t.Errorf("it ended with %v: %s", err, p.Log)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slowest = max(f.slowest, time.Since(signalled))
}

// stopServing sends calls in twenty sessions to a server whose store is locked or slow, so that all calls are in
// flight. It then tells the server to end, and unlocks a locked store once the server no longer listens.
func stopServing(t *testing.T, path string, calls int, out *inFlight) {
	t.Helper()
	s := mustServe(t, "--store", "sqlite:"+path)
	const sessions = 20
	var clients []*servertest.Chat
	for i := range sessions {
		clients = append(clients, s.session(t, fmt.Sprint("list-", i%4)))
	}
	first := newWriter("first")
	done := checktest.Must(first.write(clients[0]))(t)
	out.acks.Add(done)
	release := func() {}
	if out.slowDown(out.syncTakes); out.slow == nil {
		release = lockStore(t, path)
	}
	var all sync.WaitGroup
	sent := make(chan struct{}, calls)
	for i, c := range clients {
		w := newWriter(fmt.Sprint("s", i))
		for range calls / sessions {
			tool, args, write := w.Next()
			id := w.Serial
			all.Go(func() {
				a, err := once(c, id, tool, args, sent)
				if err := out.note(a, err, write); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for range calls / sessions * sessions {
		<-sent
	}
	s.awaitBegun(calls)
	signalled := time.Now()
	checktest.Check(t, s.Terminate())
	for { // until the server no longer listens
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			break
		}
		c.Close()
	}
	release()
	all.Wait()
	out.end(t, s.process, signalled)
	// When the signal comes, the server may have read some requests without having begun to handle them.
	if n := len(out.unknown); n > calls/10 && out.slow == nil {
		t.Errorf("%d of %d calls that the server had were not answered", n, calls)
	}
}

// once makes a call while other calls of its session are in flight. The channel sent gets a value when the request is
// written or has failed.
func once(c *servertest.Chat, id int, tool, args string, sent chan<- struct{}) (servertest.Answer, error) {
	out := sync.OnceFunc(func() { sent <- struct{}{} })
	defer out()
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { out() }}
	return c.Send(httptrace.WithClientTrace(context.Background(), trace), servertest.Call(id, tool, args))
}

// awaitBegun waits until the server handles a number of requests, with two goroutines for each. A request that is not
// yet begun when the server is told to end gets no answer.
func (s *serving) awaitBegun(requests int) {
	goroutines := regexp.MustCompile(`(?m)^go_goroutines ([0-9]+)$`)
	for begun := 0; begun < 2*requests; {
		_, metrics := get(s.url + "/metrics")
		if found := goroutines.FindStringSubmatch(metrics); found != nil {
			begun, _ = strconv.Atoi(found[1])
		}
	}
}

func lockStore(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db := checktest.Must(sql.Open("sqlite", path))(t)
	db.SetMaxOpenConns(1)
	checktest.Must(db.Exec("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE"))(t)
	return func() {
		checktest.Must(db.Exec("ROLLBACK"))(t)
		db.Close()
	}
}

func stopAgents(t *testing.T, path string, calls int, out *inFlight) {
	t.Helper()
	agents := make([]*agent, size(1, 4))
	for i := range agents {
		agents[i] = checktest.Must(newAgent(t, "--store", "sqlite:"+path, "--list", fmt.Sprint("list-", i%2)))(t)
	}
	out.slowDown(out.syncTakes)
	var all sync.WaitGroup
	for i, a := range agents {
		all.Go(func() {
			if err := stopAgent(t, a, newWriter(fmt.Sprint("p", i)), calls/len(agents), out); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func stopAgent(t *testing.T, a *agent, w *writer, calls int, out *inFlight) error {
	var messages strings.Builder
	writes := make([]string, calls)
	for i := range calls {
		tool, args, write := w.Next()
		messages.WriteString(servertest.Call(i+1, tool, args) + "\n")
		writes[i] = write
	}
	var sending sync.WaitGroup
	sending.Go(func() { a.Chat.Write(messages.String()) }) // returns when the process ends, at the latest
	defer sending.Wait()
	at := rand.IntN(calls / 2)
	var signalled time.Time
	for i, write := range writes {
		if i == at {
			signalled = time.Now()
			if err := a.Terminate(); err != nil {
				return err
			}
		}
		got, err := a.Read()
		if err == nil && string(got.ID) != fmt.Sprint(i+1) {
			return fmt.Errorf("answer %s in place of %d", got.ID, i+1)
		}
		if err := out.note(got, err, write); err != nil {
			return err
		}
	}
	out.end(t, a.process, signalled)
	return nil
}

func get(url string) (status int, body string) {
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(data)
}

// BAD-INPUT 58: with --drain, a server that is told to end answers at once that it is not ready. For the time of
// --drain it still takes calls, and closes the connection after each call. Then it exits without an error.
func TestDrain(t *testing.T) {
	const drain = 2 * time.Second
	s := mustServe(t, "--store", "memory", "--drain", "2", "--admin-addr", "127.0.0.1:0")
	admin := ""
	programtest.Await(t, "its log has the address", func() bool {
		admin = regexp.MustCompile(`http://[0-9.:]+`).FindString(s.Log.String())
		return admin != ""
	})
	c := s.session(t, "")
	signalled := time.Now()
	checktest.Check(t, s.Terminate())
	for _, address := range []string{s.url, admin} {
		checktest.Has(t, "58: "+address, checkReady(t, address, http.StatusServiceUnavailable), "stopping")
	}
	taken := 0
	for ; taken == 0 || time.Since(signalled) < drain/2; taken++ {
		c.Writes("p:A")
	}
	res, err := http.Get(s.url + "/livez")
	checktest.Check(t, err)
	if res.Body.Close(); !res.Close {
		t.Error("58: the connection is kept")
	}
	checktest.Check(t, s.Wait(stopTimeout+stopGrace))
	took := time.Since(signalled)
	if took < drain || taken == 0 {
		t.Errorf("58: it took %d calls and ended after %s", taken, took)
	}
	report.Add(t, row{Fault: "SIGTERM with --drain 2", Tried: "calls", Times: "once", Acknowledged: taken, Notes: "exit 0 after " + took.Round(10*time.Millisecond).String()})
}

// BAD-INPUT 58: a second signal ends a draining server at once, as a second Ctrl-C does.
func TestTwoSignals(t *testing.T) {
	s := mustServe(t, "--store", "memory", "--drain", "3600")
	checktest.Check(t, s.Terminate())
	checkReady(t, s.url, http.StatusServiceUnavailable)
	checktest.Check(t, s.Terminate())
	if err := s.Wait(stopTimeout); err == nil || !strings.Contains(err.Error(), "signal: terminated") {
		t.Errorf("58: %v", err)
	}
}
