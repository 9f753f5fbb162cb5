package storage

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
)

// Import reads lists from a file.
func Import(fs *flag.FlagSet) app.Run {
	replace := fs.Bool("replace", false, "lists that are here already become what the file holds, as a new revision")
	return func(ctx context.Context, a *app.App, args []string) error {
		in, err := input(ctx, a, args)
		if err != nil {
			return err
		}
		defer in.Close()
		return importHistory(ctx, a, in, *replace)
	}
}

// input opens the file that the argument names; without one, or for "-", it
// returns standard input, and says in a terminal what it waits for.
func input(ctx context.Context, a *app.App, args []string) (io.ReadCloser, error) {
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("one file at a time, received %d", len(args))
	case len(args) == 0 || args[0] == "-":
		if a.IsTerminalIn() {
			fmt.Fprintln(a.Stderr, "Paste what `todo-mcp export` wrote, and end it with Ctrl-D on a line of its own. Ctrl-C stops. `todo-mcp import FILE` reads a file.")
		}
		return io.NopCloser(a.TypedInput(ctx)), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return f, nil
}

// importHistory imports what export wrote, all of it or nothing: everything is
// checked before anything is written.
func importHistory(ctx context.Context, a *app.App, in io.Reader, replace bool) error {
	histories, err := readExport(in)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	st, err := a.OpenStore()
	if err != nil {
		return err
	}
	board, done := a.NewBoard(st)
	defer done()
	i := importer{store: st, lists: board.Everyone(), keep: a.Keep, replace: replace}
	plan, err := i.plan(ctx, histories)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	if err := i.write(ctx, plan); err != nil {
		return err
	}
	notes := append([]string{fmt.Sprintf("Imported %d revisions.", plan.revisions())}, plan.notes...)
	return a.Say("%s\n", strings.Join(notes, "\n"))
}
