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
		return noCommand(args[0])
	}
	return printHelp(a.Stdout, c)
}

// noCommand returns the error for a command that does not exist, with the one that
// was probably meant.
func noCommand(name string) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	if nearest := nearest(name, names); nearest != "" {
		return fmt.Errorf("there is no command %q; did you mean %s? See `todo-mcp help`", name, nearest)
	}
	return fmt.Errorf("there is no command %q; see `todo-mcp help`", name)
}

// nearest returns the name that was probably meant by another; empty when it is like
// none.
func nearest(name string, names []string) (nearest string) {
	least := 3
	for _, known := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(known)); d < least && d < len(known)-1 {
			nearest, least = known, d
		}
	}
	return nearest
}

// distance returns how many characters must be added, removed, replaced or swapped
// with their neighbour to make one text the other.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case x[i-1] == y[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}

func printOverview(w io.Writer) error {
	var b strings.Builder
	b.WriteString("todo-mcp keeps the todo lists of AI agents: safe on disk, and watched live.\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
	}
	b.WriteString("\nLIST is what you see of a list: its title, the beginning of it or some words, its name, or\n" +
		"its id, of which four characters do. Several that match are shown to choose from.\n")
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
