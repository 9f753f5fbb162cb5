package read

import (
	"cmp"
	"context"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
)

// Today shows what was done on a day.
func Today(fs *flag.FlagSet) app.Run {
	date := fs.String("date", "", "another `DAY`: 2006-01-02, yesterday or monday")
	since := fs.String("since", "", "all from a `DAY` on")
	format := app.WordFlag(fs, "format", "text", "the `FORMAT`: text, markdown or json", "text", "markdown", "json")
	asJSON := fs.Bool("json", false, "the same as --format json")
	return func(ctx context.Context, a *app.App, _ []string) error {
		now := time.Now()
		at, err := account.ParseDay(cmp.Or(*since, *date), now)
		switch {
		case err != nil:
			return app.UsageError{Err: err}
		case *since != "" && *date != "":
			return app.Usagef("--since and --date are two ways to say which days")
		}
		last := at
		if *since != "" {
			last = now
		}
		return a.OnLists(func(lists board.Lists) error {
			day, err := account.DayOf(ctx, lists.During, at, last, now)
			switch {
			case err != nil:
				return err
			case *asJSON || *format == "json":
				return app.PrintJSON(a.Stdout, day, "  ")
			case *format == "markdown":
				return a.Say("%s", render.DayMarkdown(day))
			}
			return a.Say("%s", render.Day(day))
		})
	}
}
