package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/cli/run"
)

// probed is what came of talking to a server as a client does.
type probed struct {
	protocol string   // the version of MCP
	server   string   // its name and version
	tools    []string // that it lists
	took     time.Duration
}

// probeHTTP makes the handshake with a server and has it list its tools. An error
// does not show the address, whose query may be secret.
func probeHTTP(ctx context.Context, a *app.App, address string, write bool) (probed, error) {
	c, err := client.NewStreamableHttpClient(address,
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
		transport.WithHTTPBasicClient(&http.Client{Transport: boundedAnswers{}}))
	if err != nil {
		return probed{}, err
	}
	defer c.Close()
	t, err := probe(ctx, a, c, write)
	if whole := (*url.Error)(nil); errors.As(err, &whole) {
		err = whole.Err
	}
	return t, err
}

// maxAnswer is how much of an answer is read of a server that may be any other, in
// bytes.
const maxAnswer = 1 << 20

// boundedAnswers reads at most maxAnswer of an answer.
type boundedAnswers struct{}

func (boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

// probeStdio does it with a process of its own, which keeps its lists in memory. The
// process has the name todo-mcp, whatever the file is called.
func probeStdio(ctx context.Context, a *app.App, program string, args, env []string) (probed, error) {
	var said bytes.Buffer // complete when the client is closed
	c := client.NewClient(transport.NewStdioWithOptions(program, nil, nil,
		transport.WithCommandFunc(func(ctx context.Context, program string, _, _ []string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, program)
			cmd.Args = slices.Concat([]string{"todo-mcp"}, args, []string{"--store", "memory", "--audit-log", ""})
			cmd.Env = env
			cmd.Stderr = &said
			return cmd, nil
		})))
	t, err := probe(ctx, a, c, true)
	ended := c.Close()
	if err == nil && ended != nil {
		err = fmt.Errorf("its end: %w", ended)
	}
	if err != nil && said.Len() > 0 {
		err = fmt.Errorf("%w; it said: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return t, err
}

// probe makes the handshake and has the server list its tools; if write is true, it also
// writes a list of one item.
func probe(ctx context.Context, a *app.App, c *client.Client, write bool) (t probed, err error) {
	began := time.Now()
	hello, err := run.Handshake(ctx, a, c, "todo-mcp doctor")
	if err != nil {
		return t, fmt.Errorf("initialize: %w", err)
	}
	t.protocol, t.server = hello.ProtocolVersion, hello.ServerInfo.Name+" "+hello.ServerInfo.Version
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return t, fmt.Errorf("tools/list: %w", err)
	}
	for _, tool := range listed.Tools {
		t.tools = append(t.tools, tool.Name)
	}
	slices.Sort(t.tools)
	if write {
		_, err = run.WriteTodos(ctx, c, "", run.Todo{Content: "Look after todo-mcp", ActiveForm: "Looking after todo-mcp", Status: "in_progress"})
	}
	t.took = time.Since(began)
	return t, err
}
