package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"unicode"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

func editFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	mayClear := fs.Bool("clear", false, "let an emptied file clear the list")
	return func(ctx context.Context, a *app, args []string) error { return a.edit(ctx, args, *mayClear) }
}

// edit opens a list in the user's editor as a task list and applies the user's
// changes, merged with what agents wrote while the editor was open.
func (a *app) edit(ctx context.Context, args []string, mayClear bool) error {
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	list, err := a.findList(ctx, lists, args)
	if err != nil {
		return err
	}
	before := formatEditable(list)
	after, err := a.runEditor(ctx, before)
	if err != nil {
		return err
	}
	if after == before {
		_, err := fmt.Fprintln(a.Stdout, "Nothing was changed.")
		return err
	}
	lines, err := parseEdited(after)
	if err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	if len(lines) == 0 && len(list.Items) > 0 && !mayClear {
		return errors.New("no task is left in the file; nothing was changed. To clear the list, use `todo-mcp edit --clear`")
	}
	out, err := lists.Apply(ctx, todo.Write{
		Target: todo.Target{List: list.List.ID},
		Writer: todo.Writer{Client: "command line", Variant: "edit", Person: true},
		Seen:   list.Revision,
		Change: func(d *todo.Draft) error { d.Replace(personView(), lines); return nil },
	})
	if err != nil {
		return err
	}
	return a.print(out.After)
}

// personView returns the view of a list in the editor: texts and core statuses,
// no active texts.
func personView() todo.View {
	v := todo.CoreView()
	v.Active = false
	return v
}

// markers returns the status for each character that may stand in the brackets
// of an edited line.
func markers() map[string]todo.Status {
	return map[string]todo.Status{
		" ": todo.Pending, ">": todo.InProgress, "x": todo.Completed, "X": todo.Completed,
		"!": todo.Failed, "#": todo.Blocked, "-": todo.Cancelled,
	}
}

const editHelp = `
<!-- [ ] pending  [>] in progress  [x] completed  [!] failed  [#] blocked  [-] cancelled
     Add, reword, move or delete lines. The number behind a line keeps it the same item when
     you reword it. -->
`

// formatEditable returns a list as text for the editor: a task line for each
// item, then editHelp.
func formatEditable(list todo.Snapshot) string {
	mark := make(map[todo.Status]string)
	for m, s := range markers() {
		if m != "X" {
			mark[s] = m
		}
	}
	var b strings.Builder
	for _, i := range list.Items {
		fmt.Fprintf(&b, "- [%s] %s <!--%s-->\n", mark[i.Status], i.Text, i.ID)
	}
	return b.String() + editHelp
}

var taskLine = regexp.MustCompile(`^\s*[-*+] \[(.)\] (.*?)\s*(?:<!-- ?#?([0-9]+) ?-->)?\s*$`)

// comment matches an HTML comment that begins a line, such as editHelp. The
// comment with an item's id does not begin its line.
var comment = regexp.MustCompile(`(?ms)^<!--.*?-->`)

// parseEdited returns the lines of a text from the editor. An error names the
// line that is no task or is not valid.
func parseEdited(text string) ([]todo.Line, error) {
	text = comment.ReplaceAllString(text, "")
	var lines []todo.Line
	for n, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := taskLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d is no task: it must look like `- [ ] Write tests`", n+1)
		}
		status, known := markers()[m[1]]
		if !known {
			return nil, fmt.Errorf("line %d: [%s] is no status", n+1, render.Safe(m[1]))
		}
		item := todo.Item{Text: m[2], Status: status}
		if err := item.Check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		lines = append(lines, todo.Line{ID: m[3], Text: item.Text, Status: string(status)})
	}
	if len(lines) > todo.MaxItems {
		return nil, fmt.Errorf("a list holds at most %d items, there are %d", todo.MaxItems, len(lines))
	}
	return lines, nil
}

// runEditor runs $VISUAL, or else $EDITOR, on a temporary file that contains
// text, and returns what the file contains when the editor has ended.
func (a *app) runEditor(ctx context.Context, text string) (string, error) {
	command, err := splitCommandLine(cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR")))
	if err != nil {
		return "", err
	}
	if len(command) == 0 {
		return "", errors.New("set EDITOR to the editor to use")
	}
	f, err := os.CreateTemp("", "todo-*.md")
	if err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], f.Name())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("editor: %w; nothing was changed", err)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	return string(data), nil
}

// splitCommandLine splits a command line at spaces. Double or single quotes keep
// a part with spaces together; a backslash is a character like any other, since
// paths on Windows have them.
func splitCommandLine(text string) (parts []string, err error) {
	var part strings.Builder
	var quote rune // the open quotation mark, or 0
	begun := false
	for _, r := range text {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && unicode.IsSpace(r):
			if begun {
				parts = append(parts, part.String())
			}
			part.Reset()
			begun = false
		default:
			part.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("editor %q: a quotation mark is not closed", text)
	}
	if begun {
		parts = append(parts, part.String())
	}
	return parts, nil
}
