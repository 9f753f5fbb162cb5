// Package change has the commands that change lists. All but TodoWrite and purges use a [todo.Edit], as the panel does.
package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Archive archives lists, or brings them back.
func Archive(fs *flag.FlagSet) app.Run {
	undo := fs.Bool("undo", false, "bring them back")
	return func(ctx context.Context, a *app.App, args []string) error {
		do, words := todo.EditArchive, "Archived %q (%s)."
		if *undo {
			do, words = todo.EditUnarchive, "Brought back %q (%s)."
		}
		return forLists(ctx, a, args, app.NamedOptions{}, edit(a, todo.Edit{Do: do}, words))
	}
}

// Rename gives a list a title.
func Rename(ctx context.Context, a *app.App, args []string) error {
	rename := edit(a, todo.Edit{Do: todo.EditRename, Text: args[1]}, "Renamed to %q (%s).")
	return forLists(ctx, a, args[:1], app.NamedOptions{}, rename)
}

// Delete deletes lists, brings back lists deleted within a day, or purges lists.
func Delete(fs *flag.FlagSet) app.Run {
	undo := fs.Bool("undo", false, "bring them back, within a day")
	purges := fs.Bool("purge", false, "delete them at once and for good; asks first")
	yes := fs.Bool("yes", false, "with --purge: do not ask")
	return func(ctx context.Context, a *app.App, args []string) error {
		named := app.NamedOptions{Deleted: *undo}
		do := edit(a, todo.Edit{Do: todo.EditDelete}, "Deleted %q (%s). For a day `todo-mcp delete --undo %[2]s` brings it back.")
		switch {
		case *undo && *purges:
			return app.Usagef("--undo and --purge contradict each other")
		case *undo:
			do = edit(a, todo.Edit{Do: todo.EditUndelete}, "Brought back %q (%s).")
		case *purges:
			named = app.NamedOptions{AndDeleted: true, Surely: *yes, Damaged: true}
			do = func(ctx context.Context, lists board.Lists, l *todo.Snapshot) (string, error) {
				return "Deleted for good %q (%s).", purge(ctx, a, lists, l, *yes)
			}
		}
		return forLists(ctx, a, args, named, do)
	}
}

// edited changes a list and updates l. It returns a format string for the list's title and its id.
type edited func(ctx context.Context, lists board.Lists, l *todo.Snapshot) (words string, err error)

// edit returns a function that makes the edit e. It returns a format string: words, or "was so already" if nothing changed.
func edit(a *app.App, e todo.Edit, words string) edited {
	return func(ctx context.Context, lists board.Lists, l *todo.Snapshot) (string, error) {
		out, err := lists.Edit(ctx, l.List.ID, e, app.CommandLine(a.Command))
		if *l = out.After; !out.Changed {
			return "%q (%s) was so already.", err
		}
		return words, err
	}
}

// purge deletes a list and its sub-agents' lists for good, even if they were already deleted.
func purge(ctx context.Context, a *app.App, lists board.Lists, l *todo.Snapshot, yes bool) error {
	question := fmt.Sprintf("Delete %q and its history for good?", render.Safe(l.Title()))
	if err := a.Confirm(ctx, question, yes); err != nil {
		return err
	}
	subs, err := lists.Find(ctx, board.Query{Parent: l.List.ID, Deleted: true})
	if err != nil {
		return err
	}
	ids := []string{l.List.ID}
	for _, sub := range subs {
		ids = append(ids, sub.List.ID)
	}
	l.Deleted = true
	_, err = lists.Purge(ctx, app.CommandLine("delete"), ids...)
	return err
}

// forLists calls the function do for each list in args and prints the result. If any is not found, it changes no list.
func forLists(ctx context.Context, a *app.App, args []string, o app.NamedOptions, do edited) error {
	return a.OnLists(func(lists board.Lists) error {
		found, err := a.NamedAll(ctx, lists, args, o)
		for _, l := range found {
			words, err := do(ctx, lists, &l)
			if err == nil {
				err = a.Say(words+"\n", render.Safe(l.Title()), render.ShortID(l.List.ID))
			}
			if err != nil {
				return err
			}
		}
		return err
	})
}

// Restore saves a copy of an earlier revision as the newest one. All revisions stay in the history.
func Restore(ctx context.Context, a *app.App, args []string) error {
	revision, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || revision < 1 {
		return app.Usagef("revision %q: must be a whole number, 1 or more", args[1])
	}
	words := fmt.Sprintf("Revision %d of %%q (%%s) is back, as a new one.", revision)
	restore := edit(a, todo.Edit{Do: todo.EditRestore, Revision: revision}, words)
	err = forLists(ctx, a, args[:1], app.NamedOptions{Damaged: true}, restore)
	if errors.Is(err, board.ErrNotFound) {
		return fmt.Errorf("revision %d is not kept; see `todo-mcp history %q`", revision, args[0])
	}
	return err
}

// Edit opens a list in the user's editor and prints the edited list.
func Edit(ctx context.Context, a *app.App, args []string) error {
	return a.OnList(ctx, args, app.NamedOptions{}, func(lists board.Lists, list todo.Snapshot) error {
		after := list
		err := InEditor(ctx, a, list, func(e todo.Edit) error {
			out, err := lists.Edit(ctx, list.List.ID, e, app.CommandLine("edit"))
			after = out.After
			return err
		})
		switch {
		case err != nil:
			return err
		case after.Revision == list.Revision:
			return a.Say("Nothing was changed.\n")
		}
		return a.Say("%s", render.Plain(after, a.Colour()))
	})
}

