package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"todo-mcp/prompts"
)

func (a *app) help(_ context.Context, args []string) error {
	if len(args) == 0 {
		return printOverview(a.Stdout)
	}
	c, ok := findCommand(args[0])
	if !ok {
		return fmt.Errorf("there is no command %q; see `todo-mcp help`", args[0])
	}
	return printHelp(a.Stdout, c)
}

func printOverview(w io.Writer) error {
	var b strings.Builder
	b.WriteString("todo-mcp keeps the todo lists of AI agents: safe on disk, and watched live.\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
	}
	b.WriteString("\nEvery setting is a flag (--max-items 20), a variable (TODO_MAX_ITEMS=20) or a line of\n" +
		"the config file (max-items = 20); `todo-mcp help COMMAND` lists them.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func printHelp(w io.Writer, c command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: todo-mcp %s", c.name)
	if c.args != "" {
		b.WriteString(" " + c.args)
	}
	fmt.Fprintf(&b, " [flags]\n\n%s.\n", c.summary)
	rows := flagLines(c)
	if len(rows) > 0 {
		b.WriteString("\nFlags:\n" + strings.Join(rows, "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flagLines returns a line of help for each flag of a command: its own flags,
// then its settings.
func flagLines(c command) (lines []string) {
	for _, f := range ownFlags(c) {
		lines = append(lines, fmt.Sprintf("  --%-20s %s", f.Name, f.Usage))
	}
	for _, row := range table() {
		if !slices.Contains(c.groups, row.group) {
			continue
		}
		line := fmt.Sprintf("  --%-20s %s", row.name, row.help)
		if row.def != "" && !row.isSwitch {
			line += " (default " + row.def + ")"
		}
		lines = append(lines, line)
	}
	if c.groups != nil {
		lines = append(lines, fmt.Sprintf("  --%-20s %s", "config", "config file, lines of NAME = VALUE"))
	}
	return lines
}

// printDocument prints a tool's full guidance (docs/spec/variants.md C2).
func printDocument(env Env, tool string) error {
	texts, err := prompts.New(prompts.Long, env.Getenv("TODO_PROMPTS"))
	if err != nil {
		return &verbatimError{"Error: " + err.Error()}
	}
	document, err := texts.Document(tool)
	if err != nil {
		return &verbatimError{"Error: " + err.Error()}
	}
	_, err = fmt.Fprintln(env.Stdout, document)
	return err
}
