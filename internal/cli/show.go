package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

func showFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	format := fs.String("format", "text", "text, markdown, json or statusline")
	width := fs.Int("width", 0, "most columns; 0 is the terminal's width (statusline: 60)")
	return func(ctx context.Context, a *app, args []string) error { return a.show(ctx, args, *format, *width) }
}

func (a *app) show(ctx context.Context, args []string, format string, width int) error {
	if err := isOneOf(format, "text", "markdown", "json", "statusline"); err != nil {
		return fmt.Errorf("--format %q: %w", format, err)
	}
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	list, err := a.findList(ctx, lists, args)
	if err != nil && format == "statusline" {
		return nil // a status bar shows nothing rather than an error
	}
	if err != nil {
		return err
	}
	if err := a.print(list, format, width); err != nil || format != "text" {
		return err
	}
	return a.showSubs(ctx, lists, list, width)
}

// showSubs prints the lists of the sub-agents at work for a main list, oldest first,
// under a line with their total progress.
func (a *app) showSubs(ctx context.Context, lists todo.Lists, list todo.Snapshot, width int) error {
	subs, err := lists.Find(ctx, todo.Query{Parent: list.List.ID, OldestFirst: true})
	subs = slices.DeleteFunc(subs, func(s todo.Snapshot) bool { return s.Archived })
	if err != nil || len(subs) == 0 {
		return err
	}
	var all todo.Progress
	for _, s := range subs {
		all = all.Plus(s.Progress())
	}
	if _, err := fmt.Fprintf(a.Stdout, "\nsub-agents %d of %d\n", all.Done, all.Total); err != nil {
		return err
	}
	for _, s := range subs {
		s.List.Name = s.List.Agent
		if _, err := io.WriteString(a.Stdout, indent(a.picture(s, s.List.Agent, width))); err != nil {
			return err
		}
	}
	return nil
}

// print prints a list in one of the formats of `show`. Width 0 means the
// terminal's width, or 60 columns for a status line.
func (a *app) print(list todo.Snapshot, format string, width int) error {
	var text string
	switch format {
	case "markdown":
		text = render.Markdown(list)
	case "json":
		return printJSON(a.Stdout, render.Document(list))
	case "statusline":
		if width <= 0 {
			width = 60
		}
		if text = render.StatusLine(list, width); text != "" {
			text += "\n"
		}
	default:
		text = a.picture(list, list.Title(), width)
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// picture returns a list as a box if standard output is a terminal or width is
// not 0, else as plain lines. Width 0 means the terminal's, at most 100
// columns.
func (a *app) picture(list todo.Snapshot, title string, width int) string {
	if terminalWidth(a.Stdout) == 0 && width == 0 {
		return render.Plain(list)
	}
	if width == 0 {
		width = min(terminalWidth(a.Stdout), 100)
	}
	return render.Box(list, render.BoxOptions{Width: width, Color: a.colour(), Title: title})
}

// printJSON prints a value as JSON over several lines, safe to show in a terminal
// (BAD-INPUT 80).
func printJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	return writeJSON(w, data, err)
}

// printLine prints a value as one line of JSON, safe to show in a terminal
// (BAD-INPUT 80).
func printLine(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	return writeJSON(w, data, err)
}

func writeJSON(w io.Writer, data []byte, err error) error {
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.Write(append(render.SafeJSON(data), '\n'))
	return err
}

func listsFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	asJSON := fs.Bool("json", false, "print JSON")
	limit := fs.Int("limit", 50, "most lists to show; 0 is all")
	return func(ctx context.Context, a *app, _ []string) error { return a.lists(ctx, *asJSON, *limit) }
}

func (a *app) lists(ctx context.Context, asJSON bool, limit int) error {
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	found, err := lists.Find(ctx, todo.Query{Limit: max(limit, 0)})
	if err != nil {
		return err
	}
	if asJSON {
		documents := make([]render.ListDocument, 0, len(found))
		for _, l := range found {
			documents = append(documents, render.Document(l))
		}
		return printJSON(a.Stdout, documents)
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "There are no lists yet; an agent makes one by calling its todo tool.")
		return err
	}
	_, err = io.WriteString(a.Stdout, render.Lists(found, time.Now(), terminalWidth(a.Stdout)))
	return err
}
