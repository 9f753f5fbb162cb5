package setup

import (
	"bytes"
	"cmp"
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
	// hookTimeout limits the wait for the store, silentTimeout the whole command: the host waits for it.
	hookTimeout   = 2500 * time.Millisecond
	silentTimeout = 3 * time.Second
)

// Hook records an event that a host passes on standard input.
func Hook(fs *flag.FlagSet) app.Run {
	finish := fs.Bool("finish", false, "keep a turn with open items from ending, once, and name them")
	server := fs.String("server", "", "pass the event on to the todo-mcp server at this `URL`, with the token in TODO_TOKEN")
	host := fs.String("host", "", "the `NAME` of the host, unless the event has it")
	wakes := fs.Bool("wake", false, "wait while the agent rests, and end with status 2 when a person gives it something to do")
	return func(ctx context.Context, a *app.App, _ []string) error {
		if *wakes {
			return wake(ctx, a, *host, *server)
		}
		return takeIn(ctx, a, *host, *finish, *server)
	}
}

// takeIn records one event, or passes it on to a server. If finish is true, it may keep the host's turn from ending.
func takeIn(ctx context.Context, a *app.App, host string, finish bool, server string) error {
	debug.SetGCPercent(-1)         // garbage collection does not pay in so short a run,
	debug.SetMemoryLimit(64 << 20) // except above 64 MiB, when many pending events are applied
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	event, err := hook.Read(a.Stdin)
	event.Host = cmp.Or(event.Host, host)
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

// passOn sends an event to a server and prints its answer. It leaves out the tool's response if the event is too large.
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

// Told is the error for a command that ends with status 2; the host reads its text on standard error.
type Told string

func (t Told) Error() string { return string(t) }

// RunSilently runs a command, for at most silentTimeout unless waits is true. It prints the command's output if
// the command succeeds in time, and logs any error instead of returning it, except [Told].
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

// wakeTimeout limits how long wake waits for work for an idle agent.
const wakeTimeout = 12 * time.Hour

// wake waits while the event's agent is idle, and returns [Told] when a person gives the agent work. It ends when the
// host ends, or when the agent begins to work for another reason. It does nothing with a remote server, nor in Claude
// Code without a terminal, which would wait for this command to end before it exits.
func wake(ctx context.Context, a *app.App, host, server string) error {
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	event, err := hook.Read(a.Stdin)
	if event = event.WithHost(); err != nil || event.Process == "" || server != "" || a.Getenv("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli" {
		return err
	}
	event.Host, event.Language, a.Brief = cmp.Or(event.Host, host), a.Language, true
	_, b, done, err := a.Open()
	if err != nil {
		return err
	}
	defer done()
	text, err := event.Wake(ctx, b.As(""))
	if err != nil || text == "" {
		return err
	}
	return Told(text)
}
