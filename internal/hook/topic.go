package hook

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// prompt takes in a prompt: it may say what the chat's next list is about, and its agent
// is told the news, or of its list if it has forgotten that.
func (e Event) prompt(ctx context.Context, lists board.Lists) (string, error) {
	was, err := e.takeTopic(ctx, lists, func(c *todo.Chat, at time.Time) {
		c.Forgot = false
		c.Says(todo.Works, "", at)
	})
	if err != nil {
		return "", err
	}
	if was.Forgot && e.isGemini() {
		return e.show(ctx, lists)
	}
	return e.news(ctx, lists)
}

// begins takes in that a session starts: its agent is given nothing yet. Where its context was
// compressed it may be in the midst of a turn.
func (e Event) begins(ctx context.Context, lists board.Lists) error {
	_, err := e.takeTopic(ctx, lists, func(c *todo.Chat, at time.Time) {
		if e.Source != "compact" {
			c.Says(todo.Rests, "", at)
		}
	})
	return err
}

// start takes in that a session starts. One that goes on is told of its list.
func (e Event) start(ctx context.Context, lists board.Lists) (string, error) {
	if err := e.begins(ctx, lists); err != nil {
		return "", err
	}
	return e.remind(ctx, lists)
}

// takeTopic notes what the event says of the topic of the chat, unless its agent is at work on a
// list, and what else it says.
func (e Event) takeTopic(ctx context.Context, lists board.Lists, heard func(c *todo.Chat, at time.Time)) (was todo.Chat, err error) {
	topic := e.topic()
	if topic.Text != "" {
		works, err := e.hasOpen(ctx, lists)
		if err != nil {
			return was, err
		}
		if works {
			topic = todo.Topic{}
		}
	}
	return lists.Hear(ctx, e.chat(), func(c *todo.Chat, at time.Time) {
		c.GoOn()
		c.Titled(topic, at)
		heard(c, at)
	})
}

// topic returns what the chat is about, as far as the event says it: by the chat's title, a
// person's prompt, or else the project.
func (e Event) topic() todo.Topic {
	typed, isTyped := e.typed()
	switch title := todo.OneLine(e.Title, todo.MaxTitle); {
	case e.Agent != "":
		return todo.Topic{}
	case title != "":
		return todo.Topic{Text: title, From: todo.FromHost}
	case !isTyped:
		return todo.Topic{}
	default:
		if line := firstLine(typed); line != "" {
			return todo.Topic{Text: line, From: todo.FromPrompt}
		}
		return todo.Topic{Text: e.project(), From: todo.FromFolder}
	}
}

// typed returns the event's prompt; ok is false for one that no person typed: it was made
// by the host, or because a hook kept the turn from ending.
func (e Event) typed() (prompt string, ok bool) {
	prompt = strings.TrimSpace(string(e.Prompt))
	if strings.EqualFold(e.Name, "userpromptsubmit") && len(e.Timestamp) > 0 {
		prompt = strings.TrimSpace(e.Submitted) // Qwen Code's, which has prompts of its own
	}
	if before, after, ok := strings.Cut(prompt, "</hook_context>"); ok && strings.HasPrefix(before, "<hook_context>") {
		prompt = strings.TrimSpace(after) // what a hook of Gemini CLI's start said
	}
	return prompt, prompt != "" && !strings.HasPrefix(prompt, "<") && slices.Contains([]string{"", "user", "sdk"}, e.Source)
}

// command matches a command of the host, as /clear: a path has another slash.
var command = regexp.MustCompile(`^/[\pL\pN_.:-]+(\s|$)`)

// firstLine returns the first line of a prompt with a letter or digit, clean and at most
// [todo.MaxTitle] long; empty for a command of the host or of the shell.
func firstLine(prompt string) string {
	if command.MatchString(prompt) || strings.HasPrefix(prompt, "!") {
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
