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

// aboutArguments says what holds for all commands.
const aboutArguments = `todo-mcp keeps the todo lists of AI agents: safe on disk, and watched live.

LIST is what you see of a list: its title, the beginning of it or some words, its name, or
its id, of which four characters do. Several that match are shown to choose from.

Every setting is a flag (--max-items 20), a variable (TODO_MAX_ITEMS=20) or a line of
the config file (max-items = 20); "todo-mcp help COMMAND" lists them.`

// Tree returns the command table as a tree of commands, which parses the command line,
// shows help, completes the command line in shells and is what manuals are made of.
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

// titleKey is the annotation of a flag with the title under which help shows it.
const titleKey = "title"

// flagUsages returns what help says of flags: a command's own, and then its settings by their
// titles.
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

// usage prints how a command is used: as usual, but for the titles of its flags. A template would
// have the linker keep every method of the program: 3.6 MB.
func usage(node *cobra.Command) error {
	node.SetUsageFunc(nil)
	defer node.SetUsageFunc(usage)
	usual := "Flags:\n" + strings.TrimRight(node.LocalFlags().FlagUsages(), " \n")
	text := strings.Replace(node.UsageString(), usual, flagUsages(node.LocalFlags()), 1)
	_, err := io.WriteString(node.OutOrStderr(), text)
	return err
}

// node returns the command for a tree, which fills the settings.
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

// checkArguments returns an error unless there are as many arguments as the usage line
// shows.
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

// addSettings adds the flags of the settings that the command accepts, and --config
// if it accepts any.
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
