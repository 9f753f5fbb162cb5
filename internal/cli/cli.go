// Package cli is the todo-mcp command line: the table of commands, which the packages below implement, and the
// parser of the command line.
//
// A setting comes from a flag, an environment variable or the config file; the first of these wins. With an invalid
// value only doctor runs; other commands fail with an error that says what is allowed.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"
	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/cli/change"
	"github.com/todo-mcp/todo-mcp/internal/cli/read"
	"github.com/todo-mcp/todo-mcp/internal/cli/run"
	"github.com/todo-mcp/todo-mcp/internal/cli/setup"
	"github.com/todo-mcp/todo-mcp/internal/cli/storage"
)

// Env has a command's streams, environment variables and signals, see [app.Env].
type Env = app.Env

// command is one row of the command table.
type command struct {
	name    string
	args    string // for the usage line
	summary string
	example string
	about   string                      // one of the titles below
	groups  []app.Group                 // settings that it accepts; nil: no settings and no --config
	flags   func(*flag.FlagSet) app.Run // adds the command's own flags and returns the function that runs the command
}

// The titles under which help shows commands.
const (
	aboutServers = "For agents and browsers:"
	aboutClients = "In your client:"
	aboutLists   = "For people:"
	aboutStore   = "For the store:"
	aboutProgram = "About the program:"
)

func commands() []command {
	store := []app.Group{app.StoreGroup}
	shows, writes := append(store, app.ListGroup), append(store, app.KeepGroup)
	lists := []app.Group{app.StoreGroup, app.KeepGroup, app.ListGroup}
	tool := append(slices.Clip(lists), app.ToolGroup)
	stdio := append(slices.Clip(tool), app.ServerGroup, app.AddressGroup, app.NotifyGroup)
	everything := append(slices.Clip(stdio), app.HTTPGroup, app.TokenGroup, app.SignInGroup, app.OperatorGroup)
	return []command{
		{"stdio", "", "Serve one MCP client on standard input and output (the default)",
			"todo-mcp stdio --panel", aboutServers, stdio, run.Stdio},
		{"serve", "", "Serve MCP and the panel over HTTP",
			"todo-mcp serve --addr 127.0.0.1:9000", aboutServers, everything, run.Serve},
		{"notify", "", "Send a test notice to each address of --notify",
			"todo-mcp notify --notify ntfy://ntfy.sh/TOPIC", aboutServers, []app.Group{app.NotifyGroup}, noFlags(run.Notify)},
		{"TodoWrite", "[JSON...]", "Write the working directory's list, as the tool does",
			`todo-mcp TodoWrite '[{"content":"Fix","activeForm":"Fixing","status":"in_progress"}]'`, aboutServers, tool, noFlags(change.TodoWrite)},
		{"token", "new|list|revoke [NAME]", "Make, list and revoke the tokens by which clients sign in",
			"todo-mcp token new laptop --tokens tokens", aboutServers, []app.Group{app.TokenGroup}, setup.Token},
		{"install", "[CLIENT...]", "Add the server to MCP clients; without CLIENT to those found here",
			"todo-mcp install claude-code", aboutClients, nil, setup.Install},
		{"uninstall", "[CLIENT...]", "Remove the server from MCP clients",
			"todo-mcp uninstall claude-code", aboutClients, nil, setup.Uninstall},
		{"hook", "", "Mirror the todo list of a client's own tool; clients run it, silently",
			"todo-mcp hook < event.json", aboutClients, writes, setup.Hook},
		{"watch", "[LIST]", "Watch lists live in the terminal; one, or all that move",
			"todo-mcp watch --notify", aboutLists, lists, run.Watch},
		{"show", "[LIST]", "Show a list: by its title, name or id, or the last one",
			"todo-mcp show release --format markdown", aboutLists, shows, read.Show},
		{"lists", "", "Show all lists, those at work first",
			"todo-mcp lists --state waiting", aboutLists, store, read.Lists},
		{"today", "", "Show what agents did today, or on another day, by project",
			"todo-mcp today --format markdown", aboutLists, store, read.Today},
		{"history", "[LIST]", "Show what changed in a list, revision by revision",
			"todo-mcp history release", aboutLists, shows, read.History},
		{"edit", "[LIST]", "Edit a list in your editor, merged with what agents write",
			"todo-mcp edit release", aboutLists, lists, noFlags(change.Edit)},
		{"restore", "LIST REVISION", "Bring an earlier revision back, as a new one",
			"todo-mcp restore release 3", aboutLists, writes, noFlags(change.Restore)},
		{"rename", "LIST TITLE", "Give a list a title; an empty one removes it",
			`todo-mcp rename release "Release 1.0"`, aboutLists, writes, noFlags(change.Rename)},
		{"archive", "LIST...", "Archive lists; --undo brings them back",
			"todo-mcp archive release", aboutLists, writes, change.Archive},
		{"delete", "LIST...", "Delete lists with their history; --undo brings them back within a day",
			"todo-mcp delete release", aboutLists, writes, change.Delete},
		{"prune", "", "Delete old lists with their history, for good",
			"todo-mcp prune --older-than 30 --dry-run", aboutStore, store, storage.Prune},
		{"check", "", "Read the whole store and report damage",
			"todo-mcp check", aboutStore, store, noFlags(storage.Check)},
		{"backup", "FILE", "Write a copy of the store, checked, while it is in use; --restore puts it back",
			"todo-mcp backup todo-2026-11-24.db", aboutStore, store, storage.Backup},
		{"export", "[LIST...]", "Write lists with their whole history as NDJSON",
			"todo-mcp export > lists.ndjson", aboutStore, store, storage.Export},
		{"import", "[FILE]", "Read what export wrote",
			"todo-mcp import lists.ndjson", aboutStore, lists, noFlags(storage.Import)},
		{setup.DoctorName, "", "Check all that must work, and say how to repair what does not",
			"todo-mcp doctor", aboutProgram, everything, noFlags(setup.Doctor)},
		{"demo", "", "Open a panel with scripted agents at work",
			"todo-mcp demo", aboutProgram, []app.Group{app.AddressGroup}, run.Demo},
		{"version", "", "Show the version", "todo-mcp version", aboutProgram, nil, noFlags(version)},
	}
}

