package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/remote"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	// hookTimeout is how long a hook may wait for the store, and silentTimeout how
	// long a silent command may take in all: its host waits for it.
	hookTimeout   = 2500 * time.Millisecond
	silentTimeout = 3 * time.Second
)

// Hook takes in what a host tells of a chat on standard input.
func Hook(fs *flag.FlagSet) app.Run {
	finish := fs.Bool("finish", false, "keep a turn from ending while items are open: once, naming them")
	server := fs.String("server", "", "pass the event on to the todo-mcp server at this `URL`, with the token in TODO_TOKEN")
	wakes := fs.Bool("wake", false, "wait while the agent rests, and end with status 2 when a person gives it something to do")
	return func(ctx context.Context, a *app.App, _ []string) error {
		if *wakes {
			return wake(ctx, a, *server)
		}
		return takeIn(ctx, a, *finish, *server)
	}
}

// takeIn takes in one event, or passes it on to a server. With finish the end of a turn is
// kept from coming too early.
func takeIn(ctx context.Context, a *app.App, finish bool, server string) error {
	debug.SetGCPercent(-1)         // it ends before that would pay,
	debug.SetMemoryLimit(64 << 20) // unless it takes in what many others left
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	event, err := hook.Read(a.Stdin)
	if err == nil {
		event, err = event.WithTodos(ctx, a.Getenv)
	}
	if err != nil {
		return err
	}
	event = event.WithFiles(a.Getenv).WithHost()
	event.Finish, event.Language = finish, a.Language
	if server != "" {
		return passOn(ctx, a, event, server)
	}
	spool, err := a.Spool()
	if err != nil {
		return err
	}
	a.Brief = true
	told, err := spool.Do(ctx, event, func() (board.Lists, func(), error) {
		_, b, done, err := a.Open()
		if err != nil {
			return board.Lists{}, nil, err
		}
		return b.As(""), done, nil
	})
	if err != nil || told == "" {
		return err
	}
	return app.PrintJSON(a.Stdout, event.Answer(told), "")
}

// passOn passes an event on to a server, and prints what the host is to read. Of one that is
// too large what a tool answered is left out.
func passOn(ctx context.Context, a *app.App, event hook.Event, server string) error {
	client, err := remote.New(server, a.Getenv("TODO_TOKEN"))
	if err != nil {
		return err
	}
	data, err := json.Marshal(event)
	if len(data) > todo.MaxRequest {
		event.Response = nil
		data, err = json.Marshal(event)
	}
	if err != nil {
		return fmt.Errorf("encode the event: %w", err)
	}
	answer, err := client.Hook(ctx, data, event.Finish)
	if err != nil || len(answer) <= len("{}") {
		return err
	}
	return app.PrintJSON(a.Stdout, answer, "")
}

// Told is what a host reads on standard error, of a command that ends with status 2.
type Told string

func (t Told) Error() string { return string(t) }

// RunSilently runs a command that never fails, within silentTimeout unless it waits. It prints
// what the command printed if that succeeded in time, and else nothing: what went wrong stands in
// a log. It returns what is [Told].
func RunSilently(env app.Env, waits bool, run func(app.Env) error) error {
	shown := env
	var out bytes.Buffer
	shown.Stdout, shown.Stderr = &out, io.Discard
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				ended <- fmt.Errorf("panic: %v", v)
			}
		}()
		ended <- run(shown)
	}()
	limit := time.After(silentTimeout)
	if waits {
		limit = nil
	}
	var told Told
	select {
	case err := <-ended:
		if errors.As(err, &told) {
			return told
		}
		if err == nil {
			_, err = out.WriteTo(env.Stdout)
		}
		app.LogSilently(env.Getenv, err)
	case <-limit:
		app.LogSilently(env.Getenv, fmt.Errorf("gave up after %s", silentTimeout))
	}
	return nil
}
