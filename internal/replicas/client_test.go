//go:build e2e && linux

package replicas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// newHTTPClient returns an HTTP client with connections of its own.
func newHTTPClient(t testing.TB) *http.Client {
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return &http.Client{Transport: connections}
}

// agent writes a named list through the balancer, in a protocol era.
type agent struct {
	programtest.Writer
	chat   *chattest.Chat
	failed atomic.Int64 // calls without an answer, or refused
	slow   time.Duration
}

// callTimeout bounds a call: longer than the server takes at most.
const callTimeout = 15 * time.Second

// newAgents connects n agents in both eras, two to a list.
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
