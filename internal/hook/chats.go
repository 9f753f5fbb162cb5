package hook

import (
	"context"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/tools"
)

// earlier tells the agent of a new chat of the open list that the chat before it left. Its
// own is that only when the agent takes it up.
func (e Event) earlier(ctx context.Context, lists board.Lists) (string, error) {
	before, err := e.chatBefore(ctx, lists)
	if err != nil || before.ID == "" {
		return "", err
	}
	if e.isGemini() {
		return "", e.takeOver(ctx, lists, before)
	}
	return e.tell(ctx, lists, func(t board.Target) (saying, error) {
		list, err := lists.Current(ctx, t)
		if err != nil {
			return nil, err
		}
		states, err := lists.States(ctx, list)
		if err != nil || states[list.List.ID].State != todo.LeftOpen {
			return nil, err // another chat has it, or it was put away
		}
		return func(w prompts.Words) string { return tools.Earlier(w, list) }, nil
	}, board.Conversation{Key: before.ID}, board.Conversation{Key: before.ID, Mirrors: true})
}

// chatBefore returns the chat that a new one comes from; the zero Chat where it is not certain:
// the only one of its folder that was cleared a moment ago, which no other one comes from.
func (e Event) chatBefore(ctx context.Context, lists board.Lists) (before todo.Chat, err error) {
	if e.Source == "fork" {
		if e.Parent == "" {
			return before, nil
		}
		return lists.Chat(ctx, Event{Session: e.Parent}.chat())
	}
	now := time.Now()
	all, err := lists.OwnChats(ctx, now.Add(-time.Hour))
	for _, c := range all {
		if c.Why != cleared || c.Folder != e.Folder || now.Sub(c.Ended) > clearLasts || c.Parent != "" {
			continue
		}
		if before.ID != "" {
			return todo.Chat{}, err
		}
		before = c
	}
	if err != nil || before.ID == "" {
		return before, err
	}
	_, err = lists.Hear(ctx, board.Conversation{Key: before.ID}, func(c *todo.Chat, at time.Time) { c.End(goneOn, before.Ended) })
	return before, err
}

// Why a chat ended: its user cleared it, and then another one came from it.
const cleared, goneOn = "clear", "clear, gone on"

// clearLasts is how long after a chat was cleared the next one begins at most.
const clearLasts = time.Minute

// gemini is what Gemini CLI is called, as hooks and lists say.
const gemini = "gemini"

// isGemini reports whether the event is Gemini CLI's, in whose MCP messages nothing tells the
// chat.
func (e Event) isGemini() bool { return e.client() == gemini }

// isKimi reports whether the event is Kimi Code's, which waits for few hooks, and gives its model
// what one says at a prompt and at the end of a turn alone.
func (e Event) isKimi() bool { return e.ClientType != "" }

// transcripts are the folders in which hosts keep chats, with the names of these hosts.
var transcripts = [][2]string{{"/.claude/", "claude-code"}, {"/.codex/", "codex"}, {"/.qwen/", "qwen-code"}, {"/.gemini/", gemini}}

// client returns the name of the host, as far as the event says it.
func (e Event) client() string {
	switch strings.ToLower(e.Name) {
	case "beforeagent", "afteragent", "beforetool", "aftertool", "precompress":
		return gemini
	}
	if e.Host != "" {
		return e.Host
	}
	path := strings.ReplaceAll(e.Transcript, `\`, "/")
	for _, t := range transcripts {
		if strings.Contains(path, t[0]) {
			return t[1]
		}
	}
	switch {
	case e.isKimi():
		return "kimi-code"
	case e.Cursor != "":
		return "cursor"
	}
	return ""
}

// takeOver has the chat go on with the open list of the one before it, and its agent told of that
// with the next prompt: Gemini CLI gives the model nothing that a hook says when a chat was cleared.
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

// forgets notes that the chat's context is shortened: at its next prompt the agent is told of
// its list.
func (e Event) forgets(ctx context.Context, lists board.Lists) error {
	_, err := lists.Hear(ctx, e.chat(), func(c *todo.Chat, at time.Time) { c.Forgot = true })
	return err
}
