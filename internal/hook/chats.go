package hook

import (
	"context"
	"strings"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/tools"
)

// earlier tells the agent of a new chat of the open list that the chat before it left. Its
// own is that only when the agent takes it up.
func (e Event) earlier(ctx context.Context, lists board.Lists) (string, error) {
	before, err := e.chatBefore(ctx, lists)
	if err != nil || before == "" {
		return "", err
	}
	if e.isGemini() { // its server goes on with the list
		return "", e.takeOver(ctx, lists, before)
	}
	return Event{Session: before}.tell(ctx, lists, func(t board.Target) (saying, error) {
		list, err := lists.Current(ctx, t)
		if err != nil {
			return nil, err
		}
		states, err := lists.States(ctx, list)
		if err != nil || states[list.List.ID] != todo.LeftOpen {
			return nil, err // another chat has it, or it was put away
		}
		return func(w prompts.Words) string { return tools.Earlier(w, list) }, nil
	})
}

// chatBefore returns the host's id of the chat that a new one comes from; empty where it
// is not certain.
func (e Event) chatBefore(ctx context.Context, lists board.Lists) (string, error) {
	if e.Source == "fork" {
		return e.Parent, nil
	}
	note, err := lists.HostCall(ctx, board.ClearedKind, e.Folder)
	if err != nil || note.Session == "" || !isLately(note) {
		return "", err
	}
	before := note.Session
	if note.Folder == several {
		before = ""
	}
	note.Session = ""
	return before, lists.NoteHostCall(ctx, note)
}

// clearLasts is how long after a chat was cleared the next one begins at most.
const clearLasts = time.Minute

// isLately reports whether the chat of a note was cleared a moment ago.
func isLately(note board.HostCall) bool {
	at, err := time.Parse(time.RFC3339, note.Agent)
	return err == nil && time.Since(at) <= clearLasts
}

// several stands in the place of a note's folder where several chats of it were cleared.
const several = "several"

// noteCleared notes that the chat was cleared: the next one in its folder comes from it,
// unless another one is cleared before that begins.
func (e Event) noteCleared(ctx context.Context, lists board.Lists) error {
	note, err := lists.HostCall(ctx, board.ClearedKind, e.Folder)
	if err != nil {
		return err
	}
	folder, chat := "", todo.ChatID(e.Session)
	if note.Session != "" && isLately(note) && (note.Session != chat || note.Folder == several) {
		folder = several
	}
	key := board.HostCallKey{Kind: board.ClearedKind, ID: e.Folder}
	return lists.NoteHostCall(ctx, board.HostCall{HostCallKey: key, Session: chat, Agent: time.Now().UTC().Format(time.RFC3339), Folder: folder})
}

// gemini is what Gemini CLI is called, as hooks and lists say.
const gemini = "gemini"

// opencode is what opencode is called, as its plugin says. Its messages to a server on MCP say
// nothing of the chat either, but its plugin knows which list a call wrote.
const opencode = "opencode"

// isGemini reports whether the event is Gemini CLI's, in whose MCP messages nothing tells the
// chat.
func (e Event) isGemini() bool {
	switch strings.ToLower(e.Name) {
	case "beforeagent", "afteragent", "beforetool", "aftertool", "precompress":
		return true
	}
	return strings.Contains(strings.ReplaceAll(e.Transcript, `\`, "/"), "/."+gemini+"/")
}

// boundKind begins the key of a conversation that is bound to the list of a chat.
const boundKind = "bound:"

func bound(session string) board.Conversation {
	return board.Conversation{Key: boundKind + todo.ChatID(session)}
}

// bind binds the chat, which has just written its list by one of our tools, to that list: the
// only one of its host in the folder that a chat holds and no other chat is bound to.
func (e Event) bind(ctx context.Context, lists board.Lists) error {
	isBound := func(key string) bool { return strings.HasPrefix(key, boundKind) }
	list, err := lists.FindUnbound(ctx, bound(e.Session), isBound, func(l todo.List) bool {
		return l.Workspace == e.Folder && l.Agent == "" && !l.Mirrored && strings.HasPrefix(l.Client, gemini)
	})
	if err != nil || list == "" {
		return err
	}
	return lists.Bind(ctx, bound(e.Session), list)
}

// takeOver binds the chat to the list of the one before it, which its process goes on with,
// and has its agent told of it: Gemini CLI gives the model nothing that a hook says when
// a chat was cleared.
func (e Event) takeOver(ctx context.Context, lists board.Lists, before string) error {
	list, err := lists.Current(ctx, board.Target{Conversation: bound(before)})
	if err != nil || !list.Open() {
		return board.PassOver(err)
	}
	if err := lists.Bind(ctx, bound(e.Session), list.List.ID); err != nil {
		return err
	}
	return e.noteForgotten(ctx, lists)
}

// noteForgotten notes that the chat's context is shortened: at its next prompt the agent
// is told of its list.
func (e Event) noteForgotten(ctx context.Context, lists board.Lists) error {
	return e.note(ctx, lists, board.ForgottenKind, todo.ChatID(e.Session), "")
}

// hasForgotten reports whether the agent has to be told of its list, once.
func (e Event) hasForgotten(ctx context.Context, lists board.Lists) (bool, error) {
	if !e.isGemini() {
		return false, nil
	}
	note, err := lists.HostCall(ctx, board.ForgottenKind, todo.ChatID(e.Session))
	if err != nil || note.Session == "" {
		return false, err
	}
	note.Session = ""
	return true, lists.NoteHostCall(ctx, note)
}