// noFlags returns [command.flags] for a command that has no flags of its own, only settings.
func noFlags(run app.Run) func(*flag.FlagSet) app.Run {
	return func(*flag.FlagSet) app.Run { return run }
}

// Run runs a command; a server runs until ctx ends. args is like [os.Args]. The error's text is complete for the user.
func Run(ctx context.Context, args []string, env Env) error {
	args = commandLine(args)
	if args[0] == "hook" && !app.IsTerminal(env.Stdin) && !slices.ContainsFunc(args, isHelp) {
		return setup.RunSilently(env, slices.Contains(args, "--wake"), func(env Env) error { return execute(ctx, env, args) })
	}
	if env.Signals != nil {
		ctx = env.Signals(ctx)
	}
	if err := execute(ctx, env, args); !app.IsUnread(err) {
		return err
	}
	return nil
}

// execute runs the command that args[0] names.
func execute(ctx context.Context, env Env, args []string) error {
	if args[0] == "TodoWrite" && slices.ContainsFunc(args, isHelp) {
		settings := app.NewSettings()
		err := settings.Collect(env)
		if err == nil {
			err = change.PrintGuidance(&app.App{Env: env, Settings: settings})
		}
		return todoWriteError(err)
	}
	all := commands()
	if i := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] }); i >= 0 {
		all = all[i : i+1] // saves the time to build the other commands
	}
	root := tree(env, all)
	root.SetArgs(args)
	runs := false
	root.PersistentPreRun = func(*cobra.Command, []string) { runs = true }
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return nil
	case args[0] == "TodoWrite":
		return todoWriteError(err)
	case !runs: // the command line is wrong
		err = app.UsageError{Err: err}
	}
	return fmt.Errorf("todo-mcp: %w", err)
}

// todoWriteError returns an error as TodoWrite must print it (docs/spec/variants.md C1, C2).
func todoWriteError(err error) error {
	var refusal change.Refusal
	if err == nil || app.IsUnread(err) || errors.As(err, &refusal) {
		return err
	}
	return errors.New("Error: " + err.Error())
}

