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

// prompt records that the agent works and what the prompt is about. It returns the news for the agent or, if Forgot was
// set, the chat's open list or else the previous chat's.
func (e Event) prompt(ctx context.Context, lists board.Lists) (string, error) {
	was, err := e.takeTopic(ctx, lists, func(c *todo.Chat, at time.Time) {
		c.Forgot = false
		c.Says(todo.Works, "", at)
	})
	if err = errors.Join(err, e.leads(ctx, lists)); err != nil {
		return "", err
	}
	if was.Forgot {
		text, err := e.show(ctx, lists)
		if err != nil || text != "" {
			return text, err
		}
		return e.earlier(ctx, lists)
	}
	return e.news(ctx, lists, !was.Doing.InTurn())
}

// begins records that a session starts and that its agent rests, except after a compaction, which may be in a turn.
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

// endOthers ends the other chats of the host's process if they rest, since Codex reports their ends only when it quits.
// It does nothing for hosts that run several chats in one process and report the end of each.
func (e Event) endOthers(ctx context.Context, lists board.Lists) error {
	reportsEach := e.isOfPlugin() || slices.Contains([]string{gemini, qwen, copilot}, e.Host)
	if e.Process == "" || reportsEach || e.Agent != "" {
		return nil
	}
	isOther := e.isOther(lists)
	return endAll(ctx, lists, func(c todo.Chat) bool { return isOther(c) && c.Doing == todo.Rests && c.Ended.IsZero() },
		func(c *todo.Chat, at time.Time) { c.End("", at) })
}

const otherAge = 7 * 24 * time.Hour // chats that were not used for longer are ignored

// endAll changes, with the callback end, each chat that was used in the last otherAge and satisfies isOne.
func endAll(ctx context.Context, lists board.Lists, isOne func(todo.Chat) bool, end func(*todo.Chat, time.Time)) error {
	all, err := lists.OwnChats(ctx, time.Now().Add(-otherAge))
	for _, c := range all {
		if err == nil && isOne(c) {
			_, err = lists.Hear(ctx, board.Conversation{Key: c.ID}, end)
		}
	}
	return err
}

// isOther returns a test for chats of other main agents in the host's process. The process must be known.
func (e Event) isOther(lists board.Lists) func(todo.Chat) bool {
	own := lists.Own(e.chat())
	return func(c todo.Chat) bool {
		isThere := slices.ContainsFunc(c.Here[:], func(h todo.Here) bool { return h.Process == own.Host })
		return isThere && c.ID != own.Key && c.Parent == ""
	}
}

// leads makes the id of the host's process a key of the chat, for hosts whose MCP calls do not identify the chat. If
// another chat of the process is in a turn, the key would be ambiguous, so it is removed.
func (e Event) leads(ctx context.Context, lists board.Lists) error {
	if e.Process == "" || e.Agent != "" || !clients.Find(e.Host).ByHost {
		return nil
	}
	known, err := lists.Keyed(ctx, board.HostKey, e.Process)
	if err != nil || known.ID == lists.Own(e.chat()).Key {
		return err
	}
	all, err := lists.OwnChats(ctx, time.Now().Add(-otherAge))
	lasts, isOther := board.KeyAge, e.isOther(lists)
	if slices.ContainsFunc(all, func(c todo.Chat) bool { return isOther(c) && c.Doing.InTurn() }) {
		lasts = 0
	}
	if err != nil || lasts == 0 && known.ID == "" {
		return err
	}
	return lists.HearKey(ctx, e.chat(), board.HostKey, e.Process, lasts)
}

// start records that a session was resumed, compacted, cleared or forked. It tells the agent of its open list; after a
// clear or a fork, of the previous chat's open list.
func (e Event) start(ctx context.Context, lists board.Lists) (string, error) {
	if err := e.begins(ctx, lists); err != nil {
		return "", err
	}
	switch {
	case e.Host == kimi || e.Host == gemini && e.Source == "clear": // the host drops the hook's answer to this event
		return "", e.forgets(ctx, lists)
	case e.Host == copilot:
		return "", nil
	case e.Source == "clear" || e.Source == "fork":
		return e.earlier(ctx, lists)
	}
	return e.show(ctx, lists)
}

// takeTopic records the event's title and prompt as topics of the chat, then calls heard. A prompt while a list is open
// gets the origin FromMeanwhile: it may be about that list or the next. If firstLine finds nothing and no list is open,
// the topic is the folder's name with its branch; none on a main branch, whose name says nothing about the task.
func (e Event) takeTopic(ctx context.Context, lists board.Lists, heard func(c *todo.Chat, at time.Time)) (was todo.Chat, err error) {
	var topics []todo.Topic
	if e.Agent == "" && e.Title != "" {
		topics = append(topics, todo.Topic{Text: e.Title, From: todo.FromHost})
	}
	if typed, isTyped := e.typed(); isTyped && e.Agent == "" {
		works, err := e.hasOpen(ctx, lists)
		if err != nil {
			return was, err
		}
		text, place := firstLine(typed), todo.List{Workspace: e.Folder, Branch: e.Branch}
		switch {
		case text != "" && works:
			topics = append(topics, todo.Topic{Text: text, From: todo.FromMeanwhile})
		case text != "":
			topics = append(topics, todo.Topic{Text: text, From: todo.FromPrompt})
		case !works && place.OffMain() != "":
			topics = append(topics, todo.Topic{Text: place.Place(), From: todo.FromFolder})
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

// typed returns the prompt; ok is false if the prompt is empty, or if the host or a hook made it.
func (e Event) typed() (prompt string, ok bool) {
	prompt = strings.TrimSpace(string(e.Prompt))
	if e.Host == qwen { // Qwen Code also makes prompts itself
		prompt = strings.TrimSpace(e.Submitted)
	}
	if before, after, ok := strings.Cut(prompt, "</hook_context>"); ok && strings.HasPrefix(before, "<hook_context>") {
		prompt = strings.TrimSpace(after) // removes the texts that Gemini CLI's SessionStart hooks gave
	}
	return prompt, prompt != "" && !strings.HasPrefix(prompt, "<") && slices.Contains([]string{"", "user", "sdk"}, e.Source)
}

// command matches a command of the host, such as /clear. It does not match a path such as /tmp/a.
var command = regexp.MustCompile(`^/[\w.:[:^ascii:]-]+(\s|$)`)

// firstLine returns the first line with a letter or digit, cleaned and cut; empty for a /command or a !shell command.
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
