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

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// statusLine prints a list in one line for a status bar: the named list, the list of the chat, or the open list
// of the folder. It prints nothing if none is found: a status bar has no place for errors.
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

// claudeStatus is the part that is used of the JSON that Claude Code passes to its status line command.
type claudeStatus struct {
	Session   string `json:"session_id"`
	Folder    string `json:"cwd"`
	Workspace struct {
		Current string `json:"current_dir"`
		Project string `json:"project_dir"`
	} `json:"workspace"`
}

// statusList returns the list of a status line, or an empty one. For Claude Code it never returns the list of
// another chat. A list without a chat, as over HTTP, belongs to all chats of its folder.
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
	if claudeCode { // an idle chat needs no line: this one is shown in the chat itself
		return todo.Snapshot{}, nil
	}
	chats, err := lists.WithChats(ctx, nil)
	chats = slices.DeleteFunc(chats, func(c todo.Snapshot) bool { return c.List.Workspace != app.Absolute(folder) })
	if err != nil || len(chats) == 0 {
		return todo.Snapshot{}, err
	}
	return app.Foremost(ctx, lists, chats)
}

// ofChat returns the current list of a chat: one of our tools, or one that mirrors its host's todo tool.
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
	slices.SortFunc(both, func(a, b todo.Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
	return app.Foremost(ctx, lists, both)
}
