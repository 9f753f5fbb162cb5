package read

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/asutf8"
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
	chat := fs.String("chat", "", "the list that a chat's agent keeps in todo-mcp; `ID` is the host's id of the chat")
	claudeCode := fs.Bool("claude-code", false, "a status line for Claude Code, which names its chat on standard input")
	return func(ctx context.Context, a *app.App, args []string) error {
		if *asJSON {
			*format = "json"
		}
		a.Folder = *folder
		if *claudeCode || *format == "statusline" {
			return statusLine(ctx, a, args, *claudeCode, int(*width))
		}
		do := func(lists board.Lists, list todo.Snapshot) error { return show(ctx, a, lists, list, *format) }
		if *chat == "" {
			return a.OnList(ctx, args, app.NamedOptions{}, do)
		}
		return a.OnLists(func(lists board.Lists) error {
			list, err := lists.Current(ctx, board.Target{Conversation: board.Conversation{Key: todo.ChatKey(*chat)}})
			if err != nil {
				return fmt.Errorf("the list of the chat %s: %w", *chat, err)
			}
			return do(lists, list)
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
	return a.Say("%s%s", render.Plain(list, a.Colour(), line), subsOf(a, group.Subs))
}

func pullRequest(ctx context.Context, a *app.App, lists board.Lists, f account.Group) error {
	var all []todo.Snapshot
	var worked time.Duration
	for _, l := range append(f.Lists(), f.Away...) {
		whole, gone, took, _, err := account.Follow(lists.Revisions(ctx, l.List.ID, 0), time.Time{}, time.Now().AddDate(100, 0, 0)) // a clock may be ahead
		if err != nil {
			return err
		}
		whole.Items = slices.Concat(gone, whole.Items)
		all, worked = append(all, whole), worked+took
	}
	return a.Say("%s", render.PullRequest(all, worked))
}

func groupOf(ctx context.Context, lists board.Lists, list todo.Snapshot) (account.Group, error) {
	subs, states, err := lists.Together(ctx, list)
	return account.Of(list, subs, states), err
}

// standing returns a list's group, and a line with the list's state and id.
func standing(ctx context.Context, lists board.Lists, s todo.Snapshot) (f account.Group, line string, err error) {
	if f, err = groupOf(ctx, lists, s); err != nil {
		return f, "", err
	}
	line = render.Standing(f, whole(f).Asks, time.Now(), replacement(ctx, lists, s)) + " · " + render.ShortID(s.List.ID)
	if s.List.Mirrored {
		line += " · kept in the agent's own todo tool"
	}
	return f, line, nil
}

// replacement returns the list that replaced s; the zero snapshot if none did or it was deleted.
func replacement(ctx context.Context, lists board.Lists, s todo.Snapshot) (by todo.Snapshot) {
	if s.ReplacedBy != "" {
		by, _ = lists.Load(ctx, s.ReplacedBy, 0)
	}
	return by
}

// listed is the JSON of a list, its state, and the place where a search found text.
type listed struct {
	render.ListDocument
	todo.Standing
	Found todo.Said `json:"found,omitzero"`
}

// whole returns the state of a group.
func whole(f account.Group) todo.Standing {
	l, asks, _ := f.Asks()
	return todo.Standing{State: f.State(), Asks: asks, Since: f.States[l.List.ID].Since}
}

// subsOf returns the lists of sub-agents, indented below a line with their total progress; empty if there are none.
func subsOf(a *app.App, subs []todo.Snapshot) (text string) {
	var all todo.Progress
	for _, s := range subs {
		all = all.Plus(s.Progress())
		s.List.Name = s.List.Agent
		text += render.Plain(s, a.Colour())
	}
	if text == "" {
		return ""
	}
	indented := "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
	return fmt.Sprintf("\nsub-agents %d of %d\n%s\n", all.Done, all.Total, indented)
}

// History shows what changed in a list.
func History(fs *flag.FlagSet) app.Run {
	asJSON := fs.Bool("json", false, "print all revisions as JSON, one a line")
	return func(ctx context.Context, a *app.App, args []string) error {
		damaged := app.NamedOptions{Damaged: true} // earlier revisions may be readable
		return a.OnList(ctx, args, damaged, func(lists board.Lists, list todo.Snapshot) error {
			return history(ctx, a, lists, list, *asJSON)
		})
	}
}

// history prints the revisions of a list.
func history(ctx context.Context, a *app.App, lists board.Lists, list todo.Snapshot, asJSON bool) error {
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
	edits, before := account.EditsOf(saw, list), todo.Snapshot{}
	for r, err := range lists.Revisions(ctx, list.List.ID, 0) {
		switch {
		case err != nil:
		case asJSON:
			err = app.PrintJSON(a.Stdout, render.Document(r), "")
		default:
			head, changes := render.Revision(before, r, edits, time.Local, replacement(ctx, lists, r))
			err = a.Say("%s\n\n", strings.Join(append([]string{head}, changes...), "\n  "))
		}
		if err != nil {
			return err
		}
		before = r
	}
	return nil
}

// statusLine prints one line for the list that [statusList] finds; nothing if it finds none or fails.
func statusLine(ctx context.Context, a *app.App, args []string, claudeCode bool, width int) error {
	var chat claudeStatus
	if claudeCode {
		err := json.NewDecoder(io.LimitReader(asutf8.Reader(a.TypedInput(ctx)), todo.MaxRequest)).Decode(&chat)
		if err != nil {
			return fmt.Errorf("--claude-code reads the JSON that Claude Code gives its status line: %w", err)
		}
	}
	return a.OnLists(func(lists board.Lists) error {
		list, err := statusList(ctx, a, lists, args, claudeCode, chat)
		if err != nil || len(list.Items) == 0 && !list.IsChat() {
			return nil //nolint:nilerr // see above
		}
		group, err := groupOf(ctx, lists, list)
		if err != nil {
			return err
		}
		_, asks, _ := group.Asks()
		line := render.StatusLine(list, asks)
		if group.State() == todo.LeftOpen && time.Since(group.Since()) > todo.IdleAfter {
			line = strings.Replace(line, " ", " left open: ", 1)
		}
		return a.Say("%s\n", render.Cut(line, width))
	})
}

// claudeStatus has the fields that we use of the JSON that Claude Code passes to its status line command.
type claudeStatus struct {
	Session   string `json:"session_id"`
	Folder    string `json:"cwd"`
	Workspace struct {
		Current string `json:"current_dir"`
		Project string `json:"project_dir"`
	} `json:"workspace"`
}

// statusList returns the named list, else the chat's, else the folder's open list, else a chat of the folder, else none.
// For Claude Code it leaves out other chats and their lists, but not the folder's lists without a chat, as over HTTP.
func statusList(ctx context.Context, a *app.App, lists board.Lists, args []string, claudeCode bool, chat claudeStatus) (todo.Snapshot, error) {
	if len(args) > 0 || a.List != "" {
		return a.FindList(ctx, lists, args, app.NamedOptions{})
	}
	if chat.Session != "" {
		if current, err := ofChat(ctx, lists, chat.Session); err != nil || current.Revision > 0 {
			return current, err
		}
	}
	folder := cmp.Or(a.Folder, chat.Workspace.Project, chat.Workspace.Current, chat.Folder)
	found, err := app.OfFolder(ctx, lists, app.Absolute(folder), func(l todo.Snapshot) bool {
		return claudeCode && l.List.Chat != ""
	})
	if err != nil || !found.Archived && !found.Settled() && found.Revision > 0 {
		return found, err
	}
	if claudeCode { // Claude Code shows the line in the chat, which needs none about itself
		return todo.Snapshot{}, nil
	}
	chats, _, err := lists.WithChats(ctx, nil)
	chats = slices.DeleteFunc(chats, func(c todo.Snapshot) bool { return c.List.Workspace != app.Absolute(folder) })
	if err != nil || len(chats) == 0 {
		return todo.Snapshot{}, err
	}
	return app.Foremost(ctx, lists, chats)
}

// ofChat returns the foremost of a chat's two current lists: that of our tools, and the mirror of the host's todo tool.
func ofChat(ctx context.Context, lists board.Lists, session string) (todo.Snapshot, error) {
	var both []todo.Snapshot
	for _, mirrors := range []bool{false, true} {
		chat := board.Conversation{Key: todo.ChatKey(session), Mirrors: mirrors}
		current, err := lists.Current(ctx, board.Target{Conversation: chat})
		if err == nil {
			both = append(both, current)
		} else if !errors.Is(err, board.ErrNotFound) {
			return current, err
		}
	}
	slices.SortStableFunc(both, func(a, b todo.Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
	return app.Foremost(ctx, lists, both)
}
