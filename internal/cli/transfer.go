package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// export writes the whole history of lists as NDJSON, one snapshot a line:
// lists in the order of their creation, then revisions in ascending order. The
// output for the same lists is the same from any store.
func (a *app) export(ctx context.Context, args []string) error {
	if err := a.checkNamed(); err != nil {
		return err
	}
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	exported, err := a.listsToExport(ctx, lists, args)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.Stdout)
	for _, l := range exported {
		for r, err := range lists.Revisions(ctx, l.List.ID, 0) {
			if err != nil {
				return err
			}
			if err := printLine(out, r); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// listsToExport returns the lists that the arguments name, or all if there are
// no arguments, in the order of their creation.
func (a *app) listsToExport(ctx context.Context, lists todo.Lists, args []string) (found []todo.Snapshot, err error) {
	for _, arg := range args {
		l, err := a.named(ctx, lists, arg, namedOptions{})
		if err != nil {
			return nil, err
		}
		found = append(found, l)
	}
	if len(args) == 0 {
		if found, err = lists.Find(ctx, todo.Query{}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(x, y todo.Snapshot) int {
		return cmp.Or(x.List.Created.Compare(y.List.Created), cmp.Compare(x.List.ID, y.List.ID))
	})
	return found, nil
}

func importFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	format := fs.String("format", "ndjson", "the `FORMAT`: ndjson (what export writes) or markdown (a task list, into --list)")
	var o importOptions
	fs.Func("as", "import the one list of the file as a new list with this `NAME`", func(name string) error {
		o.as = name
		return todo.CheckName(name)
	})
	fs.BoolVar(&o.replace, "replace", false, "lists that are here already become what the file holds, as a new revision")
	return func(ctx context.Context, a *app, args []string) error { return a.importFile(ctx, args, *format, o) }
}

func (a *app) importFile(ctx context.Context, args []string, format string, o importOptions) error {
	if err := isOneOf(format, "ndjson", "markdown"); err != nil {
		return usageError{fmt.Errorf("--format %q: %w", format, err)}
	}
	if format == "markdown" && o != (importOptions{}) {
		return errors.New("--as and --replace are for ndjson; markdown goes into the list that --list names")
	}
	in, err := a.input(ctx, args, format)
	if err != nil {
		return err
	}
	defer in.Close()
	if format == "markdown" {
		return a.importMarkdown(ctx, in)
	}
	return a.importHistory(ctx, in, o)
}

// input opens the file that the argument names; without one, or for "-", it
// returns standard input, and says in a terminal what it waits for.
func (a *app) input(ctx context.Context, args []string, format string) (io.ReadCloser, error) {
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("one file at a time, received %d", len(args))
	case len(args) == 0 || args[0] == "-":
		what := "what `todo-mcp export` wrote"
		if format == "markdown" {
			what = "a task list, lines such as `- [ ] Write tests`"
		}
		if a.isTerminalIn() {
			fmt.Fprintf(a.Stderr, "Paste %s, and end it with Ctrl-D on a line of its own. Ctrl-C stops. `todo-mcp import FILE` reads a file.\n", what)
		}
		return io.NopCloser(a.typedInput(ctx)), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return f, nil
}

// importHistory imports what export wrote, all of it or nothing: everything is
// checked before anything is written.
func (a *app) importHistory(ctx context.Context, in io.Reader, o importOptions) error {
	histories, err := readExport(in)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close()
	i := importer{store: st, keep: a.keep, options: o}
	plan, err := i.plan(ctx, histories)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	if err := i.write(ctx, plan); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.Stdout, "Imported %d revisions.\n", len(plan.saves)); err != nil {
		return err
	}
	for _, note := range plan.notes {
		if _, err := fmt.Fprintln(a.Stdout, note); err != nil {
			return err
		}
	}
	return nil
}

// importMarkdown replaces the list that --list names with the items of a
// Markdown task list. Items that match an item of the list keep its number and
// times.
func (a *app) importMarkdown(ctx context.Context, in io.Reader) error {
	if a.list == "" {
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
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	out, err := lists.Apply(ctx, todo.Write{
		Target: todo.Target{Conversation: todo.Conversation{Key: todo.NameKey(a.list), Name: a.list, Workspace: workingDir()}, Lines: lines},
		Writer: todo.Writer{Client: "command line", Variant: "import", Person: true},
		Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); addNotes(d, items); return nil },
	})
	if err != nil {
		return err
	}
	return a.print(out.After)
}

// addNotes adds what a line has no place for to a draft that has just been
// replaced by items: the reasons of blocked ones, priorities and due dates.
func addNotes(d *todo.Draft, items []todo.Item) {
	for i, item := range items[:min(len(items), len(d.Items()))] {
		id := d.Items()[i].ID
		if item.Reason != "" {
			d.Block(id, item.Reason)
		}
		if item.Priority != "" {
			d.SetDetails(id, &item.Priority, nil)
		}
		if item.DueDate != "" {
			d.SetDetails(id, nil, &item.DueDate)
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
		if err := errors.Join(item.Check(), item.CheckDetails()); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		lines = append(lines, todo.Line{Text: item.Text, Active: item.ActiveText(), Status: string(item.Status)})
	}
	return lines, nil
}
