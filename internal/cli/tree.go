package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/cli/setup"
	"todo-mcp/internal/install"
	"todo-mcp/internal/todo"
)

// Tree returns the command table as a tree of commands, which parses the command line,
// completes it in shells and is what manuals are made of.
func Tree(env Env) *cobra.Command { return tree(env, commands()...) }

// tree returns the tree of some commands.
func tree(env Env, of ...command) *cobra.Command {
	root := &cobra.Command{
		Use: "todo-mcp", Short: "Keep the todo lists of AI agents: safe on disk, and watched live", Long: aboutArguments,
		SilenceErrors: true, SilenceUsage: true, Version: env.Version,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	for _, c := range of {
		node := c.node(env)
		if root.AddCommand(node); c.name == "help" {
			root.SetHelpCommand(node)
		}
	}
	root.SetFlagErrorFunc(func(node *cobra.Command, err error) error {
		return fmt.Errorf("%s: %w; see todo-mcp help %[1]s", node.Name(), app.UsageError{Err: flagError(node.Flags(), err)})
	})
	return root
}

// node returns the command for a tree.
func (c command) node(env Env) *cobra.Command {
	node := &cobra.Command{
		Use: strings.TrimSpace(c.name + " " + c.args), Short: c.summary, Example: c.example, DisableFlagsInUseLine: true,
	}
	run := c.flags(node.Flags())
	values := c.addSettings(node)
	collect := func() (*app.App, error) {
		s, err := app.Collect(values, env)
		return &app.App{Env: env, Settings: s, Command: c.name}, err
	}
	node.RunE = func(node *cobra.Command, args []string) error {
		if c.args == "" && len(args) > 0 {
			return app.UsageError{Err: fmt.Errorf("%s takes no arguments, received %q; see todo-mcp help %[1]s", c.name, args[0])}
		}
		a, err := collect()
		if err != nil && c.name != setup.DoctorName {
			return app.UsageError{Err: err}
		}
		return run(node.Context(), a, args)
	}
	node.SetHelpFunc(func(node *cobra.Command, _ []string) { _ = c.printHelp(env, node.Flags()) })
	switch {
	case strings.Contains(c.args, "LIST"):
		node.ValidArgsFunction = func(node *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			a, err := collect()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return completeLists(cmp.Or(node.Context(), context.Background()), a, args, typed)
		}
	case strings.Contains(c.args, "CLIENT"):
		node.ValidArgsFunction = cobra.FixedCompletions(install.Names(), cobra.ShellCompDirectiveNoFileComp)
	case c.args == "":
		node.ValidArgsFunction = cobra.NoFileCompletions
	}
	return node
}

// settingValue is the value of a flag that gives a setting.
type settingValue struct {
	values            map[string]string // by setting name
	name, placeholder string
}

func (v settingValue) String() string { return "" }

func (v settingValue) Set(text string) error {
	v.values[v.name] = text
	return nil
}

func (v settingValue) Type() string { return v.placeholder }

// groupAnnotation is the key under which a flag has the title of its settings.
const groupAnnotation = "todo-mcp/group"

// addSettings adds the flags of the settings that the command accepts, and --config
// if it accepts any. Parsing fills the returned map: setting name to text.
func (c command) addSettings(node *cobra.Command) map[string]string {
	values := make(map[string]string)
	add := func(name, placeholder, help string) *flag.Flag {
		return node.Flags().VarPF(settingValue{values, name, placeholder}, name, "", strings.ReplaceAll(help, "`", "'"))
	}
	if c.groups != nil {
		add("config", "FILE", "config FILE, lines of NAME = VALUE")
	}
	for _, row := range app.Table() {
		if !slices.Contains(c.groups, row.Group) {
			continue
		}
		f := add(row.Name, row.Placeholder, row.Help)
		f.DefValue = row.Def
		f.Annotations = map[string][]string{groupAnnotation: {row.Group.Title()}}
		if row.Placeholder == "" {
			f.NoOptDefVal, f.DefValue = "true", ""
		}
		switch {
		case row.Words != nil:
			_ = node.RegisterFlagCompletionFunc(row.Name, cobra.FixedCompletions(row.Words, cobra.ShellCompDirectiveNoFileComp))
		case row.Placeholder == "FILE" || row.Placeholder == "STORE":
		case row.Placeholder == "FOLDER":
			_ = node.MarkFlagDirname(row.Name)
		default:
			_ = node.RegisterFlagCompletionFunc(row.Name, cobra.NoFileCompletions)
		}
	}
	return values
}

// flagError returns the error for a command line that cannot be parsed, with the flag
// that was probably meant.
func flagError(fs *flag.FlagSet, err error) error {
	var unknown *flag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		name = strings.TrimLeft(unknown.GetSpecifiedShortnames(), "-")
	}
	meant := ""
	if nearest := app.Nearest(name, names); nearest != "" {
		meant = fmt.Sprintf("; did you mean --%s?", nearest)
	}
	return fmt.Errorf("there is no flag --%s%s", name, meant)
}

// maxCompletions is how many lists a shell is offered.
const maxCompletions = 50

// completeLists returns the titles of the lists on the board that begin as what was
// typed, the one that changed last first.
func completeLists(ctx context.Context, a *app.App, args []string, typed string) (titles []string, what cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, a.Request)
	defer cancel()
	lists, done, err := a.OpenLists()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer done()
	found, err := lists.Find(ctx, todo.Query{Limit: maxCompletions})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, l := range found {
		title := l.Title()
		if strings.HasPrefix(strings.ToLower(title), strings.ToLower(typed)) && !slices.Contains(args, title) {
			titles = append(titles, title)
		}
	}
	return titles, cobra.ShellCompDirectiveNoFileComp
}
