package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/server/web"
)

// Demo shows a scripted agent at work.
func Demo(fs *flag.FlagSet) app.Run {
	pace := fs.Duration("pace", 1500*time.Millisecond, "the `TIME` between two steps")
	once := fs.Bool("once", false, "end after the plan instead of waiting")
	return func(ctx context.Context, a *app.App, _ []string) error { return demo(ctx, a, *pace, *once) }
}

// demo serves a panel on lists in memory while a scripted agent works through a
// plan over MCP, as a real agent would.
func demo(ctx context.Context, a *app.App, pace time.Duration, once bool) error {
	listener, err := net.Listen("tcp", a.Addr)
	if err != nil { // a real server may use the address; any port will do
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	defer listener.Close()
	own := *a.Settings
	own.Store, own.Notices, own.List, own.Publish, own.Operator = "memory", "", "", []string{"all"}, app.OperatorSettings{}
	service := &service{App: &app.App{Env: a.Env, Settings: &own}}
	s, done, err := service.open(false)
	if err != nil {
		return err
	}
	defer done()
	handler, err := web.New(s, service.webConfig(s)) // nobody signs in
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- handler.Serve(ctx, listener) }()
	err = showDemo(ctx, a, "http://"+listener.Addr().String(), pace, once)
	stop()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, <-served)
}

// showDemo says where the panel is and what the agent does there.
func showDemo(ctx context.Context, a *app.App, url string, pace time.Duration, once bool) error {
	fmt.Fprintf(a.Stdout, "Open %s/ and watch an agent at work. Nothing here is kept.\n\n", url)
	if err := playScenes(ctx, a, url+"/mcp", pace); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\nThat was the demo. To see your own agents: run `todo-mcp serve` and add what it prints to your client.\n")
	if !once {
		fmt.Fprintln(a.Stdout, "The panel stays until Ctrl-C.")
		<-ctx.Done()
	}
	return nil
}

// scene is one TodoWrite call of the demo.
type scene struct {
	agent string // the sub-agent that calls; empty for the main agent
	todos []Todo
}

// Todo is an item as TodoWrite takes it.
type Todo struct {
	Content    string `json:"content"`
	ActiveForm string `json:"activeForm"`
	Status     string `json:"status"`
}

// scenes returns the calls of the demo: the main agent does the steps of a plan
// in order, and a sub-agent works through a list of its own during the second
// step.
func scenes() (out []scene) {
	plan := [][2]string{
		{"Read the bug report", "Reading the bug report"},
		{"Find the cause", "Finding the cause"},
		{"Write a failing test", "Writing a failing test"},
		{"Fix the parser", "Fixing the parser"},
		{"Run the whole suite", "Running the whole suite"},
	}
	search := [][2]string{{"List the callers", "Listing the callers"}, {"Read the history", "Reading the history"}}
	out = append(out, scene{todos: stage(plan, -1)})
	for step := range plan {
		out = append(out, scene{todos: stage(plan, step)})
		for sub := 0; step == 1 && sub <= len(search); sub++ {
			out = append(out, scene{agent: "searcher", todos: stage(search, sub)})
		}
	}
	return append(out, scene{todos: stage(plan, len(plan))})
}

// stage returns a plan's items with the step at index current in progress,
// those before it completed and those after it pending. -1 and len(plan) are
// allowed.
func stage(plan [][2]string, current int) []Todo {
	todos := make([]Todo, len(plan))
	for i, step := range plan {
		todos[i] = Todo{step[0], step[1], "pending"}
		if i < current {
			todos[i].Status = "completed"
		} else if i == current {
			todos[i].Status = "in_progress"
		}
	}
	return todos
}

// playScenes sends the demo's calls to the MCP server at url, waits for pace
// after each, and prints the results.
func playScenes(ctx context.Context, a *app.App, url string, pace time.Duration) error {
	agent, err := client.NewStreamableHttpClient(url)
	if err != nil {
		return fmt.Errorf("demo agent: %w", err)
	}
	defer agent.Close()
	if _, err := Handshake(ctx, a, agent, "demo agent"); err != nil {
		return fmt.Errorf("demo agent: %w", err)
	}
	for _, s := range scenes() {
		answer, err := WriteTodos(ctx, agent, s.agent, s.todos...)
		if err != nil {
			return fmt.Errorf("demo agent: %w", err)
		}
		if s.agent != "" {
			answer += " (" + s.agent + ")"
		}
		if err := a.Say("%s\n", answer); err != nil {
			return err
		}
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Handshake starts a client and makes the handshake of MCP, under a name.
func Handshake(ctx context.Context, a *app.App, c *client.Client, name string) (*mcp.InitializeResult, error) {
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: name, Version: a.Version}
	return c.Initialize(ctx, hello)
}

// WriteTodos calls TodoWrite and returns its answer. agent is the sub-agent that calls;
// empty for the main agent.
func WriteTodos(ctx context.Context, c *client.Client, agent string, todos ...Todo) (answer string, err error) {
	call := mcp.CallToolRequest{}
	call.Params.Name = "TodoWrite"
	call.Params.Arguments = map[string]any{"todos": todos}
	if agent != "" {
		call.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"todo-mcp/agent": agent}}
	}
	result, err := c.CallTool(ctx, call)
	if err != nil {
		return "", fmt.Errorf("tools/call: %w", err)
	}
	for _, content := range result.Content[:min(1, len(result.Content))] {
		if text, ok := content.(mcp.TextContent); ok {
			answer = text.Text
		}
	}
	if result.IsError {
		return "", fmt.Errorf("tools/call: %s", answer)
	}
	return answer, nil
}
