package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/install"
	"todo-mcp/internal/render"
)

// installOptions are the flags of `install` and `uninstall`.
type installOptions struct {
	install.Options
	yes, print, list bool
	remove           bool // of `uninstall`
}

func Install(fs *flag.FlagSet) app.Run {
	var o installOptions
	fs.BoolVar(&o.yes, "yes", false, "change the files without asking; without CLIENT, those of all clients found")
	fs.BoolVar(&o.print, "print", false, "change nothing: print what to write by hand, and into which file")
	fs.BoolVar(&o.list, "list", false, "change nothing: list the clients, which of them are here, what they are configured with, and whether they run the hooks")
	fs.BoolVar(&o.Hooks, "hooks", false, "also let the client run hooks, by which its own todo list is on the board; and Claude Code a status line")
	fs.StringVar(&o.Name, "name", "", "`NAME` by which the client calls the server (default todo)")
	fs.Func("args", "`ARGUMENTS` of the command, as '--panel --list work' (default: those it has)", func(v string) (err error) {
		o.Args, err = app.SplitCommandLine(v)
		o.Args = append([]string{}, o.Args...)
		return err
	})
	fs.Func("http", "let the client call a running server instead, at this `URL`", func(v string) error {
		o.URL = v
		if u, err := url.Parse(v); err == nil && u.Host != "" && strings.Trim(u.Path, "/") == "" {
			u.Path = "/mcp"
			o.URL = u.String()
		}
		return nil
	})
	return func(ctx context.Context, a *app.App, args []string) error { return installClients(ctx, a, args, o) }
}

func Uninstall(fs *flag.FlagSet) app.Run {
	o := installOptions{remove: true}
	fs.BoolVar(&o.yes, "yes", false, "change the files without asking; without CLIENT, those of all clients that have the server")
	fs.StringVar(&o.Name, "name", "", "`NAME` by which the client calls the server (default todo)")
	fs.StringVar(&o.URL, "http", "", "the `URL`, where it is one on another machine")
	return func(ctx context.Context, a *app.App, args []string) error { return uninstallClients(ctx, a, args, o) }
}

func installClients(ctx context.Context, a *app.App, names []string, o installOptions) error {
	clients, m, err := chosenClients(a, names, o)
	if err != nil {
		return err
	}
	switch {
	case o.list:
		return listClients(a, m, clients, o)
	case o.print:
		return printSnippets(a, m, clients, o)
	case len(names) > 0:
		return changeClients(ctx, a, m, clients, o, install.Client.Install)
	}
	clients = slices.DeleteFunc(clients, func(c install.Client) bool { s, _ := c.Look(m, o.Options); return !s.Found })
	if len(clients) == 0 {
		return fmt.Errorf("no MCP client is found here; name one: %s", strings.Join(install.Names(), ", "))
	}
	if err := announce(a, clients, o); err != nil {
		return err
	}
	return changeClients(ctx, a, m, clients, o, install.Client.Install)
}

func uninstallClients(ctx context.Context, a *app.App, names []string, o installOptions) error {
	clients, m, err := chosenClients(a, names, o)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		clients = slices.DeleteFunc(clients, func(c install.Client) bool {
			s, err := c.Look(m, o.Options)
			isThere := s.Name != "" || s.Hooks == install.HooksThere || s.Hooks == install.HooksOutdated
			return !isThere && (err == nil && s.HooksErr == nil || !s.Found)
		})
	}
	if len(clients) == 0 {
		return a.Say("No client has the server.\n")
	}
	if len(names) == 0 {
		if err := announce(a, clients, o); err != nil {
			return err
		}
	}
	return changeClients(ctx, a, m, clients, o, install.Client.Uninstall)
}

// announce says which clients are meant where none is named. Nobody can be asked for
// each of them without a terminal.
func announce(a *app.App, clients []install.Client, o installOptions) error {
	var titles, names []string
	for _, c := range clients {
		titles, names = append(titles, c.Title), append(names, c.Name)
	}
	if err := a.Say("Found %s.\n", strings.Join(titles, ", ")); err != nil || o.yes || a.IsTerminalIn() {
		return err
	}
	return fmt.Errorf("there is no terminal to ask in: name clients (%s), or add --yes for all of them", strings.Join(names, " "))
}

// clients returns the clients with names, or all if there is none.
func chosenClients(a *app.App, names []string, o installOptions) (clients []install.Client, m install.Machine, err error) {
	if err = o.Check(); err != nil {
		return nil, m, app.UsageError{Err: err}
	}
	if m, err = install.ThisMachine(a.Getenv); err != nil || len(names) == 0 {
		return install.Clients(), m, err
	}
	for _, name := range names {
		c, ok := install.Find(name)
		if !ok {
			return nil, m, noClient(name)
		}
		clients = append(clients, c)
	}
	return clients, m, nil
}

