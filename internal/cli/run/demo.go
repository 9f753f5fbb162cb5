package run

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/tools"
)

// Demo shows scripted agents at work on lists in memory.
func Demo(fs *flag.FlagSet) app.Run {
	pace := fs.Duration("pace", 1500*time.Millisecond, "the `TIME` between two steps")
	return func(ctx context.Context, a *app.App, _ []string) error {
		if *pace < time.Millisecond {
			return app.Usagef("--pace %s: must be 1ms or longer", *pace)
		}
		settings := app.NewSettings()
		_ = settings.Collect(app.Env{Getenv: func(string) string { return "" }}) // the defaults, which are valid
		settings.Store, settings.Addr = "memory", a.Addr
		listener, err := net.Listen("tcp", a.Addr)
		if err != nil { // the port may be taken; use any other
			listener, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		defer listener.Close()
		return (&service{App: &app.App{Env: a.Env, Settings: settings}}).demo(ctx, listener, *pace)
	}
}

// demo serves a panel, opens it in the browser, and lets the agents work.
func (a *service) demo(ctx context.Context, listener net.Listener, pace time.Duration) error {
	defer a.end()
	s, err := a.open(ctx, false)
	if err != nil {
		return err
	}
	handler, err := a.newWeb(s)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String() + "/"
	if err := a.Say("Open %s to watch agents at work. They begin when the page is open; nothing here is kept.\n\nStop with Ctrl-C.\n", url); err != nil {
		return err
	}
	a.browse(ctx, url)
	go func() {
		if err := play(ctx, s.Board, pace); err != nil && ctx.Err() == nil {
			fmt.Fprintln(a.Stderr, "todo-mcp: the agents stopped:", err)
		}
	}()
	return handler.Serve(ctx, listener)
}

// actor is an agent of the demo, in demo.json.
type actor struct {
	Client, Folder string
	Agent          string      // name of a sub-agent of the first actor; empty for a main agent
	Done           int         // number of completed steps; the next one is in progress
	Steps          [][2]string // text and active text
	Waits          string      // what the agent needs from a person for step Done+1; may be empty
	list           string      // id
}

//go:embed demo.json
var cast []byte

// play waits for a watcher and then moves the agents in turn, one step after each pause of length pace, until ctx ends.
func play(ctx context.Context, b *board.Board, pace time.Duration) error {
	var actors []*actor
	if err := json.Unmarshal(cast, &actors); err != nil {
		return err
	}
	for b.Watching() == 0 && board.Sleep(ctx, 50*time.Millisecond) {
	}
	lists := b.As("")
	for _, a := range actors {
		if err := errors.Join(a.write(ctx, lists, 0), a.write(ctx, lists, a.Done)); err != nil {
			return err
		}
	}
	for turn := 0; board.Sleep(ctx, pace); turn++ {
		if err := actors[turn%len(actors)].move(ctx, lists); err != nil {
			return err
		}
	}
	return nil
}

// move does the agent's next step, unless a step is blocked. After the last step the agent begins a new list.
func (a *actor) move(ctx context.Context, lists board.Lists) error {
	s, err := lists.Load(ctx, a.list, 0)
	if s.Counts()[todo.Blocked] > 0 {
		return nil
	}
	if a.Done++; err != nil || a.Done > len(a.Steps) {
		a.Done = 0
		_, _ = lists.Purge(ctx, app.CommandLine("demo"), a.list) // an error is fine: a person may have deleted it
	}
	return a.write(ctx, lists, a.Done)
}

// write writes the agent's plan with the given number of steps done, as TodoWrite does.
func (a *actor) write(ctx context.Context, lists board.Lists, done int) error {
	var lines []todo.Line
	for i, step := range a.Steps {
		status := [...]string{"completed", "in_progress", "pending"}[1+cmp.Compare(i, done)]
		lines = append(lines, todo.Line{Text: step[0], Active: step[1], Status: status})
	}
	main := "demo:" + a.Client + a.Folder
	w := board.Write{Writer: todo.Writer{Client: a.Client, Variant: "TodoWrite", Agent: a.Agent}}
	w.Conversation = board.Conversation{Key: main + a.Agent, Client: a.Client, Workspace: a.Folder, Agent: a.Agent}
	if a.Agent != "" {
		w.Conversation.Parent = main
	}
	waits := ""
	if done == a.Done { // the agent waits for a person only once
		waits, a.Waits = a.Waits, ""
	}
	w.Change = func(d *todo.Draft) error {
		if d.Replace(tools.TodoWriteView(), lines); waits != "" {
			return d.Edit(todo.Edit{Do: todo.EditBlock, Item: fmt.Sprint(done + 1), Text: waits})
		}
		return nil
	}
	out, err := lists.Apply(ctx, w)
	a.list = out.After.List.ID
	return err
}

// browse opens a URL in the browser, in the background since that may take long.
func (a *service) browse(ctx context.Context, address string) {
	go func() {
		err := errors.New("no display")
		if command := browser(a.Getenv, address); command != nil {
			err = exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...).Run()
		}
		if err != nil {
			fmt.Fprintf(a.Stderr, "todo-mcp: no browser could be opened (%v): open %s yourself\n", err, address)
		}
	}()
}

// browser returns the command that opens a URL; nil without a desktop, where xdg-open would use this terminal.
func browser(getenv func(string) string, address string) []string {
	switch {
	case runtime.GOOS == "darwin":
		return []string{"open", address}
	case runtime.GOOS == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case getenv("DISPLAY")+getenv("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open", address}
	}
	return nil
}
