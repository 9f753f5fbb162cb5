package hook

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// prompt takes in a prompt: it may say what the chat's next list is about, and its agent
// is told the news, or of its list if it has forgotten that.
func (e Event) prompt(ctx context.Context, lists board.Lists) (string, error) {
	was, err := e.takeTopic(ctx, lists, func(c *todo.Chat, at time.Time) {
		c.Forgot = false
		c.Says(todo.Works, "", at)
	})
	if err = errors.Join(err, e.leads(ctx, lists)); err != nil {
		return "", err
	}
	if was.Forgot {
		return e.show(ctx, lists)
	}
	return e.news(ctx, lists, !was.Doing.InTurn())
}

// begins takes in that a session starts: its agent is given nothing yet. Where its context was
// compressed it may be in the midst of a turn.
func (e Event) begins(ctx context.Context, lists board.Lists) error {
	_, err := e.takeTopic(ctx, lists, func(c *todo.Chat, at time.Time) {
		if e.Source != "compact" && !e.isLate(c, at) {
			c.Says(todo.Rests, "", at)
		}
	})
	if err != nil {
		return err
	}
	return e.endOthers(ctx, lists)
}

// endOthers says of the chat that was in the host's process before, and has ended its turn, that it
// ended: Codex says so as it quits, however many chats it began. A host that has several at a time
// in a process is known by a plugin of ours, or by the times in its events; it says of each that it
// ends.
func (e Event) endOthers(ctx context.Context, lists board.Lists) error {
	if e.Process == "" || e.Host != "" || len(e.Timestamp) > 0 || e.Agent != "" {
		return nil
	}
	all, err := e.others(ctx, lists)
	for _, c := range all {
		if c.Doing == todo.Rests && err == nil {
			_, err = lists.Hear(ctx, board.Conversation{Key: c.ID}, func(c *todo.Chat, at time.Time) { c.End("", at) })
		}
	}
	return err
}

// others returns the other chats of main agents that were in the host's process, which is known.
func (e Event) others(ctx context.Context, lists board.Lists) ([]todo.Chat, error) {
	own := lists.Own(e.chat())
	all, err := lists.OwnChats(ctx, time.Now().Add(-otherAge))
	return slices.DeleteFunc(all, func(c todo.Chat) bool {
		isThere := slices.ContainsFunc(c.Here[:], func(h todo.Here) bool { return h.Process == own.Host })
		return !isThere || c.ID == own.Key || c.Parent != ""
	}), err
}

// leads has the host's process lead its server to the chat, where nothing else says which one calls,
// unless another chat of it is in a turn, too.
func (e Event) leads(ctx context.Context, lists board.Lists) error {
	if e.Process == "" || e.Agent != "" || !clients.Find(e.client()).ByHost {
		return nil
	}
	known, err := lists.Keyed(ctx, board.HostKey, e.Process)
	if err != nil || known.ID == lists.Own(e.chat()).Key {
		return err
	}
	others, err := e.others(ctx, lists)
	lasts := board.KeyAge
	if slices.ContainsFunc(others, func(c todo.Chat) bool { return c.Doing.InTurn() }) {
		lasts = 0
	}
	if err != nil || lasts == 0 && known.ID == "" {
		return err
	}
	return lists.HearKey(ctx, e.chat(), board.HostKey, e.Process, lasts)
}

// otherAge is how long ago such a chat was used at most.
const otherAge = 7 * 24 * time.Hour

// start takes in that a session starts. One that goes on is told of its list.
func (e Event) start(ctx context.Context, lists board.Lists) (string, error) {
	if err := e.begins(ctx, lists); err != nil {
		return "", err
	}
	if e.isKimi() {
		return "", e.forgets(ctx, lists)
	}
	return e.remind(ctx, lists)
}

// takeTopic notes what the event says of the topic of the chat, and what else it says. A prompt
// that comes while its agent is at work on a list may be about that, or have the next one begin.
func (e Event) takeTopic(ctx context.Context, lists board.Lists, heard func(c *todo.Chat, at time.Time)) (was todo.Chat, err error) {
	topics := e.topics()
	if len(topics) > 0 {
		works, err := e.hasOpen(ctx, lists)
		if err != nil {
			return was, err
		}
		for i := range topics {
			switch {
			case works && topics[i].From == todo.FromPrompt:
				topics[i].From = todo.FromMeanwhile
			case works && topics[i].From == todo.FromFolder:
				topics[i].Text = ""
			}
		}
	}
	return lists.Hear(ctx, e.chat(), func(c *todo.Chat, at time.Time) {
		c.GoOn()
		c.Branch = cmp.Or(todo.OneLine(e.Branch, todo.MaxTitle), c.Branch)
		for _, t := range topics {
			c.Titled(t, at)
		}
		heard(c, at)
	})
}

// topics returns what the chat is about, as far as the event says it: the chat's title, and a
// person's prompt, or else the project.
func (e Event) topics() (topics []todo.Topic) {
	if e.Agent != "" {
		return nil
	}
	if e.Title != "" {
		topics = append(topics, todo.Topic{Text: e.Title, From: todo.FromHost})
	}
	if typed, isTyped := e.typed(); isTyped {
		topic := todo.Topic{Text: firstLine(typed), From: todo.FromPrompt}
		if topic.Text == "" {
			topic = todo.Topic{Text: e.project(), From: todo.FromFolder}
		}
		topics = append(topics, topic)
	}
	return topics
}

// typed returns the event's prompt; ok is false for one that no person typed: it was made
// by the host, or because a hook kept the turn from ending.
func (e Event) typed() (prompt string, ok bool) {
	prompt = strings.TrimSpace(string(e.Prompt))
	if strings.EqualFold(e.Name, "userpromptsubmit") && len(e.Timestamp) > 0 && !e.isCopilot() {
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
	l := todo.List{Workspace: e.Folder, Branch: e.Branch}
	if l.OffMain() == "" {
		return ""
	}
	return l.Place()
}
