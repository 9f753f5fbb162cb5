//go:build e2e && linux

package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"todo-mcp/internal/programtest"
	"todo-mcp/server/servertest"
)

// call is a call of a tool. A repeat has the same operation.
type call struct{ tool, args, operation string }

// answer is what a tool answered.
type answer struct {
	Text     string
	List     string `json:"list"`
	Revision int64  `json:"revision"`
}

// client is a client of the official SDK in one conversation, or one conversation after
// the other if it has to connect again.
type client struct{ *mcp.ClientSession }

func connect(t testing.TB, url, era string, updated func(uri string)) (*client, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated(r.Params.URI) },
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: newHTTPClient(t)}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		return nil, err
	}
	if got := s.InitializeResult().ProtocolVersion; got != era {
		return nil, fmt.Errorf("protocol version %s, want %s", got, era)
	}
	return &client{s}, nil
}

// newHTTPClient returns an HTTP client with connections of its own.
func newHTTPClient(t testing.TB) *http.Client {
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return &http.Client{Transport: connections}
}

func (c *client) call(ctx context.Context, made call) (a answer, err error) {
	params := &mcp.CallToolParams{Name: made.tool, Arguments: json.RawMessage(made.args)}
	if made.operation != "" {
		params.Meta = mcp.Meta{"todo-mcp/operation": made.operation}
	}
	res, err := c.CallTool(ctx, params)
	if err != nil {
		return a, err
	}
	if len(res.Content) > 0 {
		a.Text = res.Content[0].(*mcp.TextContent).Text
	}
	return a.read(res.StructuredContent, res.IsError)
}

func (c *client) subscribe(ctx context.Context, uri string) error {
	return c.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (c *client) close() { _ = c.Close() }

// read sets what structured content says.
func (a answer) read(structured any, isError bool) (answer, error) {
	if isError {
		return a, errors.New(a.Text)
	}
	data, err := json.Marshal(structured)
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// agent writes a named list through the balancer, in a protocol era.
type agent struct {
	programtest.Writer
	era    string
	url    string
	client *client
	again  int          // how often it had to connect again
	failed atomic.Int64 // calls without an answer, or refused
	slow   time.Duration
	// anew are the writes that were repeated in another session, where they count as
	// others.
	anew map[string]bool
}

// newAgents connects n agents in both eras, two to a list.
func newAgents(t testing.TB, f *fleet, n int) (agents []*agent) {
	t.Helper()
	for i := range n {
		a := &agent{Writer: programtest.Writer{Name: fmt.Sprint("a", i)}, era: []string{servertest.Legacy, servertest.Modern}[i%2], anew: make(map[string]bool), url: fmt.Sprintf("%s/mcp?list=list-%d", f.balancer.URL, i/2)}
		if err := a.connect(t); err != nil {
			t.Fatalf("%s: %v", a.era, err)
		}
		agents = append(agents, a)
	}
	return agents
}

func (a *agent) connect(t testing.TB) (err error) {
	a.client, err = connect(t, a.url, a.era, func(string) {})
	if err == nil {
		t.Cleanup(a.client.close)
	}
	return err
}

// connectTo connects the agent to one replica, past the balancer.
func (a *agent) connectTo(t testing.TB, r *replica) {
	t.Helper()
	a.url = r.url.String() + "/mcp?list=" + a.Name
	if err := a.connect(t); err != nil {
		t.Fatal(err)
	}
}

// callTimeout bounds a call: longer than the server takes at most.
const callTimeout = 15 * time.Second

// write makes the next write, and repeats it with the same operation until it is
// acknowledged or ctx ends. It returns ok false when ctx ended first.
func (a *agent) write(ctx context.Context, t testing.TB) (done programtest.Acknowledged, ok bool) {
	tool, args, id := a.Next()
	made := call{tool, args, id}
	for ctx.Err() == nil {
		began := time.Now()
		callCtx, cancel := context.WithTimeout(ctx, callTimeout)
		got, err := a.client.call(callCtx, made)
		cancel()
		a.slow = max(a.slow, time.Since(began))
		if err == nil {
			return programtest.Acknowledged{List: got.List, Revision: got.Revision, Write: id}, true
		}
		if ctx.Err() != nil {
			break
		}
		a.failed.Add(1)
		a.revive(ctx, t, err)
	}
	return done, false
}

// revive pauses after a failure, as clients do, and connects again if the client
// gave up its connection.
func (a *agent) revive(ctx context.Context, t testing.TB, failure error) {
	pause := time.NewTimer(50 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return
	}
	if errors.Is(failure, mcp.ErrConnectionClosed) || errors.Is(failure, mcp.ErrSessionMissing) {
		a.again++
		a.anew[fmt.Sprintf("%s-%d", a.Name, a.Serial)] = true
		if fresh, err := connect(t, a.url, a.era, func(string) {}); err == nil {
			a.client.close()
			a.client = fresh
			t.Cleanup(fresh.close)
		}
	}
}