// InEditor opens a list in the user's editor as a task list and calls the function apply with the edit if the text
// changed. The edit is merged with writes of agents meanwhile. After an error the typed text stays in a file.
func InEditor(ctx context.Context, a *app.App, list todo.Snapshot, apply func(todo.Edit) error) error {
	if list.List.Mirrored {
		return todo.ErrMirrored
	}
	before := formatEditable(list)
	file, err := editFile(ctx, a, before)
	if file == "" {
		return err
	}
	after, readErr := readEdited(file)
	if err = errors.Join(err, readErr); err == nil && string(after) != before {
		var e todo.Edit
		if e, err = editedItems(list, string(after)); err == nil {
			err = apply(e)
		}
	}
	if err != nil && string(after) != before && strings.TrimSpace(string(after)) != "" {
		return fmt.Errorf("%w. What you typed is in %s", err, file)
	}
	os.Remove(file)
	return err
}

// readEdited reads the file that an editor wrote.
func readEdited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAll(f)
	if err != nil {
		err = fmt.Errorf("read what the editor wrote: %w; nothing was changed", err)
	}
	return text, err
}

// readAll reads to the end; more than [todo.MaxRequest] bytes are an error.
func readAll(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(asutf8.Reader(from), todo.MaxRequest+1))
	if err == nil && len(text) > todo.MaxRequest {
		err = fmt.Errorf("it is larger than %d bytes", todo.MaxRequest)
	}
	return text, err
}

// editedItems returns the edit that replaces the items of a list by those in the edited text.
func editedItems(list todo.Snapshot, after string) (todo.Edit, error) {
	lines, later, err := parseEdited(after)
	if err != nil {
		return todo.Edit{}, fmt.Errorf("%w; nothing was changed", err)
	}
	if len(lines)+len(later) == 0 && len(list.Items) > 0 {
		return todo.Edit{}, errors.New("the file has no task left; nothing was changed. `todo-mcp delete` deletes a list")
	}
	if len(later)+len(list.Later) == 0 {
		later = nil
	}
	return todo.Edit{Do: todo.EditItems, Lines: lines, Later: later, Seen: list.Revision}, nil
}

const editHelp = `
<!-- [ ] pending  [>] in progress  [x] completed  [!] failed  [#] blocked  [-] cancelled
     [+] pending, and the agent is told when its turn ends
     Add, reword, move or delete lines. The number behind a line keeps it the same item when
     you reword it. -->
`

// formatEditable returns a task line for each item of a list, then one for each item in list.Later, then editHelp.
func formatEditable(list todo.Snapshot) string {
	var b strings.Builder
	for _, i := range list.Items {
		fmt.Fprintf(&b, "- %s %s <!--%s-->\n", render.Marker(i.Status), i.Text, i.ID)
	}
	for _, i := range list.Later {
		fmt.Fprintf(&b, "- %s %s\n", render.LaterMarker, i.Text)
	}
	return b.String() + editHelp
}

// taskLine matches a task: marker, text, item id, and text after the id.
var taskLine = regexp.MustCompile(`^\s*[-*+] (\[.\]) (.*?)\s*(?:<!-- ?#?([0-9]+) ?-->([^<]*))?$`)

// comment matches an HTML comment that begins a line, such as editHelp, but not an item's id at the end of a line.
var comment = regexp.MustCompile(`(?ms)^<!--.*?-->`)

// parseEdited parses a text from the editor into lines, and texts for the end of the agent's turn. An error names a line.
func parseEdited(text string) (lines []todo.Line, later []string, err error) {
	text = comment.ReplaceAllString(text, "")
	lines, later = []todo.Line{}, []string{}
	for n, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := taskLine.FindStringSubmatch(line)
		if m == nil {
			return nil, nil, fmt.Errorf("line %d is not a task: it must look like `- [ ] Write tests`", n+1)
		}
		status := slices.IndexFunc(todo.Statuses(), func(s todo.Status) bool { return render.Marker(s) == strings.ToLower(m[1]) })
		isLater := m[1] == render.LaterMarker
		if isLater {
			status = slices.Index(todo.Statuses(), todo.Pending)
		}
		if status < 0 {
			return nil, nil, fmt.Errorf("line %d: %s is not a status", n+1, render.Safe(m[1]))
		}
		item := todo.Item{Text: strings.TrimSpace(m[2] + " " + strings.TrimSpace(m[4])), Status: todo.Statuses()[status]}
		if err := item.Check(); err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if isLater {
			later = append(later, item.Text)
			continue
		}
		lines = append(lines, todo.Line{ID: m[3], Text: item.Text, Status: string(item.Status)})
	}
	return lines, later, nil
}

// editFile runs the user's editor on a temporary file with a text. It returns the path even with an error; "" if none.
func editFile(ctx context.Context, a *app.App, text string) (path string, err error) {
	command, err := editor(a)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "todo-*.md")
	if err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Close()); err != nil {
		return f.Name(), fmt.Errorf("edit: %w", err)
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], f.Name())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	if err := cmd.Run(); err != nil {
		return f.Name(), fmt.Errorf("editor %s: %w; nothing was changed", command[0], err)
	}
	return f.Name(), nil
}

// editor returns the command of $VISUAL, else $EDITOR, else in a terminal the first usual editor that exists.
func editor(a *app.App) ([]string, error) {
	command, err := app.SplitCommandLine(cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR")))
	if err != nil {
		return nil, fmt.Errorf("editor %w", err)
	}
	if len(command) > 0 {
		return command, nil
	}
	usual := []string{"editor", "nano", "vim", "vi", "emacs"}
	if runtime.GOOS == "windows" {
		usual = []string{"notepad"}
	}
	for _, name := range usual {
		if path, err := exec.LookPath(name); err == nil && app.IsTerminal(a.Stdin) {
			return []string{path}, nil
		}
	}
	return nil, errors.New("set EDITOR to the editor to use")
}
