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

// demo serves a panel on lists in memory while a scripted agent works through a plan.
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

// scene is one TodoWrite call of the demo: an agent says how many steps of its plan are
// done, -1 before it begins the first one. The main agent has no name.
type scene struct {
	agent string
	done  int
}

func (s scene) todos() (todos []map[string]string) {
	plan := [][2]string{
		{"Read the bug report", "Reading the bug report"},
		{"Find the cause", "Finding the cause"},
		{"Write a failing test", "Writing a failing test"},
		{"Fix the parser", "Fixing the parser"},
		{"Run the whole suite", "Running the whole suite"},
	}
	if s.agent != "" {
		plan = [][2]string{{"List the callers", "Listing the callers"}, {"Read the history", "Reading the history"}}
	}
	for i, step := range plan {
		status := [...]string{"completed", "in_progress", "pending"}[1+cmp.Compare(i, s.done)]
		todos = append(todos, map[string]string{"content": step[0], "activeForm": step[1], "status": status})
	}
	return todos
}

// play sends the demo's calls to a server, waits for pace after each, and prints the
// results: the main agent does the steps of its plan in order, and a sub-agent works through
// a list of its own during the second one.
func play(ctx context.Context, a *app.App, s *server.Server, pace time.Duration) error {
	for _, scene := range []scene{
		{"", -1}, {"", 0}, {"", 1}, {"searcher", 0}, {"searcher", 1}, {"searcher", 2}, {"", 2}, {"", 3}, {"", 4}, {"", 5},
	} {
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
