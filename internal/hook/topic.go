package hook

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// prompt takes in a prompt: it may say what the chat's next list is about, and its agent
// is told the news.
func (e Event) prompt(ctx context.Context, lists board.Lists) (string, error) {
	forgot, err := e.hasForgotten(ctx, lists)
	if err != nil {
		return "", err
	}
	if forgot {
		return e.withTopic(ctx, lists, e.show)
	}
	return e.withTopic(ctx, lists, e.news)
}

// start takes in how a session starts. One that goes on is told of its list.
func (e Event) start(ctx context.Context, lists board.Lists) (string, error) {
	return e.withTopic(ctx, lists, e.remind)
}

// withTopic notes what the event says of the topic of the chat, unless it is at work on a
// list, and then does something.
func (e Event) withTopic(ctx context.Context, lists board.Lists, do doing) (string, error) {
	works := false
	err := e.each(ctx, lists, func(todo.Snapshot, board.Target) error { works = true; return nil })
	topic := e.topic()
	if err == nil && !works && topic.Text != "" {
		err = e.noteTopic(ctx, lists, topic)
	}
	if err != nil {
		return "", err
	}
	return do(ctx, lists)
}

// noteTopic notes the topic for the list that begins next by a tool of the chat's host, or
// by one of ours. Gemini CLI does not say to a server which chat calls it.
func (e Event) noteTopic(ctx context.Context, lists board.Lists, t board.Topic) error {
	chat := todo.ChatID(e.Session)
	err := lists.NoteTopic(ctx, board.Conversation{Chat: chat}, chat, t)
	if e.isGemini() {
		folder := board.Conversation{Client: gemini, Workspace: e.Folder}
		err = errors.Join(err, lists.NoteTopic(ctx, folder, chat, t))
	}
	return err
}

// topic returns what the chat is about, as far as the event says it: by the chat's title, a
// person's prompt, or else the project.
func (e Event) topic() board.Topic {
	typed, isTyped := e.typed()
	switch title := todo.OneLine(e.Title, todo.MaxTitle); {
	case e.Agent != "":
		return board.Topic{}
	case title != "":
		return board.Topic{Text: title, From: board.FromHost}
	case !isTyped:
		return board.Topic{}
	default:
		if line := firstLine(typed); line != "" {
			return board.Topic{Text: line, From: board.FromPrompt}
		}
		return board.Topic{Text: e.project(), From: board.FromFolder}
	}
}

// typed returns the event's prompt; ok is false for one that no person typed: it was made
// by the host, or because a hook kept the turn from ending.
func (e Event) typed() (prompt string, ok bool) {
	prompt = strings.TrimSpace(e.Prompt)
	if strings.EqualFold(e.Name, "userpromptsubmit") && len(e.Timestamp) > 0 {
		prompt = strings.TrimSpace(e.Submitted) // Qwen Code's, which has prompts of its own
	}
	if before, after, ok := strings.Cut(prompt, "</hook_context>"); ok && strings.HasPrefix(before, "<hook_context>") {
		prompt = strings.TrimSpace(after) // what a hook of Gemini CLI's start said
	}
	return prompt, prompt != "" && !strings.HasPrefix(prompt, "<") && slices.Contains([]string{"", "user", "sdk"}, e.Source)
}

// isCommand reports whether a prompt is a command of the host, as /clear: a path has another
// slash.
func isCommand(prompt string) bool {
	name, ok := strings.CutPrefix(prompt, "/")
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name = name[:i]
	}
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.:-", r)
	})
}

// firstLine returns the first line of a prompt with a letter or digit, clean and at most
// [todo.MaxTitle] long; empty for a command of the host or of the shell.
func firstLine(prompt string) string {
	if isCommand(prompt) || strings.HasPrefix(prompt, "!") {
		return ""
	}
	for line := range strings.Lines(prompt) {
		line = todo.OneLine(line, todo.MaxTitle)
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return line
		}
	}
	return ""
}

// project returns the name of the event's folder with its branch; empty where that is none for
// a task: then it says no more than every list of the folder does.
func (e Event) project() string {
	if e.Branch == "" || e.Branch == "main" || e.Branch == "master" {
		return ""
	}
	return (todo.List{Workspace: e.Folder}).Project() + " (" + e.Branch + ")"
}
