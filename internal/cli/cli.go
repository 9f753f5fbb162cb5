package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Env is what a command uses of its process: the standard streams, the
// environment variables, and the program's version. Getenv must not be nil.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Version        string
}

// command is one row of the command table.
type command struct {
	name    string
	args    string // as the usage line shows them
	summary string
	groups  []group // the settings it accepts; nil: none, and no --config
	// flags adds the command's own flags and returns the function that runs the
	// command with the arguments that are not flags.
	flags func(*flag.FlagSet) func(ctx context.Context, a *app, args []string) error
}

// commands returns the command table, in the order in which help shows it.
func commands() []command {
	everything := []group{storeGroup, keepGroup, listGroup, toolGroup, serverGroup, httpGroup, tokenGroup}
	return []command{
		{"stdio", "", "Serve one MCP client on standard input and output (the default)", everything, stdioFlags},
		{"serve", "", "Serve MCP and the panel over HTTP", everything, serveFlags},
		{"watch", "[LIST]", "Watch lists live in the terminal; one, or all that move", []group{storeGroup, keepGroup, listGroup, watchGroup}, watchFlags},
		{"show", "[LIST]", "Show a list: by its title, name or id, or the last one", []group{storeGroup, listGroup}, showFlags},
		{"lists", "", "Show all lists, those at work first", []group{storeGroup}, listsFlags},
		{"history", "[LIST]", "Show what changed in a list, revision by revision", []group{storeGroup, listGroup}, historyFlags},
		{"edit", "[LIST]", "Edit a list in your editor, merged with what agents write", []group{storeGroup, keepGroup, listGroup}, editFlags},
		{"restore", "LIST REVISION", "Bring an earlier revision back, as a new one", []group{storeGroup, keepGroup}, noFlags((*app).restore)},
		{"rename", "LIST TITLE", "Give a list a title", []group{storeGroup, keepGroup}, renameFlags},
		{"archive", "LIST...", "Put lists away; --undo brings them back", []group{storeGroup, keepGroup}, archiveFlags},
		{"delete", "LIST...", "Delete lists with their history; --undo brings them back within a day", []group{storeGroup, keepGroup}, deleteFlags},
		{"prune", "", "Delete old lists with their history, for good", []group{storeGroup}, pruneFlags},
		{"check", "", "Read the whole store and say what is damaged", []group{storeGroup}, noFlags((*app).check)},
		{"export", "[LIST...]", "Write lists with their whole history as NDJSON", []group{storeGroup}, noFlags((*app).export)},
		{"import", "[FILE]", "Read what export wrote, or a markdown task list", []group{storeGroup, keepGroup, listGroup}, importFlags},
		{"TodoWrite", "JSON", "Write the working directory's list, as the tool does", []group{storeGroup, keepGroup, listGroup, toolGroup}, noFlags((*app).todoWrite)},
		{"token", "new NAME|list|revoke NAME", "Make, list and revoke the tokens by which clients sign in", []group{tokenGroup}, tokenFlags},
		{"install", "[CLIENT...]", "Add the server to MCP clients; without CLIENT to those found here", nil, installFlags},
		{"uninstall", "[CLIENT...]", "Take the server away from MCP clients", nil, uninstallFlags},
		{"demo", "", "Show a panel with a scripted agent at work", []group{httpGroup}, demoFlags},
		{"version", "", "Show the version", nil, noFlags((*app).version)},
		{"help", "[COMMAND]", "Show help", nil, noFlags((*app).help)},
	}
}

// noFlags is the flags function of a command that has only settings.
func noFlags(run func(*app, context.Context, []string) error) func(*flag.FlagSet) func(context.Context, *app, []string) error {
	return func(*flag.FlagSet) func(context.Context, *app, []string) error {
		return func(ctx context.Context, a *app, args []string) error { return run(a, ctx, args) }
	}
}

func findCommand(name string) (command, bool) {
	i := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return commands()[i], true
}

