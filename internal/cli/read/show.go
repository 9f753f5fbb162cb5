package read

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/account"
	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// indent returns text with each line indented by two columns.
func indent(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

func Show(fs *flag.FlagSet) func(context.Context, *app.App, []string) error {
	format := fs.String("format", "text", "the `FORMAT`: text, markdown, json or statusline")
	asJSON := fs.Bool("json", false, "the same as --format json")
	width := fs.Int("width", 0, "at most `N` columns of text (0: the terminal's) or of a status line (0: 60)")
	var o statusLineOptions
	fs.StringVar(&o.folder, "folder", "", "the `FOLDER` whose list is shown; empty is this one")
	fs.BoolVar(&o.claudeCode, "claude-code", false, "the status line of the chat that Claude Code tells of on standard input")
	return func(ctx context.Context, a *app.App, args []string) error {
		if *asJSON {
			*format = "json"
		}
		if o.claudeCode || *format == "statusline" {
			o.width = cmp.Or(max(*width, 0), 60)
			return statusLine(ctx, a, args, o)
		}
		if err := app.IsOneOf(*format, "text", "markdown", "json", "statusline"); err != nil {
			return app.UsageError{Err: fmt.Errorf("--format %q: %w", *format, err)}
		}
		a.Folder = o.folder
		return a.OnList(ctx, args, func(lists todo.Lists, list todo.Snapshot) error { return show(ctx, a, lists, list, *format, *width) })
	}
}

// show prints a list in a format.
func show(ctx context.Context, a *app.App, lists todo.Lists, list todo.Snapshot, format string, width int) error {
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
		return app.PrintJSON(a.Stdout, document(list, state))
	}
	line, err := standing(ctx, lists, &family)
	if err != nil {
		return err
	}
	box := render.BoxOptions{Title: list.Title(), Width: width}
	if n := list.Progress(); len(list.Items) > 0 {
		box.Note = fmt.Sprintf("%d of %d", n.Done, n.Total)
	}
	if _, err := io.WriteString(a.Stdout, a.Picture(list, box, line)); err != nil {
		return err
	}
	return showSubs(a, family.Subs, width)
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
func showSubs(a *app.App, subs []todo.Snapshot, width int) error {
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
		if _, err := io.WriteString(a.Stdout, indent(a.Picture(s, render.BoxOptions{Title: s.List.Agent, Width: width}))); err != nil {
			return err
		}
	}
	return nil
}
