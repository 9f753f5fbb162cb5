package todo

import (
	"context"
	"strings"
)

// Topic is what a chat is about, in one line, as a hook of its host said: the title of its
// next list, unless that is given one.
type Topic struct {
	Text string
	From TopicSource
}

// TopicSource is what a topic was taken from. One from a better source, which has a larger
// value, takes the place of another.
type TopicSource string

// The sources of a topic.
const (
	FromFolder TopicSource = "1" // the project and its branch
	FromPrompt TopicSource = "2" // the first prompt since the list before
	FromHost   TopicSource = "3" // the title of the chat
)

// several stands for the chat of a topic where chats of one client and folder that no id
// tells apart have said theirs: a list begins without.
const several = "-"

// NoteTopic keeps the topic of a chat, by the host's id of it, for [HostCallAge] or until a
// list begins; one without a text is forgotten. Where the conversation has no Chat, it is kept
// for the next one of the same kind of client in its workspace.
func (l Lists) NoteTopic(ctx context.Context, c Conversation, chat string, t Topic) error {
	note := HostCall{ID: c.topicID(), Session: OneLine(t.Text, MaxTitle), Agent: chat, Folder: string(t.From)}
	old, err := l.HostCall(ctx, note.ID)
	isOthers := old.Session != "" && old.Agent != chat
	isBetter := old.Session == "" || old.Folder < note.Folder || t.From == FromHost && old.Session != note.Session
	switch {
	case err != nil, note.ID == "", old.Agent == several, note.Session == "" && (isOthers || old.Session == ""):
		return err
	case isOthers:
		note = HostCall{ID: note.ID, Agent: several}
	case note.Session != "" && !isBetter:
		return nil
	}
	return l.NoteHostCall(ctx, note)
}

// topicID returns the id under which the topic is kept, as what a hook says of a call is;
// empty for a conversation that has none.
func (c Conversation) topicID() string {
	if c.Chat != "" {
		return "todo-mcp/topic/" + c.Chat
	}
	kind, _, _ := strings.Cut(strings.ToLower(c.Client), "-")
	if kind == "" || c.Workspace == "" {
		return ""
	}
	return "todo-mcp/topic/" + kind + ":" + c.Workspace
}

// takeTopic returns the topic of the list that begins, which no other list has then; empty
// for a sub-agent's, for a named one, and where no hook said one.
func (a *attempt) takeTopic(ctx context.Context) (string, error) {
	id := a.Conversation.topicID()
	if id == "" || a.Agent != "" || a.Begin.ParentConversation != "" || a.Conversation.Name != "" {
		return "", nil
	}
	note, err := a.tx.HostCall(ctx, a.principal, id)
	if err != nil || note.Session == "" {
		return "", err
	}
	return note.Session, a.tx.NoteHostCall(ctx, a.principal, HostCall{ID: id, Agent: note.Agent}, a.at)
}
