package read

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// statusLineOptions are the flags of `show` that concern a status line.
type statusLineOptions struct {
	folder     string
	claudeCode bool
	width      int
}

// statusLine prints a list in one line for a status bar: the one that is named,
// or the list of the chat, or the open list of the folder. It prints nothing when there
// is none, and neither when it is not found: a status bar has no place for errors.
func statusLine(ctx context.Context, a *app.App, args []string, o statusLineOptions) error {
	lists, done, err := a.OpenLists()
	if err != nil {
		return err
	}
	defer done()
	var chat claudeStatus
	if o.claudeCode {
		if chat, err = readClaudeStatus(a.TypedInput(ctx)); err != nil {
			return err
		}
	}
	list, err := statusList(ctx, a, lists, args, chat, o)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	family, err := familyOf(ctx, lists, list)
	if err != nil {
		return err
	}
	line := render.StatusLine(list)
	if family.State() == todo.LeftOpen && line != "" && time.Since(family.Since()) > todo.IdleAfter {
		counts, text, _ := strings.Cut(line, " ")
		line = counts + " left open: " + text
	}
	if line == "" {
		return nil
	}
	_, err = fmt.Fprintln(a.Stdout, render.Cut(line, o.width))
	return err
}

// claudeStatus is what Claude Code writes to its status line command, as far as
// it is used.
type claudeStatus struct {
	Session   string `json:"session_id"`
	Folder    string `json:"cwd"`
	Workspace struct {
		Current string `json:"current_dir"`
		Project string `json:"project_dir"`
	} `json:"workspace"`
}

func readClaudeStatus(in io.Reader) (s claudeStatus, err error) {
	data, err := io.ReadAll(io.LimitReader(in, todo.MaxRequest))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("--claude-code reads the JSON that Claude Code gives its status line: %w", err)
	}
	return s, nil
}

// statusList returns the list of a status line.
func statusList(ctx context.Context, a *app.App, lists todo.Lists, args []string, chat claudeStatus, o statusLineOptions) (todo.Snapshot, error) {
	if len(args) > 0 || a.List != "" {
		return a.FindList(ctx, lists, args)
	}
	if !o.claudeCode {
		return openIn(ctx, lists, app.Absolute(o.folder), nil)
	}
	if chat.Session != "" {
		held, err := ofChat(ctx, lists, chat.Session)
		if err == nil || !errors.Is(err, todo.ErrNotFound) {
			return held, err
		}
	}
	// Another chat's list is not shown as this one's. Where chats cannot be told
	// apart, as over HTTP, the folder's list belongs to all its chats.
	folder := cmp.Or(o.folder, chat.Workspace.Project, chat.Workspace.Current, chat.Folder)
	return openIn(ctx, lists, app.Absolute(folder), func(l todo.Snapshot) bool {
		return !server.IsChatKey(l.List.Conversation) && !l.List.Mirrored
	})
}

// ofChat returns the list that a chat holds: by our tools, or in a todo tool of its
// host's own; of both the open one, or the one that changed last. It returns
// [todo.ErrNotFound] when there is neither.
func ofChat(ctx context.Context, lists todo.Lists, session string) (chosen todo.Snapshot, err error) {
	for _, key := range []string{server.ChatKey(session), server.MirrorKey(session)} {
		held, err := lists.Held(ctx, todo.Target{Conversation: todo.Conversation{Key: key}})
		switch {
		case errors.Is(err, todo.ErrNotFound):
		case err != nil:
			return todo.Snapshot{}, err
		case chosen.Revision == 0, held.Open() && !chosen.Open(), held.Open() == chosen.Open() && held.Updated.After(chosen.Updated):
			chosen = held
		}
	}
	if chosen.Revision == 0 {
		return chosen, todo.ErrNotFound
	}
	return chosen, nil
}

// openIn returns the open list of a folder, or of the nearest folder above it that
// has one: of several one whose agent is there, the last changed. An agent that is
// there and cleared its list has left no other open: then it is the empty one. openIn
// returns [todo.ErrNotFound] when there is none.
func openIn(ctx context.Context, lists todo.Lists, folder string, want func(todo.Snapshot) bool) (todo.Snapshot, error) {
	for {
		found, err := lists.Find(ctx, todo.Query{Workspace: &folder, Limit: app.MaxRecentLists})
		if err != nil {
			return todo.Snapshot{}, err
		}
		states, err := lists.States(ctx, found...)
		if err != nil {
			return todo.Snapshot{}, err
		}
		var cleared, open []todo.Snapshot
		for _, f := range account.Families(found, states) {
			l, rests := f.Main, f.State().Rests()
			switch {
			case l.Archived || l.List.Agent != "" || want != nil && !want(l):
			case l.Open() && !rests:
				return l, nil
			case l.Open():
				open = append(open, l)
			case len(l.Items) == 0 && !rests:
				cleared = append(cleared, l)
			}
		}
		if first := append(cleared, open...); len(first) > 0 {
			return first[0], nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return todo.Snapshot{}, todo.ErrNotFound
		}
		folder = above
	}
}
