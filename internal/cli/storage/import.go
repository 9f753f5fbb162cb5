package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Import reads lists from a file.
func Import(fs *flag.FlagSet) app.Run {
	format := app.WordFlag(fs, "format", "ndjson", "the `FORMAT`: ndjson (what export writes) or markdown (a task list, into --list)", "ndjson", "markdown")
	replace := fs.Bool("replace", false, "lists that are here already become what the file holds, as a new revision")
	return func(ctx context.Context, a *app.App, args []string) error {
		markdown := *format == "markdown"
		if markdown && *replace {
			return errors.New("--replace is for ndjson; markdown goes into the list that --list names")
		}
		in, err := input(ctx, a, args, markdown)
		if err != nil {
			return err
		}
		defer in.Close()
		if markdown {
			return importMarkdown(ctx, a, in)
		}
		return importHistory(ctx, a, in, *replace)
	}
}

// input opens the file that the argument names; without one, or for "-", it
// returns standard input, and says in a terminal what it waits for.
func input(ctx context.Context, a *app.App, args []string, markdown bool) (io.ReadCloser, error) {
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("one file at a time, received %d", len(args))
	case len(args) == 0 || args[0] == "-":
		what := "what `todo-mcp export` wrote"
		if markdown {
			what = "a task list, lines such as `- [ ] Write tests`"
		}
		if a.IsTerminalIn() {
			fmt.Fprintf(a.Stderr, "Paste %s, and end it with Ctrl-D on a line of its own. Ctrl-C stops. `todo-mcp import FILE` reads a file.\n", what)
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

// importMarkdown replaces the list that --list names with the items of a
// Markdown task list. Items that match an item of the list keep its number and
// times.
func importMarkdown(ctx context.Context, a *app.App, in io.Reader) error {
	if a.List == "" {
		return errors.New("say which list with --list NAME")
	}
	text, err := io.ReadAll(io.LimitReader(in, todo.MaxRequest+1))
	if err != nil {
		return fmt.Errorf("import: %w; nothing was imported", err)
	}
	if len(text) > todo.MaxRequest {
		return fmt.Errorf("the file is larger than %d bytes", todo.MaxRequest)
	}
	items := render.ReadMarkdown(string(text))
	lines, err := taskLines(items)
	if err != nil {
		return err
	}
	lists, done, err := a.OpenLists()
	if err != nil {
		return err
	}
	defer done()
	out, err := lists.Apply(ctx, todo.Write{
		Target: todo.Target{Conversation: todo.Conversation{Key: todo.NameKey(a.List), Name: a.List, Workspace: app.WorkingDir()}, Lines: lines},
		Writer: app.CommandLine("import"),
		Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); addReasons(d, items); return nil },
	})
	if err != nil {
		return err
	}
	return a.Print(out.After)
}

// addReasons adds what a line has no place for to a draft that has just been replaced by
// items: why those are blocked that are.
func addReasons(d *todo.Draft, items []todo.Item) {
	for i, item := range items[:min(len(items), len(d.Items()))] {
		if item.Reason != "" {
			d.Block(d.Items()[i].ID, item.Reason)
		}
	}
}

// taskLines returns items from Markdown as lines. It returns an error if there
// are none or too many, or if one is not valid.
func taskLines(items []todo.Item) ([]todo.Line, error) {
	if len(items) == 0 {
		return nil, errors.New("there is no task list in it: lines such as `- [ ] Write tests`")
	}
	if err := todo.CheckSize(items); err != nil {
		return nil, err
	}
	var lines []todo.Line
	for i, item := range items {
		if err := item.Check(); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		line := todo.Line{Text: item.Text, Active: item.ActiveText(), Status: string(item.Status)}
		if item.Priority != "" {
			line.Priority = &item.Priority
		}
		if item.DueDate != "" {
			line.DueDate = &item.DueDate
		}
		lines = append(lines, line)
	}
	return lines, nil
}
