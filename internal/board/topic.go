package board

import (
	"context"
	"strings"

	"todo-mcp/internal/todo"
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
	// fromSeveral is where chats of one client and folder that no id tells apart have said
	// theirs: a list begins without.
	fromSeveral TopicSource = "9"
)

// NoteTopic keeps the topic of a chat, by the host's id of it, for [HostCallAge] or until a
// list begins; one without a text is forgotten. Where the conversation has no Chat, it is kept
// for the next one of the same kind of client in its workspace.
func (l Lists) NoteTopic(ctx context.Context, c Conversation, chat string, t Topic) error {
	kind, id := c.topicID()
	old, err := l.HostCall(ctx, kind, id)
	note := HostCall{HostCallKey{Kind: kind, ID: id}, todo.OneLine(t.Text, todo.MaxTitle), chat, string(t.From)}
	isOthers := old.Session != "" && old.Agent != chat
	isBetter := old.Session == "" || old.Folder < note.Folder || t.From == FromHost && old.Session != note.Session
	switch {
	case err != nil, id == "", old.Folder == string(fromSeveral), note.Session == "" && (isOthers || old.Session == ""):
		return err
	case isOthers:
		note.Session, note.Agent, note.Folder = "", "", string(fromSeveral)
	case note.Session != "" && !isBetter:
		return nil
	}
	return l.NoteHostCall(ctx, note)
}

// topicID returns under what the topic is kept; empty for a conversation that has none.
func (c Conversation) topicID() (kind HostCallKind, id string) {
	if c.Chat != "" {
		return ChatTopicKind, c.Chat
	}
	client, _, _ := strings.Cut(strings.ToLower(c.Client), "-")
	if client == "" || c.Workspace == "" {
		return "", ""
	}
	return FolderTopicKind, client + ":" + c.Workspace
}

// takeTopic returns the topic of the list that begins, which no other list has then; empty
// for a sub-agent's, for a named one, and where no hook said one.
func (a *attempt) takeTopic(ctx context.Context) (string, error) {
	kind, id := a.Conversation.topicID()
	if id == "" || a.Agent != "" || a.Begin.ParentConversation != "" || a.Conversation.Name != "" {
		return "", nil
	}
	note, err := a.tx.HostCall(ctx, HostCallKey{a.principal, a.subject, kind, boundedKey(id)})
	if err != nil || note.Session == "" {
		return "", err
	}
	text := note.Session
	note.Session = ""
	return text, a.tx.NoteHostCall(ctx, note, a.at)
}
