package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

func showFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	format := fs.String("format", "text", "the `FORMAT`: text, markdown, json or statusline")
	asJSON := fs.Bool("json", false, "the same as --format json")
	width := fs.Int("width", 0, "at most `N` columns of text (0: the terminal's) or of a status line (0: 60)")
	var o statusLineOptions
	fs.StringVar(&o.folder, "folder", "", "the `FOLDER` whose list is shown; empty is this one")
	fs.BoolVar(&o.claudeCode, "claude-code", false, "the status line of the chat that Claude Code tells of on standard input")
	return func(ctx context.Context, a *app, args []string) error {
		if *asJSON {
			*format = "json"
		}
		if o.claudeCode || *format == "statusline" {
			o.width = cmp.Or(max(*width, 0), 60)
			return a.statusLine(ctx, args, o)
		}
		if err := isOneOf(*format, "text", "markdown", "json", "statusline"); err != nil {
			return usageError{fmt.Errorf("--format %q: %w", *format, err)}
		}
		a.folder = o.folder
		return a.onList(ctx, args, func(lists todo.Lists, list todo.Snapshot) error { return a.show(ctx, lists, list, *format, *width) })
	}
}

// show prints a list in a format.
func (a *app) show(ctx context.Context, lists todo.Lists, list todo.Snapshot, format string, width int) error {
	family, err := familyOf(ctx, lists, list)
	if err != nil {
		return err
	}
	state := family.State()
	switch format {
	case "markdown":
		_, err := io.WriteString(a.Stdout, render.Markdown(list))
		return err
	case "json":
		return printJSON(a.Stdout, document(list, state))
	}
	line, err := standing(ctx, lists, &family)
	if err != nil {
		return err
	}
	box := render.BoxOptions{Title: list.Title(), Width: width}
	if n := list.Progress(); len(list.Items) > 0 {
		box.Note = fmt.Sprintf("%d of %d", n.Done, n.Total)
	}
	if _, err := io.WriteString(a.Stdout, a.picture(list, box, line)); err != nil {
		return err
	}
	return a.showSubs(family.Subs, width)
}

// familyOf returns a list with the lists of its sub-agents.
func familyOf(ctx context.Context, lists todo.Lists, list todo.Snapshot) (account.Family, error) {
	subs, states, err := lists.Together(ctx, list)
	return account.Of(list, subs, states), err
}

// standing returns how a list stands, since when, where, whose it is, and its id,
// in one line. One that has no items and nobody there is not said to be finished.
func standing(ctx context.Context, lists todo.Lists, f *account.Family) (string, error) {
	s := f.Main
	word, next := render.StateWord(s, f.State()), ""
	if f.Bare() && !s.Archived {
		word = ""
	}
	if s.ReplacedBy != "" {
		by, err := lists.Find(ctx, todo.Query{})
		if err != nil {
			return "", err
		}
		next = render.PutAway(s, by...)
	}
	parts := []string{
		word, next, render.When(f.Since(), time.Now()), render.Safe(s.List.Project()),
		render.Client(account.Client(s)), render.ShortID(s),
	}
	if s.List.Mirrored {
		parts = append(parts, "kept in the agent's own todo tool")
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · "), nil
}

// listed is a list as JSON with how it stands.
type listed struct {
	render.ListDocument
	State todo.State `json:"state"`
}

func document(s todo.Snapshot, state todo.State) listed {
	return listed{render.Document(s), state}
}

// showSubs prints the lists of the sub-agents at work for a main list, under a line
// with their total progress.
func (a *app) showSubs(subs []todo.Snapshot, width int) error {
	if len(subs) == 0 {
		return nil
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
		if _, err := io.WriteString(a.Stdout, indent(a.picture(s, render.BoxOptions{Title: s.List.Agent, Width: width}))); err != nil {
			return err
		}
	}
	return nil
}

// print prints a list after a change of it.
func (a *app) print(list todo.Snapshot) error {
	_, err := io.WriteString(a.Stdout, a.picture(list, render.BoxOptions{Title: list.Title()}))
	return err
}

// picture returns a list as a box if standard output is a terminal or a width is
// given, else as plain lines. Width 0 means the terminal's, at most 100 columns.
// The lines of under stand below the box, or below the first of the plain lines.
func (a *app) picture(list todo.Snapshot, o render.BoxOptions, under ...string) string {
	if terminalWidth(a.Stdout) == 0 && o.Width == 0 {
		return render.Plain(list, under...)
	}
	o.Color = a.colour()
	o.Width = cmp.Or(o.Width, min(terminalWidth(a.Stdout), 100))
	box := render.Box(list, o)
	for _, line := range under {
		box += "  " + line + "\n"
	}
	return box
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