// ExitCode returns 0 for nil, 2 if the command line is wrong or the error of [Run] is [setup.Told], else 1.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if usage, told := (app.UsageError{}), setup.Told(""); errors.As(err, &usage) || errors.As(err, &told) {
		return 2
	}
	return 1
}

// commandLine returns the arguments with a command at the front: "TodoWrite" if the program has exactly that name
// (docs/spec/variants.md C4), else the first argument if it is no flag, else "help", "version" or "stdio".
func commandLine(args []string) []string {
	rest := args[1:]
	if base := filepath.Base(args[0]); strings.TrimSuffix(base, ".exe") == "TodoWrite" {
		return append([]string{"TodoWrite"}, rest...)
	}
	switch {
	case len(rest) == 0:
		return []string{"stdio"}
	case rest[0] == "help" && len(rest) > 1:
		return []string{rest[1], "--help"}
	case isHelp(rest[0]):
		return []string{"help"}
	case rest[0] == "--version":
		return []string{"version"}
	case strings.HasPrefix(rest[0], "-"):
		return append([]string{"stdio"}, rest...)
	}
	return rest
}

func isHelp(arg string) bool { return arg == "-h" || arg == "--help" || arg == "-help" }

func version(_ context.Context, a *app.App, _ []string) error {
	return a.Say("todo-mcp %s (%s, %s/%s)\nMCP %s\n",
		a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(mcp.ValidProtocolVersions, ", "))
}

// BuildVersion returns the version in the binary's build information, or "devel" when there is none.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.TrimSuffix(strings.Trim(info.Main.Version, "()"), "+dirty")
}

// aboutArguments is the help text of the program, about all commands.
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
	root.SetHelpFunc(help)
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
		if wrong := (*flag.InvalidValueError)(nil); errors.As(err, &wrong) {
			if allowed := allowedValues[wrong.GetFlag().Value.Type()]; allowed != "" { // else err names the values
				err = fmt.Errorf("--%s %q: must be %s", wrong.GetFlag().Name, wrong.GetValue(), allowed)
			}
		}
		return fmt.Errorf("%s: %w; see todo-mcp help %[1]s", node.Name(), err)
	})
	return root
}

// allowedValues says which values a flag takes, by the flag's type.
var allowedValues = map[string]string{"bool": "true or false", "uint16": "a whole number from 0 to 65535", "duration": "a time such as 1500ms"}

// help prints cobra's help with a heading for each group of settings. A template would make the program 3.6 MB larger.
func help(node *cobra.Command, _ []string) {
	text, title := node.UsageString(), ""
	node.Flags().VisitAll(func(f *flag.Flag) {
		if row, isSetting := f.Value.(*app.Setting); isSetting && row.Group.Title() != title {
			title = row.Group.Title()
			line := "      --" + f.Name + " "
			text = strings.Replace(text, line, "\n"+title+":\n"+line, 1)
		}
	})
	fmt.Fprintf(node.OutOrStdout(), "%s\n\n%s", cmp.Or(node.Long, node.Short), text)
}

// node returns the command as a node of cobra's tree. When run, the command fills settings.
func (c command) node(env Env, settings *app.Settings) *cobra.Command {
	node := &cobra.Command{
		Use: strings.TrimSpace(c.name + " [flags] " + c.args), Short: c.summary, Example: "  " + c.example,
		GroupID: c.about, DisableFlagsInUseLine: true,
	}
	run := c.flags(node.Flags())
	c.addSettings(node, settings)
	node.Args = c.checkArguments
	node.RunE = func(node *cobra.Command, args []string) error {
		if err := settings.Collect(env); err != nil && c.name != setup.DoctorName {
			return app.UsageError{Err: err}
		}
		return run(node.Context(), &app.App{Env: env, Settings: settings, Command: c.name}, args)
	}
	if !strings.Contains(c.args, "FILE") {
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
	flags.SortFlags = false // help then has the table's order
	if c.groups != nil {
		flags.StringVar(&settings.File, "config", "", "config `FILE`, lines of NAME = VALUE")
	}
	node.InitDefaultHelpFlag()
	for _, row := range settings.Rows {
		if !slices.Contains(c.groups, row.Group) {
			continue
		}
		f := flags.VarPF(row, row.Name, "", strings.ReplaceAll(row.Help, "`", "'"))
		if row.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}
