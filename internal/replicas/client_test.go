//go:build e2e && linux

package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
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

// client is an MCP client in one conversation, or one conversation after the other
// if it has to connect again.
type client interface {
	call(ctx context.Context, c call) (answer, error)
	close()
}

// kind is one of the client libraries in one protocol era.
type kind struct {
	name, era string
	connect   func(t testing.TB, url, era string, updated func(uri string)) (client, error)
}

// kinds returns the clients that take part: the official SDK's and mcp-go's,
// in both eras.
func kinds() (all []kind) {
	for _, era := range []string{servertest.Legacy, servertest.Modern} {
		all = append(all, kind{"go-sdk", era, connectSDK}, kind{"mcp-go", era, connectMCPGo})
	}
	return all
}

// sdkClient is a client of the official SDK.
type sdkClient struct{ *mcp.ClientSession }

func connectSDK(t testing.TB, url, era string, updated func(uri string)) (client, error) {
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
	return sdkClient{s}, nil
}

// newHTTPClient returns an HTTP client with connections of its own.
func newHTTPClient(t testing.TB) *http.Client {
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return &http.Client{Transport: connections}
}

func (c sdkClient) call(ctx context.Context, made call) (a answer, err error) {
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

func (c sdkClient) subscribe(ctx context.Context, uri string) error {
	return c.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (c sdkClient) close() { _ = c.Close() }

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

// mcpgoClient is a client of mcp-go.
type mcpgoClient struct{ *mcpgo.Client }

func connectMCPGo(t testing.TB, url, era string, updated func(uri string)) (client, error) {
	options := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(newHTTPClient(t)), transport.WithHTTPLogger(slog.New(slog.DiscardHandler))}
	if era == servertest.Legacy {
		options = append(options, transport.WithContinuousListening()) //nolint:staticcheck // only that era has the stream
	}
	tr, err := transport.NewStreamableHTTP(url, options...)
	if err != nil {
		return nil, err
	}
	c := mcpgo.NewClient(tr, mcpgo.WithProtocolVersion(era))
	c.OnNotification(func(n mcpgotypes.JSONRPCNotification) {
		if uri, ok := n.Params.AdditionalFields["uri"].(string); ok {
			updated(uri)
		}
	})
	if err := c.Start(t.Context()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var hello mcpgotypes.InitializeRequest
	hello.Params.ProtocolVersion = era
	hello.Params.ClientInfo = mcpgotypes.Implementation{Name: "tester", Version: "1"}
	got, err := c.Initialize(ctx, hello)
	if err == nil && got.ProtocolVersion != era {
		err = fmt.Errorf("protocol version %s, want %s", got.ProtocolVersion, era)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return mcpgoClient{c}, nil
}

func (c mcpgoClient) call(ctx context.Context, made call) (a answer, err error) {
	var r mcpgotypes.CallToolRequest
	r.Params.Name, r.Params.Arguments = made.tool, json.RawMessage(made.args)
	if made.operation != "" {
		r.Params.Meta = &mcpgotypes.Meta{AdditionalFields: map[string]any{"todo-mcp/operation": made.operation}}
	}
	res, err := c.CallTool(ctx, r)
	if err != nil {
		return a, err
	}
	if len(res.Content) > 0 {
		a.Text = res.Content[0].(mcpgotypes.TextContent).Text
	}
	return a.read(res.StructuredContent, res.IsError)
}

func (c mcpgoClient) close() { _ = c.Close() }

// agent writes a named list through the balancer, with one of the clients.
type agent struct {
	programtest.Writer
	kind   kind
	url    string
	client client
	again  int          // how often it had to connect again
	failed atomic.Int64 // calls without an answer, or refused
	slow   time.Duration
	// anew are the writes that were repeated in another session, where they count as
	// others.
	anew map[string]bool
}

// newAgents connects n agents of all kinds, two to a list.
func newAgents(t testing.TB, f *fleet, n int) (agents []*agent) {
	t.Helper()
	for i := range n {
		a := &agent{Writer: programtest.Writer{Name: fmt.Sprint("a", i)}, kind: kinds()[i%len(kinds())], anew: make(map[string]bool), url: fmt.Sprintf("%s/mcp?list=list-%d", f.balancer.URL, i/2)}
		if err := a.connect(t); err != nil {
			t.Fatalf("%s %s: %v", a.kind.name, a.kind.era, err)
		}
		agents = append(agents, a)
	}
	return agents
}

func (a *agent) connect(t testing.TB) (err error) {
	a.client, err = a.kind.connect(t, a.url, a.kind.era, func(string) {})
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
		if fresh, err := a.kind.connect(t, a.url, a.kind.era, func(string) {}); err == nil {
			a.client.close()
			a.client = fresh
			t.Cleanup(fresh.close)
		}
	}
}
