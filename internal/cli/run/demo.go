package run

import (
	"cmp"
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
	return func(ctx context.Context, a *app.App, _ []string) error {
		listener, err := net.Listen("tcp", a.Addr)
		if err != nil { // a real server may use the address; any port will do
			listener, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		defer listener.Close()
		return demo(ctx, a, listener, *pace, *once)
	}
}

// demo serves a panel on lists in memory while a scripted agent works through a
// plan over MCP, as a real agent would.
func demo(ctx context.Context, a *app.App, listener net.Listener, pace time.Duration, once bool) error {
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
	err = play(ctx, a, "http://"+listener.Addr().String(), pace)
	if err == nil && !once {
		fmt.Fprintln(a.Stdout, "The panel stays until Ctrl-C.")
		<-ctx.Done()
	}
	stop()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, <-served)
}

// Todo is an item as TodoWrite takes it.
type Todo struct {
	Content    string `json:"content"`
	ActiveForm string `json:"activeForm"`
	Status     string `json:"status"`
}

// scene is one TodoWrite call of the demo: an agent says how many steps of its plan are
// done, -1 before it begins the first one. The main agent has no name.
type scene struct {
	agent string
	done  int
}

// scenes returns the calls of the demo: the main agent does the steps of a plan
// in order, and a sub-agent works through a list of its own during the second
// step.
func scenes() []scene {
	return []scene{{"", -1}, {"", 0}, {"", 1}, {"searcher", 0}, {"searcher", 1}, {"searcher", 2}, {"", 2}, {"", 3}, {"", 4}, {"", 5}}
}

// todos returns the items of a scene.
func (s scene) todos() []Todo {
	plan := []Todo{
		{Content: "Read the bug report", ActiveForm: "Reading the bug report"},
		{Content: "Find the cause", ActiveForm: "Finding the cause"},
		{Content: "Write a failing test", ActiveForm: "Writing a failing test"},
		{Content: "Fix the parser", ActiveForm: "Fixing the parser"},
		{Content: "Run the whole suite", ActiveForm: "Running the whole suite"},
	}
	if s.agent != "" {
		plan = []Todo{{Content: "List the callers", ActiveForm: "Listing the callers"}, {Content: "Read the history", ActiveForm: "Reading the history"}}
	}
	for i := range plan {
		plan[i].Status = [...]string{"completed", "in_progress", "pending"}[1+cmp.Compare(i, s.done)]
	}
	return plan
}

// play sends the demo's calls to the server at url, waits for pace after each, and
// prints where the panel is and the results.
func play(ctx context.Context, a *app.App, url string, pace time.Duration) error {
	fmt.Fprintf(a.Stdout, "Open %s/ and watch an agent at work. Nothing here is kept.\n\n", url)
	agent, err := client.NewStreamableHttpClient(url + "/mcp")
	if err != nil {
		return fmt.Errorf("demo agent: %w", err)
	}
	defer agent.Close()
	if _, err := Handshake(ctx, a, agent, "demo agent"); err != nil {
		return fmt.Errorf("demo agent: %w", err)
	}
	for _, s := range scenes() {
		answer, err := WriteTodos(ctx, agent, s.agent, s.todos()...)
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
	return a.Say("\nThat was the demo. To see your own agents: run `todo-mcp serve` and add what it prints to your client.\n")
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
	if err == nil && len(result.Content) > 0 {
		answer = mcp.GetTextFromContent(result.Content[0])
	}
	if err == nil && result.IsError {
		err = errors.New(answer)
	}
	if err != nil {
		return "", fmt.Errorf("tools/call: %w", err)
	}
	return answer, nil
}