// changeClients shows the change of each client, asks, and makes it. A client with an
// error does not keep the others from being changed.
func changeClients(ctx context.Context, a *app.App, m install.Machine, clients []install.Client, o installOptions, plan func(install.Client, install.Machine, install.Options) (install.Change, error)) error {
	var done, left, failed int
	for _, c := range clients {
		change, err := plan(c, m, o.Options)
		switch {
		case err != nil:
		case change.ByHand != "":
			err = a.Say("%s: %s is not edited: %s\n%s", c.Title, places(m, []string{change.File}), safeLines(change.ByHand), notes(change))
		case change.IsNone():
			err = a.Say("%s: nothing to change in %s.\n%s", c.Title, places(m, change.Files()), notes(change))
		default:
			err = makeChange(ctx, a, m, change, &o)
		}
		switch {
		case err == nil:
			done++
		case errors.Is(err, errDeclined):
			left++
		default:
			failed++
			fmt.Fprintf(a.Stderr, "%s: %s\n", c.Title, render.Safe(err.Error()))
		}
		if ctx.Err() != nil {
			break
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d clients could not be changed", failed, len(clients))
	case left > 0 && done == 0:
		return errors.New("nothing was changed")
	}
	return nil
}

// noClient returns the error for a client that is not known.
func noClient(name string) error {
	hint := ""
	if nearest := app.Nearest(name, install.Names()); nearest != "" {
		hint = fmt.Sprintf("; did you mean %s?", nearest)
	}
	return app.UsageError{Err: fmt.Errorf("there is no client %q%s There are %s", name, cmp.Or(hint, "."), strings.Join(install.Names(), ", "))}
}

var errDeclined = errors.New("not wanted")

// makeChange shows a change, asks, and makes it. The answer "all" means those that
// follow as well.
func makeChange(ctx context.Context, a *app.App, m install.Machine, change install.Change, o *installOptions) error {
	if err := a.Say("\n%s\n%s", change.Client.Title, safeLines(change.Diff())); err != nil {
		return err
	}
	if !o.yes && !a.IsTerminalIn() {
		return errors.New("there is no terminal to ask in: add --yes to make this change")
	}
	if !o.yes {
		answer, err := a.Ask(ctx, fmt.Sprintf("Change %s? [y]es, [n]o, [a]ll", places(m, change.Files())))
		if err != nil {
			return err
		}
		switch answer {
		case "a", "all":
			o.yes = true
		case "y", "yes":
		default:
			return errDeclined
		}
	}
	backups, err := change.Write()
	if err != nil {
		return err
	}
	text := change.Client.Title + ": changed."
	if len(backups) == 1 {
		text += " What the file held before is in " + places(m, backups) + "."
	} else if len(backups) > 1 {
		text += " What the files held before is in " + places(m, backups) + "."
	}
	if !o.remove {
		text += " So that it sees the server: " + change.Client.After + "."
	}
	return a.Say("%s\n%s", text, notes(change))
}

// places returns paths as a list for people.
func places(m install.Machine, paths []string) string {
	short := make([]string, len(paths))
	for i, path := range paths {
		short[i] = render.Safe(m.Short(path))
	}
	return strings.Join(short, " and ")
}

// notes returns what else a person should know of a change, each in a line.
func notes(change install.Change) string {
	var out strings.Builder
	for _, note := range change.Notes {
		fmt.Fprintf(&out, "%s: %s.\n", change.Client.Title, note)
	}
	return out.String()
}

// safeLines returns lines that a terminal shows as they are.
func safeLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, hasEnd := strings.CutSuffix(line, "\n")
		out.WriteString(render.Safe(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    ")))
		if hasEnd {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func listClients(a *app.App, m install.Machine, clients []install.Client, o installOptions) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLIENT\tHERE\tCALLS\tHOOKS\tFILE")
	for _, c := range clients {
		s, err := c.Look(m, o.Options)
		here, calls, hooks, path := "no", "–", cmp.Or(string(s.Hooks), "–"), m.Short(s.File)
		if s.Found {
			here = "yes"
		}
		if s.Name != "" {
			calls = s.Server.String()
		}
		if s.Disabled {
			calls += " (turned off)"
		}
		if err != nil {
			calls, path = "?", err.Error()
		}
		if s.HooksErr != nil {
			hooks = "?"
			if err == nil || err.Error() != s.HooksErr.Error() {
				path += "; " + s.HooksErr.Error()
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Name, here, render.Safe(calls), hooks, render.Safe(path))
	}
	return w.Flush()
}

func printSnippets(a *app.App, m install.Machine, clients []install.Client, o installOptions) error {
	failed := 0
	for _, c := range clients {
		path, text, err := c.Snippet(m, o.Options)
		if err == nil {
			err = printSnippet(a, m, c, path, text)
		}
		if err == nil && o.Hooks {
			if path, text, err = c.HooksSnippet(m, o.Options); err == nil && text != "" {
				err = printSnippet(a, m, c, path, text)
			}
		}
		if err != nil {
			failed++
			fmt.Fprintf(a.Stderr, "%s: %v\n", c.Title, err)
		}
	}
	if failed == len(clients) {
		return errors.New("there is nothing to print")
	}
	return nil
}

func printSnippet(a *app.App, m install.Machine, c install.Client, path, text string) error {
	return a.Say("%s, in %s:\n\n%s\n", c.Title, render.Safe(m.Short(path)), safeLines(text))
}