// Run runs a command. args is like [os.Args]: the program's name comes first
// and is never missing. Run returns when the command has ended, for a server
// after ctx ends. The error's text is the complete message for the user.
func Run(ctx context.Context, args []string, env Env) error {
	name, rest := splitCommand(args)
	c, ok := findCommand(name)
	if !ok {
		return fmt.Errorf("todo-mcp: %w", noCommand(name))
	}
	if c.name == "TodoWrite" && slices.ContainsFunc(rest, isHelp) {
		return printDocument(env, "TodoWrite")
	}
	if slices.ContainsFunc(rest, isHelp) {
		return printHelp(env.Stdout, c)
	}
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	flagValues := addSettings(fs, c)
	run := c.flags(fs)
	positional, err := parseFlags(fs, rest)
	if err != nil {
		return fmt.Errorf("todo-mcp %s: %w; see `todo-mcp help %s`", c.name, err, c.name)
	}
	s, err := collect(fs, flagValues, env)
	if err != nil {
		return fmt.Errorf("todo-mcp: %w", err)
	}
	err = run(ctx, &app{Env: env, settings: s, command: c.name}, positional)
	if verbatim := (*verbatimError)(nil); err == nil || errors.As(err, &verbatim) {
		return err
	}
	return fmt.Errorf("todo-mcp: %w", err)
}

// verbatimError is an error that is printed without the prefix "todo-mcp: "
// (docs/spec/variants.md C1, C2).
type verbatimError struct{ text string }

func (e *verbatimError) Error() string { return e.text }

// splitCommand returns the command's name and the arguments after it. The name
// is the first argument, or "TodoWrite" when the program was called by that
// name (docs/spec/variants.md C4: compared as a whole word). Without a command
// it is "stdio".
func splitCommand(args []string) (name string, rest []string) {
	if base := filepath.Base(args[0]); strings.TrimSuffix(base, ".exe") == "TodoWrite" {
		return "TodoWrite", args[1:]
	}
	rest = args[1:]
	switch {
	case len(rest) == 0:
		return "stdio", nil
	case isHelp(rest[0]):
		return "help", nil
	case rest[0] == "--version":
		return "version", nil
	case strings.HasPrefix(rest[0], "-"):
		return "stdio", rest
	}
	return rest[0], rest[1:]
}

func isHelp(arg string) bool { return arg == "-h" || arg == "--help" || arg == "-help" }

// parseFlags parses flags and arguments, which may come in any order, and
// returns the arguments.
func parseFlags(fs *flag.FlagSet, args []string) (positional []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return positional, nil
		}
		positional = append(positional, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// addSettings adds the flags of the settings that a command accepts, and
// --config if it accepts any. Parsing fs fills the returned map: setting name
// to text.
func addSettings(fs *flag.FlagSet, c command) map[string]string {
	values := make(map[string]string)
	for _, row := range table() {
		if !slices.Contains(c.groups, row.group) {
			continue
		}
		record := func(v string) error { values[row.name] = v; return nil }
		if row.isSwitch {
			fs.BoolFunc(row.name, row.help, record)
		} else {
			fs.Func(row.name, row.help, record)
		}
	}
	if c.groups != nil {
		fs.String("config", "", "config file")
	}
	return values
}

// collect reads the settings from flagValues, the environment and the config
// file.
func collect(fs *flag.FlagSet, flagValues map[string]string, env Env) (*settings, error) {
	path, named := configFile(env.Getenv), false
	if f := fs.Lookup("config"); f != nil && f.Value.String() != "" {
		path, named = f.Value.String(), true
	} else if v := env.Getenv("TODO_CONFIG"); v != "" {
		path, named = v, true
	}
	layers := []layer{{"flag", flagValues}, fromEnvironment(env.Getenv)}
	if path != "" {
		file, err := fromFile(path, named)
		if err != nil {
			return nil, err
		}
		layers = append(layers, file)
	}
	return load(layers)
}

// workingDir returns the working directory, or "" when it cannot be determined.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
