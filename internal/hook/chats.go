package hook

import (
	"context"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/tools"
)

// earlier reminds the agent of a new chat that the chat before left an open list. The list becomes the
// agent's own only when the agent takes it up.
func (e Event) earlier(ctx context.Context, lists board.Lists) (string, error) {
	before, err := e.chatBefore(ctx, lists)
	if err != nil || before.ID == "" {
		return "", err
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

// chatBefore returns the chat from which the event's chat was forked, or else the chat of the host's process that was
// cleared last. It returns the zero Chat if there is none, or if the process is unknown.
func (e Event) chatBefore(ctx context.Context, lists board.Lists) (before todo.Chat, err error) {
	switch {
	case e.Source == "fork" && e.Parent != "":
		return lists.Chat(ctx, Event{Session: e.Parent}.chat())
	case e.Source == "fork" || e.Process == "":
		return before, nil
	}
	all, err := lists.OwnChats(ctx, time.Now().Add(-otherAge))
	isOther := e.isOther(lists)
	for _, c := range all {
		if isOther(c) && c.Why == "clear" && c.Ended.After(before.Ended) {
			before = c
		}
	}
	return before, err
}

// forgets notes that the agent of the chat is to be told of its list, or of the one before, at the next prompt.
func (e Event) forgets(ctx context.Context, lists board.Lists) error {
	_, err := lists.Hear(ctx, e.chat(), func(c *todo.Chat, _ time.Time) { c.Forgot = true })
	return err
}
