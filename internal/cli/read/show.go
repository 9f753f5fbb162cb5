package read

import (
	"context"
	"fmt"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Show shows a list.
func Show(fs *flag.FlagSet) app.Run {
	format := app.WordFlag(fs, "format", "text", "the `FORMAT`: text, markdown, pr (the description of a pull request), json or statusline",
		"text", "markdown", "pr", "json", "statusline")
	asJSON := fs.Bool("json", false, "the same as --format json")
	width := fs.Uint16("width", 60, "at most `N` columns of a status line")
	folder := fs.String("folder", "", "the `FOLDER` whose list is shown; empty is this one")
	chat := fs.String("chat", "", "the list that the agent of a chat keeps by todo-mcp, by the host's `ID` of the chat")
	claudeCode := fs.Bool("claude-code", false, "the status line of the chat that Claude Code tells of on standard input")
	return func(ctx context.Context, a *app.App, args []string) error {
		if *asJSON {
			*format = "json"
		}
		a.Folder = *folder
		if *claudeCode || *format == "statusline" {
			return statusLine(ctx, a, args, *claudeCode, int(*width))
		}
		if *chat != "" {
			return a.OnLists(func(lists board.Lists) error {
				list, err := lists.Current(ctx, board.Target{Conversation: board.Conversation{Key: todo.ChatKey(*chat)}})
				if err != nil {
					return fmt.Errorf("the list of the chat %s: %w", *chat, err)
				}
				return show(ctx, a, lists, list, *format)
			})
		}
		return a.OnList(ctx, args, func(lists board.Lists, list todo.Snapshot) error {
			return show(ctx, a, lists, list, *format)
		})
	}
}

func show(ctx context.Context, a *app.App, lists board.Lists, list todo.Snapshot, format string) error {
	if format == "markdown" {
		return a.Say("%s", render.Markdown(list))
	}
	group, line, err := standing(ctx, lists, list)
	if err != nil {
		return err
	}
	switch format {
	case "pr":
		return pullRequest(ctx, a, lists, group)
	case "json":
		return app.PrintJSON(a.Stdout, listed{ListDocument: render.Document(list), Standing: whole(group)}, "  ")
	}
	return a.Say("%s%s", render.Plain(list, a.Style(), line), subsOf(a, group.Subs))
}

func pullRequest(ctx context.Context, a *app.App, lists board.Lists, f account.Group) error {
	var all []todo.Snapshot
	var worked time.Duration
	for _, l := range append(f.Lists(), f.Away...) {
		whole, took, err := account.Whole(lists.Revisions(ctx, l.List.ID, 0))
		if err != nil {
			return err
		}
		all, worked = append(all, whole), worked+took
	}
	return a.Say("%s", render.PullRequest(all, worked))
}

func groupOf(ctx context.Context, lists board.Lists, list todo.Snapshot) (account.Group, error) {
	subs, states, err := lists.Together(ctx, list)
	return account.Of(list, subs, states), err
}

// standing returns a list with the lists of its sub-agents, and how it stands, and its id, in
// one line.
func standing(ctx context.Context, lists board.Lists, s todo.Snapshot) (f account.Group, line string, err error) {
	if f, err = groupOf(ctx, lists, s); err != nil {
		return f, "", err
	}
	var by todo.Snapshot
	if s.ReplacedBy != "" {
		by, _ = lists.Load(ctx, s.ReplacedBy, 0) // one that is gone is named by its id
	}
	line = render.Standing(f, whole(f).Asks, time.Now(), by) + " · " + render.ShortID(s.List.ID)
	if s.List.Mirrored {
		line += " · kept in the agent's own todo tool"
	}
	return f, line, nil
}

// listed is a list as JSON with how it stands, and where a search found it.
type listed struct {
	render.ListDocument
	todo.Standing
	Found todo.Said `json:"found,omitzero"`
}

// whole returns how the lists of a group stand together.
func whole(f account.Group) todo.Standing {
	l, asks, _ := f.Asks()
	return todo.Standing{State: f.State(), Asks: asks, Since: f.States[l.List.ID].Since}
}

// subsOf returns the lists of the sub-agents at work for a main list, under a line
// with their total progress; empty without any.
func subsOf(a *app.App, subs []todo.Snapshot) (text string) {
	var all todo.Progress
	for _, s := range subs {
		all = all.Plus(s.Progress())
		s.List.Name = s.List.Agent
		text += render.Plain(s, a.Style())
	}
	if text == "" {
		return ""
	}
	indented := "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
	return fmt.Sprintf("\nsub-agents %d of %d\n%s\n", all.Done, all.Total, indented)
}

// maxRevisions is how many revisions are shown when not all are asked for, the last ones.
const maxRevisions = 100

// History shows what changed in a list.
func History(fs *flag.FlagSet) app.Run {
	asJSON := fs.Bool("json", false, "print JSON, one revision a line, all of them")
	all := fs.Bool("all", false, fmt.Sprintf("all revisions, not the last %d alone", maxRevisions))
	return func(ctx context.Context, a *app.App, args []string) error {
		return a.OnLists(func(lists board.Lists) error {
			list, err := a.FindList(ctx, lists, args, app.NamedOptions{Damaged: true}) // earlier revisions may be good
			if err != nil {
				return err
			}
			lists.Look(ctx, list)
			first := list.Revision - maxRevisions + 1
			if *asJSON || *all {
				first = 1
			}
			return history(ctx, a, lists, list, max(first, 1), *asJSON)
		})
	}
}

// history prints the revisions of a list from the first one on.
func history(ctx context.Context, a *app.App, lists board.Lists, list todo.Snapshot, first int64, asJSON bool) error {
	_, line, err := standing(ctx, lists, list)
	if err != nil {
		return err
	}
	saw, err := lists.Saw(ctx, list)
	if err != nil {
		return err
	}
	if !asJSON {
		if err := a.Say("%s\n%s\n\n", render.Heading(list, render.ListTitle(list)), line); err != nil {
			return err
		}
	}
	edits := account.EditsOf(saw, list)
	if first > 1 {
		if err := a.Say("What was before revision %d is shown by --all.\n\n", first); err != nil {
			return err
		}
	}
	before := todo.Snapshot{}
	for r, err := range lists.Revisions(ctx, list.List.ID, max(first-2, 0)) { // one more, from which the first one differs
		if err == nil && r.Revision >= first {
			var by todo.Snapshot
			if r.ReplacedBy != "" {
				by, _ = lists.Load(ctx, r.ReplacedBy, 0) // see above
			}
			err = printRevision(a, before, r, by, edits, asJSON)
		}
		if err != nil {
			return err
		}
		before = r
	}
	return nil
}

// printRevision prints one revision; before is the revision before it, from
// which it differs, by the list for which it was put away, and edits what became of what people
// changed.
func printRevision(a *app.App, before, r, by todo.Snapshot, edits account.Edits, asJSON bool) error {
	if asJSON {
		return app.PrintJSON(a.Stdout, render.Document(r), "")
	}
	head, changes := render.Revision(before, r, edits, time.Local, by)
	text := head + "\n"
	for _, line := range changes {
		text += "  " + line + "\n"
	}
	return a.Say("%s\n", text)
}
