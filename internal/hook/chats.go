package hook

import (
	"context"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/tools"
)

// earlier reminds the agent of a new chat that the chat before left an open list. The list becomes the
// agent's own only when the agent takes it up; with Gemini CLI, at once.
func (e Event) earlier(ctx context.Context, lists board.Lists) (string, error) {
	before, err := e.chatBefore(ctx, lists)
	if err != nil || before.ID == "" {
		return "", err
	}
	if e.Host == gemini {
		return "", e.takeOver(ctx, lists, before)
	}
	return e.tell(ctx, lists, func(w *prompts.Words, t board.Target) (string, error) {
		list, err := lists.Current(ctx, t)
		if err != nil {
			return "", err
		}
		states, err := lists.States(ctx, list)
		if err != nil || states[list.List.ID].State != todo.LeftOpen {
			return "", err // another chat has it, or it was put away
		}
		return tools.Reminder(w, list, w.Earlier, w.GoOnEarlier), nil
	}, board.Conversation{Key: before.ID}, board.Conversation{Key: before.ID, Mirrors: true})
}

const (
	cleared, goneOn = "clear", "clear, gone on" // why a cleared chat ended: before and after a next chat followed it
	clearLasts      = time.Minute               // how long after that the next chat begins at most
)

// chatBefore returns the chat from which the event's chat was forked, or else the one chat in the folder that was just
// cleared and has no successor. It returns the zero Chat if there is none, or if there are several.
func (e Event) chatBefore(ctx context.Context, lists board.Lists) (before todo.Chat, err error) {
	if e.Source == "fork" {
		if e.Parent == "" {
			return before, nil
		}
		return lists.Chat(ctx, Event{Session: e.Parent}.chat())
	}
	now := time.Now()
	all, err := lists.OwnChats(ctx, now.Add(-time.Hour))
	all = slices.DeleteFunc(all, func(c todo.Chat) bool {
		return c.Why != cleared || c.Folder != e.Folder || now.Sub(c.Ended) > clearLasts || c.Parent != ""
	})
	if err != nil || len(all) != 1 {
		return before, err
	}
	_, err = lists.Hear(ctx, board.Conversation{Key: all[0].ID}, func(c *todo.Chat, _ time.Time) { c.End(goneOn, all[0].Ended) })
	return all[0], err
}

// takeOver makes the open list of an earlier chat current in the event's chat. The agent is told with the
// next prompt, since Gemini CLI does not pass on what a hook answers to /clear.
func (e Event) takeOver(ctx context.Context, lists board.Lists, before todo.Chat) error {
	list, err := lists.Current(ctx, board.Target{Conversation: board.Conversation{Key: before.ID}})
	if err != nil || !list.Open() {
		return board.PassOver(err)
	}
	if err := lists.Bind(ctx, e.chat(), list.List.ID); err != nil {
		return err
	}
	return e.forgets(ctx, lists)
}

// forgets notes that the chat was shortened: its agent is told of its list at the next prompt.
func (e Event) forgets(ctx context.Context, lists board.Lists) error {
	_, err := lists.Hear(ctx, e.chat(), func(c *todo.Chat, _ time.Time) { c.Forgot = true })
	return err
}
