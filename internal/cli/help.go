package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/prompts"
)

func help(_ context.Context, a *app.App, args []string) error {
	if len(args) == 0 {
		return printOverview(a.Stdout)
	}
	c, err := findCommand(args[0])
	if err != nil {
		return err
	}
	return c.printHelp(a.Env, c.node(a.Env).Flags())
}

func printOverview(w io.Writer) error {
	var b strings.Builder
	b.WriteString("todo-mcp keeps the todo lists of AI agents: safe on disk, and watched live.\n")
	for _, about := range []string{aboutServers, aboutClients, aboutHooks, aboutLists, aboutStore, aboutProgram} {
		fmt.Fprintf(&b, "\n%s:\n", about)
		for _, c := range commands() {
			if c.about == about {
				fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
			}
		}
	}
	fmt.Fprintf(&b, "  %-10s %s\n", "completion", "Complete command lines in bash, zsh, fish or PowerShell")
	b.WriteString("\n" + aboutArguments)
	_, err := io.WriteString(w, b.String())
	return err
}

// aboutArguments says what holds for all commands.
const aboutArguments = "LIST is what you see of a list: its title, the beginning of it or some words, its name, or\n" +
	"its id, of which four characters do. Several that match are shown to choose from.\n\n" +
	"Every setting is a flag (--max-items 20), a variable (TODO_MAX_ITEMS=20) or a line of\n" +
	"the config file (max-items = 20); `todo-mcp help COMMAND` lists them.\n"

// printHelp prints the help of a command with these flags, its own first; the help of
// TodoWrite is the tool's guidance (docs/spec/variants.md C2).
func (c command) printHelp(env Env, fs *flag.FlagSet) error {
	if c.name == "TodoWrite" {
		return printDocument(env, c.name)
	}
	var sections []*flag.FlagSet
	fs.SortFlags = false // in the order of the table
	fs.VisitAll(func(f *flag.Flag) {
		title := "Flags"
		if group := f.Annotations[groupAnnotation]; group != nil {
			title = group[0]
		}
		i := slices.IndexFunc(sections, func(s *flag.FlagSet) bool { return s.Name() == title })
		if i < 0 {
			i = len(sections)
			sections = append(sections, flag.NewFlagSet(title, flag.ContinueOnError))
			sections[i].SortFlags = false
		}
		sections[i].AddFlag(f)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nUsage:\n  %s\n\nExample:\n  %s\n",
		c.summary, strings.TrimSpace("todo-mcp "+c.name+" [flags] "+c.args), c.example)
	for _, section := range sections {
		fmt.Fprintf(&b, "\n%s:\n%s", section.Name(), section.FlagUsagesWrapped(max(app.TerminalWidth(env.Stdout), 100)))
	}
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}

// printDocument prints a tool's full guidance (docs/spec/variants.md C2).
func printDocument(env Env, tool string) error {
	document := ""
	texts, err := prompts.New(env.Getenv("TODO_PROMPTS"))
	if err == nil {
		document, err = texts.Document(tool)
	}
	if err != nil {
		return app.VerbatimError("Error: " + err.Error())
	}
	_, err = fmt.Fprintln(env.Stdout, document)
	return err
}
