package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/server"
	"todo-mcp/server/jsonrpc"
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
// plan.
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
	fmt.Fprintf(a.Stdout, "Open http://%s/ and watch an agent at work. Nothing here is kept.\n\n", listener.Addr())
	err = play(ctx, a, s, pace)
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

// todoItem is an item as TodoWrite takes it.
type todoItem struct {
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
func (s scene) todos() []todoItem {
	plan := []todoItem{
		{Content: "Read the bug report", ActiveForm: "Reading the bug report"},
		{Content: "Find the cause", ActiveForm: "Finding the cause"},
		{Content: "Write a failing test", ActiveForm: "Writing a failing test"},
		{Content: "Fix the parser", ActiveForm: "Fixing the parser"},
		{Content: "Run the whole suite", ActiveForm: "Running the whole suite"},
	}
	if s.agent != "" {
		plan = []todoItem{{Content: "List the callers", ActiveForm: "Listing the callers"}, {Content: "Read the history", ActiveForm: "Reading the history"}}
	}
	for i := range plan {
		plan[i].Status = [...]string{"completed", "in_progress", "pending"}[1+cmp.Compare(i, s.done)]
	}
	return plan
}

// play sends the demo's calls to a server, waits for pace after each, and prints the
// results.
func play(ctx context.Context, a *app.App, s *server.Server, pace time.Duration) error {
	for _, scene := range scenes() {
		answer, err := scene.call(ctx, s)
		if err != nil {
			return fmt.Errorf("demo agent: %w", err)
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

// call has the server handle the scene's call of TodoWrite, as one that came over MCP, and
// returns the text of the result.
func (s scene) call(ctx context.Context, to *server.Server) (string, error) {
	params, by := map[string]any{"name": "TodoWrite", "arguments": map[string]any{"todos": s.todos()}}, ""
	if s.agent != "" {
		params["_meta"], by = map[string]string{"todo-mcp/agent": s.agent}, " ("+s.agent+")"
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		return "", err
	}
	message, refusal := jsonrpc.Read(raw)
	if refusal != nil {
		return "", refusal
	}
	answer, err := to.Handle(ctx, server.Peer{Client: mcp.Implementation{Name: "demo agent"}, Session: "demo"}, message)
	if err != nil {
		return "", err
	}
	response, _ := answer.(mcp.JSONRPCResponse)
	result, ok := response.Result.(*mcp.CallToolResult)
	if !ok || result.IsError || len(result.Content) == 0 {
		return "", fmt.Errorf("tools/call: %+v", answer)
	}
	return mcp.GetTextFromContent(result.Content[0]) + by, nil
}
