package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/cli/setup"
	"github.com/todo-mcp/todo-mcp/internal/install"
)

// aboutArguments is the help text that applies to all commands.
const aboutArguments = `todo-mcp keeps the todo lists of AI agents: safe on disk, and watched live.

LIST is what you see of a list: its title, the beginning of it or some words, its name, or
its id, of which four characters do. Several that match are shown to choose from.

Every setting is a flag (--max-items 20), a variable (TODO_MAX_ITEMS=20) or a line of
the config file (max-items = 20); "todo-mcp help COMMAND" lists them.`

// Tree returns the commands as cobra's tree, for parsing, help, completion in shells and manuals.
func Tree(env Env) *cobra.Command { return tree(env, commands()) }

func tree(env Env, of []command) *cobra.Command {
	root := &cobra.Command{
		Use: "todo-mcp", Short: "Keep the todo lists of AI agents: safe on disk, and watched live", Long: aboutArguments,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	for _, title := range []string{aboutServers, aboutClients, aboutLists, aboutStore, aboutProgram} {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
	}
	root.SetHelpCommandGroupID(aboutProgram)
	root.SetCompletionCommandGroupID(aboutProgram)
	settings := app.NewSettings()
	for _, c := range of {
		root.AddCommand(c.node(env, settings))
	}
	root.SetFlagErrorFunc(func(node *cobra.Command, err error) error {
		return fmt.Errorf("%s: %w; see todo-mcp help %[1]s", node.Name(), err)
	})
	return root
}

// titleKey is the annotation of a flag that holds its heading in help.
const titleKey = "title"

// flagUsages returns the help of flags: a command's own, then the settings below their headings.
func flagUsages(flags *flag.FlagSet) (text string) {
	for _, title := range append([]string{""}, app.Titles()...) {
		var of flag.FlagSet
		of.SortFlags = false
		flags.VisitAll(func(f *flag.Flag) {
			if strings.Join(f.Annotations[titleKey], "") == title {
				of.AddFlag(f)
			}
		})
		if of.HasFlags() {
			text += cmp.Or(title, "Flags") + ":\n" + of.FlagUsages() + "\n"
		}
	}
	return strings.TrimSpace(text)
}

// usage prints cobra's usage text with headings for the flags. A template would keep the linker from dropping
// unused methods: 3.6 MB.
func usage(node *cobra.Command) error {
	node.SetUsageFunc(nil)
	defer node.SetUsageFunc(usage)
	usual := "Flags:\n" + strings.TrimRight(node.LocalFlags().FlagUsages(), " \n")
	text := strings.Replace(node.UsageString(), usual, flagUsages(node.LocalFlags()), 1)
	_, err := io.WriteString(node.OutOrStderr(), text)
	return err
}

// node returns the command for the tree; it fills settings when it runs.
func (c command) node(env Env, settings *app.Settings) *cobra.Command {
	node := &cobra.Command{
		Use: strings.TrimSpace(c.name + " [flags] " + c.args), Short: c.summary, Example: "  " + c.example,
		GroupID: c.about, DisableFlagsInUseLine: true,
	}
	run := c.flags(node.Flags())
	c.addSettings(node, settings)
	node.Args = c.checkArguments
	node.SetUsageFunc(usage)
	node.RunE = func(node *cobra.Command, args []string) error {
		if err := settings.Collect(env); err != nil && c.name != setup.DoctorName {
			return app.UsageError{Err: err}
		}
		return run(node.Context(), &app.App{Env: env, Settings: settings, Command: c.name}, args)
	}
	switch {
	case strings.Contains(c.args, "CLIENT"):
		node.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return install.Names(), cobra.ShellCompDirectiveNoFileComp
		}
	case c.args == "", strings.Contains(c.args, "LIST"):
		node.ValidArgsFunction = cobra.NoFileCompletions
	}
	return node
}

// checkArguments returns an error unless the number of arguments fits the usage line.
func (c command) checkArguments(_ *cobra.Command, args []string) error {
	words := strings.Fields(c.args)
	least, most := 0, len(words)
	for _, word := range words {
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if strings.Contains(word, "...") {
			most = len(args)
		}
	}
	if least <= len(args) && len(args) <= most {
		return nil
	}
	return fmt.Errorf("%s takes %s, received %q; see todo-mcp help %[1]s", c.name, cmp.Or(c.args, "no arguments"), args)
}

// addSettings adds a flag for each setting that the command accepts, and --config if it accepts any.
func (c command) addSettings(node *cobra.Command, settings *app.Settings) {
	flags := node.Flags()
	flags.SortFlags = false // in the order of the table
	if c.groups != nil {
		flags.StringVar(&settings.File, "config", "", "config `FILE`, lines of NAME = VALUE")
	}
	for _, row := range settings.Rows {
		if !slices.Contains(c.groups, row.Group) {
			continue
		}
		f := flags.VarPF(row, row.Name, "", strings.ReplaceAll(row.Help, "`", "'"))
		f.Annotations = map[string][]string{titleKey: {row.Group.Title()}}
		if row.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
		if row.Words != nil {
			_ = node.RegisterFlagCompletionFunc(row.Name, cobra.FixedCompletions(row.Words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}
