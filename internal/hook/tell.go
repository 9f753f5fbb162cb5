package hook

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/tools"
)

// saying is a function that returns a text for the agent about the target's list; empty if there is nothing to say.
type saying func(*prompts.Words, board.Target) (string, error)

// tell calls say for each given conversation and returns the first text that is not empty. If none is given, it uses
// the agent's two conversations: the one for our tools, then the one for its host's own todo tool.
func (e Event) tell(say saying, of ...board.Conversation) (string, error) {
	if len(of) == 0 {
		of = []board.Conversation{e.chat(), e.mirrors()}
	}
	words := prompts.WordsIn(cmp.Or(e.Language, prompts.Languages()[0]))
	for _, c := range of {
		if text, err := say(words, board.Target{Conversation: c}); text != "" || board.PassOver(err) != nil {
			return text, err
		}
	}
	return "", nil
}

func (e Event) hasOpen(ctx context.Context, lists board.Lists) (has bool, err error) {
	_, err = e.tell(func(_ *prompts.Words, t board.Target) (string, error) {
		list, err := lists.Current(ctx, t)
		has = has || err == nil && list.Open()
		return "", err
	})
	return has, err
}

// usedTool records that the agent works, and tells the agent what others changed.
func (e Event) usedTool(ctx context.Context, lists board.Lists) (string, error) {
	if err := e.goesOn(ctx, lists); err != nil || e.Host == kimi {
		return "", err
	}
	return e.news(ctx, lists, false)
}

// news tells the agent what others changed since it last saw its list. The argument ended says that its turn had ended.
func (e Event) news(ctx context.Context, lists board.Lists, ended bool) (string, error) {
	if e.Host == copilot {
		return "", nil
	}
	return e.tell(func(w *prompts.Words, t board.Target) (string, error) {
		_, news, err := lists.News(ctx, t, ended)
		if err != nil || !news.OthersDid() {
			return "", err
		}
		return tools.News(w, news), nil
	})
}

// hear calls heard to change the agent's chat or, for a sub-agent without an open list, the main agent's (isMain true).
func (e Event) hear(ctx context.Context, lists board.Lists, heard func(c *todo.Chat, isMain bool, at time.Time)) error {
	isMain := false
	if e.Agent != "" {
		has, err := e.hasOpen(ctx, lists)
		if err != nil {
			return err
		}
		if isMain = !has; isMain {
			e.Agent = ""
		}
	}
	_, err := lists.Hear(ctx, e.chat(), func(c *todo.Chat, at time.Time) { heard(c, isMain, at) })
	return err
}

// goesOn records that the agent works. A sub-agent's event in the main agent's chat ends only the sub-agent's question.
func (e Event) goesOn(ctx context.Context, lists board.Lists) error {
	err := e.hear(ctx, lists, func(c *todo.Chat, isMain bool, at time.Time) {
		question := todo.OneLine(e.question(), todo.MaxTitle)
		if e.isLate(c, at) {
			return
		}
		if isAny := question == "" && strings.EqualFold(e.Name, "PermissionDenied"); !isMain || c.Asks != "" && (isAny || c.Asks == question) {
			c.Says(todo.Works, "", at)
		}
	})
	if errors.Is(err, board.ErrStoreFull) { // the agent can still be told the news
		return nil
	}
	return err
}

// askTools are tools whose call is the only event of a question: one of Claude Code and Kimi Code, one of Codex.
var askTools = []string{"AskUserQuestion", "request_user_input"}

// asks records that the agent waits for a person.
func (e Event) asks(ctx context.Context, lists board.Lists) error {
	question := todo.OneLine(e.question(), todo.MaxTitle)
	if question == "" {
		return nil
	}
	return e.hear(ctx, lists, func(c *todo.Chat, _ bool, at time.Time) {
		if !e.isOld(c, at) && (c.Asks == "" || e.Message == "" || len(e.Details) > 0) { // else c.Asks says more
			c.Says(todo.Asks, question, at)
		}
	})
}

const planQuestion = "Go on with this plan?" // asked by an agent that proposes a plan

// question returns what the agent asks; empty for nothing.
func (e Event) question() string {
	// Only these notifications ask a person. Others say, for example, that the agent's turn has ended.
	asking := []string{"permission_prompt", "worker_permission_prompt", "elicitation_dialog", "agent_needs_input", "ToolPermission"}
	isIdle := e.Notice == "" && strings.Contains(e.Message, "waiting for your input")
	if e.Message != "" && (isIdle || e.Notice != "" && !slices.Contains(asking, e.Notice)) {
		return ""
	}
	about := e.Input
	if len(e.Details) > 0 {
		about = e.Details
	}
	var input struct {
		Command            string
		FilePath           string `json:"file_path"`
		Path, URL          string
		Questions          []struct{ Question string }
		FileName, ToolName string   // of Gemini CLI
		Urls               []string // of Gemini CLI
	}
	// If the input cannot be parsed, the question is the tool's name or the message.
	_ = json.Unmarshal(about, &input, json.MatchCaseInsensitiveNames(true))
	tool := cmp.Or(e.Tool, input.ToolName)
	of := cmp.Or(append([]string{input.FilePath, input.Path, input.URL, input.FileName}, input.Urls...)...)
	switch {
	case len(input.Questions) > 0:
		return input.Questions[0].Question
	case input.Command != "":
		return "run `" + input.Command + "`?"
	case tool == "ExitPlanMode": // Claude Code asks whether to carry out a plan
		return planQuestion
	case tool == "" && of == "":
		return e.Message
	}
	return strings.TrimSpace(tool+" "+of) + "?"
}

func (e Event) show(ctx context.Context, lists board.Lists) (string, error) {
	return e.tell(func(w *prompts.Words, t board.Target) (string, error) {
		list, err := lists.Show(ctx, t)
		if err != nil || !list.Open() {
			return "", err
		}
		return tools.Reminder(w, list, w.Reminder, w.GoOn), nil
	})
}

// earlier tells the agent of a new chat about the open list that the previous chat left. The list becomes the agent's
// own only when the agent takes it up.
func (e Event) earlier(ctx context.Context, lists board.Lists) (string, error) {
	before, err := e.chatBefore(ctx, lists)
	if err != nil || before.ID == "" {
		return "", err
	}
	return e.tell(func(w *prompts.Words, t board.Target) (string, error) {
		list, err := lists.Current(ctx, t)
		if err != nil {
			return "", err
		}
		states, err := lists.States(ctx, list)
		if err != nil || states[list.List.ID].State != todo.LeftOpen {
			return "", err // another chat took the list up, or the list is not open
		}
		return tools.Reminder(w, list, w.Earlier, w.GoOnEarlier), nil
	}, board.Conversation{Key: before.ID}, board.Conversation{Key: before.ID, Mirrors: true})
}

// chatBefore returns, for a fork, the chat that Parent names; for another event, the last chat that was cleared in the
// host's process. It returns the zero Chat if there is none, or if Parent or the process is unknown.
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

// forgets sets the chat's Forgot: at the next prompt the agent is told of its open list, else of the previous chat's.
func (e Event) forgets(ctx context.Context, lists board.Lists) error {
	_, err := lists.Hear(ctx, e.chat(), func(c *todo.Chat, _ time.Time) { c.Forgot = true })
	return err
}
