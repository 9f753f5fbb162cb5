package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/render"
)

// installer runs `install` or `uninstall`.
type installer struct {
	*app.App
	install.Machine
	install.Options
	yes, print bool
	remove     bool // for `uninstall`
}

// Install adds the server to MCP clients.
func Install(fs *flag.FlagSet) app.Run {
	var o installer
	fs.BoolVar(&o.yes, "yes", false, "change the files without asking; without CLIENT, those of all clients found")
	fs.BoolVar(&o.print, "print", false, "change nothing: print what to add by hand, and to which file")
	fs.Func("hooks", "also let the client run hooks of these `KINDS` alone, such as mirror,remind; without KINDS the usual ones (all); none for none; all,finish also lets an agent that stops with open items go on, once", func(v string) (err error) {
		o.Hooks, err = install.ParseKinds(v)
		return err
	})
	fs.Lookup("hooks").NoOptDefVal = "all"
	fs.BoolFunc("allow", "also let the client run the server's tools, which write todo lists and nothing else, without asking each time; --allow=false lets it ask again", func(v string) error {
		allows, err := strconv.ParseBool(v)
		o.Allow = &allows
		return err
	})
	fs.Func("args", "`ARGUMENTS` of the command, as '--panel --list work' (default: those it has)", func(v string) (err error) {
		o.Args, err = app.SplitCommandLine(v)
		o.Args = append([]string{}, o.Args...)
		return err
	})
	fs.StringVar(&o.URL, "http", "", "let the client call a running server instead, at this `URL`")
	return o.run
}

// Uninstall takes the server away from MCP clients.
func Uninstall(fs *flag.FlagSet) app.Run {
	o := installer{remove: true}
	fs.BoolVar(&o.yes, "yes", false, "change the files without asking; without CLIENT, those of all clients that have the server")
	fs.StringVar(&o.URL, "http", "", "the `URL`, where it is one on another machine")
	return o.run
}

// run changes the named clients. Without names, it changes those that [installer.concerned] returns; --print shows all.
func (o *installer) run(ctx context.Context, a *app.App, names []string) (err error) {
	if err := o.Check(); err != nil {
		return app.UsageError{Err: err}
	}
	o.App, o.Blank = a, o.print
	if o.Machine, err = install.ThisMachine(a.Getenv); err != nil {
		return err
	}
	clients, err := namedClients(names)
	if err == nil && len(names) == 0 && !o.print {
		clients, err = o.concerned(clients)
	}
	if err == nil && !o.print && len(clients) > 0 {
		err = o.choose(ctx, clients)
	}
	if err != nil || len(clients) == 0 {
		return err
	}
	return o.each(ctx, clients)
}

// concerned returns and prints the clients to change if the user names none: for install the clients found on the
// machine; for uninstall those that have the server or hooks, and found clients whose file was not read.
func (o *installer) concerned(clients []install.Client) ([]install.Client, error) {
	clients = slices.DeleteFunc(clients, func(c install.Client) bool {
		s, err := c.Look(o.Machine, o.Options)
		if !o.remove || c.ByHand() {
			return !s.Found
		}
		return s.Name == "" && cmp.Or(s.Hooks, install.HooksMissing) == install.HooksMissing && (!s.Found || err == nil)
	})
	var titles []string
	for _, c := range clients {
		titles = append(titles, c.Title)
	}
	switch {
	case len(clients) > 0:
		return clients, o.Say("Found %s.\n", strings.Join(titles, ", "))
	case o.remove:
		return nil, o.Say("No client has the server.\n")
	}
	return nil, fmt.Errorf("no MCP client is found here; name one: %s", strings.Join(install.Names(), ", "))
}

// choose asks, once for all clients, each question that no flag answers: may they run the tools without asking, and
// shall hooks be added? It returns an error if there is neither a terminal nor --yes.
func (o *installer) choose(ctx context.Context, clients []install.Client) error {
	if !o.yes && !app.IsTerminal(o.Stdin) {
		return errors.New("there is no terminal to ask in: add --yes to change the files, " +
			"or --print to see what would be written")
	}
	var asking, without []string
	for _, c := range clients {
		s, _ := c.Look(o.Machine, o.Options)
		if c.Allow.Path != "" && !s.Allowed {
			asking = append(asking, c.Title)
		}
		if s.Hooks == install.HooksMissing {
			without = append(without, c.Title)
		}
	}
	asks := !o.yes && !o.remove
	if asks && o.Allow == nil && len(asking) > 0 {
		allows, err := o.Agrees(ctx, "An agent writes its todo list often, and by itself the client asks you each time. The server's tools write\n"+
			"todo lists and nothing else. Let "+strings.Join(asking, ", ")+" run them without asking?")
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if allows {
			o.Allow = &allows
		}
	}
	const about = "\nWith hooks the client tells by itself what happens in it:\n"
	switch {
	case len(o.Hooks) > 0:
		return o.Say("%s%s", about, describe(o.Hooks))
	case !asks || o.Hooks != nil || len(without) == 0:
		return ctx.Err()
	}
	adds, err := o.Agrees(ctx, about+describe(install.Kinds())+install.HookCost+" --hooks=KINDS chooses some.\n"+
		"Add them to "+strings.Join(without, ", ")+"?")
	if adds {
		o.Hooks = install.Kinds()
	}
	return cmp.Or(err, ctx.Err())
}

