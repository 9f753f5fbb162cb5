package read

import (
	"context"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/account"
	"todo-mcp/internal/board"
	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
)

// Today shows what was done on a day.
func Today(fs *flag.FlagSet) app.Run {
	date := fs.String("date", "", "another `DAY`: 2006-01-02")
	format := app.WordFlag(fs, "format", "text", "the `FORMAT`: text, markdown or json", "text", "markdown", "json")
	asJSON := fs.Bool("json", false, "the same as --format json")
	return func(ctx context.Context, a *app.App, _ []string) error {
		now := time.Now()
		at, err := account.ParseDay(*date, now)
		if err != nil {
			return app.UsageError{Err: err}
		}
		return a.OnLists(func(lists board.Lists) error {
			day, err := account.DayOf(ctx, lists.During, at, now)
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
