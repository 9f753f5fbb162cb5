package run

import (
	"cmp"
	"context"
	"errors"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/cli/change"
	"github.com/todo-mcp/todo-mcp/internal/remote"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/internal/watch"
)

// Watch shows lists live in the terminal.
func Watch(fs *flag.FlagSet) app.Run {
	server := fs.String("server", "", "follow the todo-mcp server at this `URL`, instead of the file on this machine")
	notify := fs.Bool("notify", false, "ring the terminal's bell when a list finishes, fails, is blocked or waits")
	token := fs.String("token", "", "bearer `TOKEN` for --server (default: the variable TODO_TOKEN)")
	return func(ctx context.Context, a *app.App, args []string) error {
		o := watch.Options{List: append(args, a.List)[0], Color: a.Colour(), Notify: *notify, Now: time.Now}
		o.Edit = func(ctx context.Context, list todo.Snapshot, apply func(todo.Edit) error) error {
			return change.InEditor(ctx, a, list, apply)
		}
		if *server != "" {
			client, err := remote.New(*server, cmp.Or(*token, a.Getenv("TODO_TOKEN")))
			if err != nil {
				return app.UsageError{Err: err}
			}
			o.Where = client.Where()
			return watchSource(ctx, a, client, o)
		}
		place, _ := a.Place() // OnLists returns the error of Place
		if place.Memory() {
			return errors.New("only its own process sees lists in memory: `todo-mcp watch --server URL` follows its server")
		}
		o.Where = place.String(a.Getenv("HOME"))
		return a.OnLists(func(lists board.Lists) error {
			defer a.FollowSessions(ctx, lists)()
			return watchSource(ctx, a, watch.Local{Lists: lists}, o)
		})
	}
}

// watchSource runs the viewer in a terminal that can place the cursor; else it prints changes as plain lines.
func watchSource(ctx context.Context, a *app.App, source watch.Source, o watch.Options) error {
	if app.TerminalWidth(a.Stdout) == 0 || a.Getenv("TERM") == "dumb" {
		return watch.Plain(ctx, source, a.Stdout, a.Stderr, o)
	}
	return watch.Run(ctx, source, o)
}