// describe returns a line for each kind of hooks.
func describe(kinds []install.Kind) (lines string) {
	for _, k := range kinds {
		lines += fmt.Sprintf("  %-8s %s\n", k, install.About(k))
	}
	return lines
}

// namedClients returns the clients with these names, or all clients if names is empty.
func namedClients(names []string) (clients []install.Client, err error) {
	if len(names) == 0 {
		return install.Clients(), nil
	}
	for _, name := range names {
		c, ok := install.Find(name)
		if !ok {
			if _, err := install.ParseKinds(name); err == nil {
				return nil, app.Usagef("there is no client %q: kinds of hooks are chosen by --hooks=%[1]s", name)
			}
			return nil, app.Usagef("there is no client %q; there are %s", name, strings.Join(install.Names(), ", "))
		}
		clients = append(clients, c)
	}
	return clients, nil
}

var errDeclined = errors.New("not wanted")

// each changes clients one by one, or with --print shows the changes, and prints the next step. Errors do not stop it.
func (o *installer) each(ctx context.Context, clients []install.Client) (err error) {
	var done, failed int
	for _, c := range clients {
		switch err := o.client(ctx, c); {
		case err == nil:
			done++
		case app.IsUnread(err):
			return err
		case !errors.Is(err, errDeclined):
			failed++
			fmt.Fprintf(o.Stderr, "%s: %s\n", c.Title, render.Safe(err.Error()))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if done > 0 && !o.remove && !o.print {
		err = o.Say("\nNext, give an agent work of several steps: it writes its list by itself. "+
			"`%s` shows it.\n", o.Typed("serve", "--open"))
	}
	switch {
	case failed > 0:
		err = fmt.Errorf("it failed for %d of %d clients", failed, len(clients))
	case done == 0:
		err = errors.New("nothing was changed")
	}
	return err
}

// client changes one client, or prints the change to make by hand.
func (o *installer) client(ctx context.Context, c install.Client) error {
	plan := c.Install
	if o.remove {
		plan = c.Uninstall
	}
	change, err := plan(o.Machine, o.Options)
	said := ""
	switch paths, texts := change.Files(); {
	case err != nil:
		return err
	case o.print || c.ByHand():
		for i, path := range paths {
			err = cmp.Or(err, o.Say("%s, in %s:\n\n%s\n", c.Title, o.places(path), safeLines(texts[i])))
		}
	case change.IsNone():
		said = "nothing to change in " + o.places(change.File)
	default:
		said, err = o.makeChange(ctx, c, change)
	}
	for _, text := range append([]string{said}, change.Notes...) {
		if err == nil && text != "" {
			err = o.Say("%s: %s.\n", c.Title, text)
		}
	}
	return err
}

// makeChange shows a change, asks, writes it and returns the result. The answer "all" also allows the next changes.
func (o *installer) makeChange(ctx context.Context, c install.Client, change install.Change) (text string, err error) {
	if err := o.Say("\n%s\n%s", c.Title, safeLines(change.Diff())); err != nil {
		return "", err
	}
	if !o.yes {
		paths, _ := change.Files()
		answer, err := o.Ask(ctx, fmt.Sprintf("Change %s? [y]es, [n]o, [a]ll that follow, too", o.places(paths...)))
		if err != nil {
			return "", err
		}
		o.yes = answer == "a" || answer == "all"
		if !o.yes && answer != "y" && answer != "yes" {
			return "", errDeclined
		}
	}
	if err := change.Write(); err != nil {
		return "", err
	}
	text = "changed"
	if copies := change.Copies(); len(copies) > 0 {
		text += ". What was there before, with any keys of other servers, is in " + o.places(copies...)
	}
	if !o.remove {
		text += ". So that it sees the server: " + c.After
	}
	return text, nil
}

// places joins paths into a text for people.
func (o *installer) places(paths ...string) string {
	short := make([]string, len(paths))
	for i, path := range paths {
		short[i] = render.Safe(o.Short(path))
	}
	return strings.Join(short, " and ")
}

// safeLines makes lines safe to print in a terminal.
func safeLines(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(text)
	return regexp.MustCompile(`.+`).ReplaceAllStringFunc(text, render.Safe)
}
