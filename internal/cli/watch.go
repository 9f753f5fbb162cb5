package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/remote"
	"todo-mcp/internal/watch"
)

func watchFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	server := fs.String("server", "", "follow the todo-mcp server at this `URL`, instead of the file on this machine")
	notify := fs.Bool("notify", false, "ring the bell and notify the desktop when a list finishes, fails, is blocked or waits")
	token := fs.String("token", "", "bearer `TOKEN` for --server (default: what the variable TODO_TOKEN says)")
	return func(ctx context.Context, a *app, args []string) error {
		return a.watch(ctx, args, *server, cmp.Or(*token, a.Getenv("TODO_TOKEN")), *notify)
	}
}

func (a *app) watch(ctx context.Context, args []string, server, token string, notify bool) error {
	if len(args) > 1 {
		return fmt.Errorf("one list at a time, received %d", len(args))
	}
	o := watch.Options{List: a.list, Color: a.colour(), Notify: notify, Getenv: a.Getenv}
	if len(args) == 1 {
		o.List = args[0]
	}
	if server != "" {
		return a.watchServer(ctx, server, token, o)
	}
	return a.watchStore(ctx, o)
}

func (a *app) watchServer(ctx context.Context, server, token string, o watch.Options) error {
	client, err := remote.New(server, token)
	if err != nil {
		return err
	}
	o.Where = client.Where()
	return a.watchSource(ctx, watch.Server{Client: client}, o)
}

func (a *app) watchStore(ctx context.Context, o watch.Options) error {
	place, err := a.place()
	if err != nil {
		return err
	}
	if place.Memory() {
		return errors.New("lists in memory are seen by their own process alone: `todo-mcp watch --server URL` follows its server")
	}
	board, done, err := a.open()
	if err != nil {
		return err
	}
	defer done()
	o.Where = place.String(a.Getenv("HOME"))
	return a.watchSource(ctx, watch.Local{Lists: board.Everyone(), Panel: a.findPanel}, o)
}

// watchSource runs the interactive viewer if standard output is a terminal with
// cursor control; otherwise it prints each change as plain lines.
func (a *app) watchSource(ctx context.Context, source watch.Source, o watch.Options) error {
	if terminalWidth(a.Stdout) == 0 || a.Getenv("TERM") == "dumb" {
		return watch.Plain(ctx, source, a.Stdout, a.Stderr, o)
	}
	return watch.Run(ctx, source, o)
}

// findPanel returns the address of a list's page on a running panel that shows
// the list. It is looked for where `serve` and `stdio --panel` listen by default,
// or as TODO_ADDR says.
func (a *app) findPanel(ctx context.Context, list string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	client, err := remote.New("http://"+cmp.Or(a.Getenv("TODO_ADDR"), "127.0.0.1:8765"), "")
	if err != nil {
		return "", err
	}
	if err := client.Has(ctx, list); err != nil {
		return "", errors.New("no panel shows this list: start one with `todo-mcp serve`")
	}
	return client.Page(list), nil
}
