// Package hook handles the events that a host, such as Claude Code, sends to a hook. It mirrors calls of the host's own
// todo tool in a list, notes which chat calls one of our tools, and records a chat's state until the chat ends.
//
// An event that cannot be read changes nothing. A list that this package wrote is durable.
package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/tools"
)

// MaxEvent is the maximum size of an event, in bytes. Some events contain the whole result of a tool.
const MaxEvent = 8 << 20

// Event is the JSON object that hosts send to hooks, nearly the same in all hosts. Fields that a host omits are empty.
type Event struct {
	Name string `json:"hook_event_name"`
	// Session is the host's id of the chat. [Read] sets it from Conversation for Cursor and from
	// SessionID for notices of Copilot CLI.
	Session      string `json:"session_id"`
	Conversation string `json:"conversation_id"`
	SessionID    string `json:"sessionId"`
	// Folder is the path of the chat's folder. [Read] sets it from the first of Roots for Cursor.
	Folder    string   `json:"cwd"`
	Roots     []string `json:"workspace_roots"`
	Source    string   `json:"source"`     // how a session started, or who wrote a prompt
	Reason    string   `json:"reason"`     // why a session ended
	Agent     string   `json:"agent_id"`   // the sub-agent's id; empty for the main agent
	AgentType string   `json:"agent_type"` // the kind of the sub-agent

	Tool     string         `json:"tool_name"`
	Call     string         `json:"tool_use_id"` // the host's id of the call
	Input    jsontext.Value `json:"tool_input,omitzero"`
	Response jsontext.Value `json:"tool_response,omitzero"`

	Message string         `json:"message"`           // a notification's text
	Notice  string         `json:"notification_type"` // the notification's kind
	Details jsontext.Value `json:"details,omitzero"`  // the tool call in a notification of Gemini CLI

	// Last is the agent's last text of the turn that ended. [Read] sets it from PromptAnswer for Gemini CLI.
	Last         string `json:"last_assistant_message"`
	PromptAnswer string `json:"prompt_response"`
	// Failure is why a turn failed. Copilot CLI sends Error instead, with a message. If both are empty, Last says why.
	Failure string         `json:"error_message"`
	Error   jsontext.Value `json:"error,omitzero"`
	Blocked bool           `json:"stop_hook_active"`          // a hook already kept this turn from ending
	Tasks   jsontext.Value `json:"background_tasks,omitzero"` // the tasks that run in the background

	// Host is the host's name, as in [tools.BuiltIn]; empty if it is unknown. Our plugins send it, the flag --host
	// gives it for other hosts, and [Read] sets it for Cursor, which may also run the hooks of Claude Code.
	Host   string `json:"host"`
	Cursor string `json:"cursor_version"`
	List   string `json:"list"` // the id of the list that a call of our tools wrote; our plugins send it

	Title      string     `json:"session_title"`
	Prompt     promptText `json:"prompt"`
	Submitted  string     `json:"submitted_prompt"` // what a person typed, in Qwen Code
	Transcript string     `json:"transcript_path"`  // the host's file of the chat
	Trigger    string     `json:"trigger"`          // why the chat was compressed, such as manual

	// [Event.WithFiles] sets these fields, hosts do not:
	Parent   string `json:"forked_from"` // the id of the chat that this one was forked from
	Branch   string `json:"git_branch"`  // the Git branch of the folder
	TaskList string `json:"task_list"`   // the id of a task list that several chats of Claude Code share

	Process string `json:"host_process"` // the id of the host's process, see [Event.WithHost]

	Finish   bool   `json:"-"` // keep a turn from ending with open items: a setting of the hook
	Language string `json:"-"` // the language of texts for the agent, one of [prompts.Languages]; empty means the first

	id string // the operation id of the event's write; empty unless the event was in the spool
}

// The hosts with behaviour of their own.
const (
	claudeCode = "claude-code"
	codex      = "codex"
	gemini     = "gemini-cli" // its MCP messages do not identify the chat
	qwen       = "qwen"
	copilot    = "copilot"   // its agent gets texts only at a turn's end: answers to other events need another form
	kimi       = "kimi-code" // its model sees only a hook's answer to a prompt or to a turn's end
)

// isOfPlugin reports whether one of our plugins sent the event. A plugin's events come in order.
func (e Event) isOfPlugin() bool { return e.Host == "opencode" || e.Host == "kilo" }

type promptText string // a prompt: a JSON string, in Kimi Code an array of parts

// UnmarshalJSON implements [json.Unmarshaler].
func (p *promptText) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() != '[' {
		return json.Unmarshal(data, (*string)(p), jsontext.AllowInvalidUTF8(true))
	}
	var parts []struct{ Text string }
	err := json.Unmarshal(data, &parts, json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true))
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text + "\n")
	}
	*p = promptText(text.String())
	return err
}

// Read reads one JSON value and decodes it as an event. It does not wait for the end of the input, since some hosts
// keep the pipe open. An error's text contains nothing of the event.
func Read(in io.Reader) (Event, error) {
	bounded := &io.LimitedReader{R: asutf8.Reader(in), N: MaxEvent + 1}
	text := jsontext.NewDecoder(bounded, jsontext.AllowInvalidUTF8(true))
	if kind := text.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return Event{}, errNoEvent
	}
	data, err := text.ReadValue()
	isNone := errors.Is(err, io.EOF) || errors.As(err, new(*jsontext.SyntacticError))
	var e Event
	switch {
	case err != nil && !isNone:
		return e, fmt.Errorf("read the event: %w", err)
	case err != nil && bounded.N == 0:
		return e, fmt.Errorf("the event is larger than %d bytes", MaxEvent)
	case isNone || json.Unmarshal(data, &e, jsontext.AllowInvalidUTF8(true)) != nil:
		return Event{}, errNoEvent
	}
	e.Session = cmp.Or(e.Session, e.Conversation, e.SessionID)
	if e.Folder == "" && len(e.Roots) > 0 {
		e.Folder = e.Roots[0]
	}
	e.Folder = todo.Folder(e.Folder)
	e.Last = cmp.Or(e.Last, e.PromptAnswer)
	if e.Agent == "main" { // the main agent, in Kimi Code
		e.Agent = ""
	}
	if e.Details.Kind() == 'n' {
		e.Details = nil
	}
	if e.Cursor != "" {
		e.Host = "cursor"
	}
	switch {
	case e.Session == "" || e.Name == "":
		return e, errors.New("the event has no session_id or no hook_event_name")
	case len(e.Folder) > todo.MaxWorkspace:
		return e, fmt.Errorf("the path of the folder is longer than %d bytes", todo.MaxWorkspace)
	}
	for _, label := range []string{e.Session, e.Agent, e.AgentType, e.Call, e.Parent, e.List, e.TaskList, e.Process, e.Host} {
		if len(label) > todo.MaxLabel {
			return e, fmt.Errorf("an id in the event is longer than %d bytes", todo.MaxLabel)
		}
	}
	return e, nil
}

var errNoEvent = errors.New("the event is not JSON of a form that hosts send")

// Answer returns the JSON that a hook prints to make its host tell the agent a text. At the end of a turn the answer
// keeps the turn from ending. For this most hosts need the field "decision", which Claude Code would show as a problem.
func (e Event) Answer(text string) any {
	type output struct {
		Event    string `json:"hookEventName,omitempty"`
		Context  string `json:"additionalContext,omitempty"`
		Decision string `json:"permissionDecision,omitempty"`
		Reason   string `json:"permissionDecisionReason,omitempty"`
		Message  string `json:"message,omitempty"`
	}
	answer := output{Event: e.Name, Context: text}
	switch {
	case e.Host == kimi && e.endsTurn():
		answer = output{Decision: "deny", Reason: text}
	case e.Host == kimi:
		answer = output{Message: text}
	case e.endsTurn() && e.Host != claudeCode && !e.isOfPlugin():
		return map[string]string{"decision": "block", "reason": text}
	}
	return map[string]output{"hookSpecificOutput": answer}
}

// agent returns the sub-agent's name, made of its kind and the end of its id; empty for the main agent.
func (e Event) agent() string {
	if e.Agent == "" {
		return ""
	}
	id := e.Agent[max(0, len(e.Agent)-8):]
	return todo.AgentName(strings.TrimSpace(todo.AgentName(e.AgentType) + " " + strings.ToValidUTF8(id, "?")))
}

var (
	// ErrNotNeeded is the error for an event that needs no action, such as a call of a foreign tool.
	ErrNotNeeded = errors.New("it needs no action")
	// ErrNotUnderstood is the error if a call of a host's own todo tool contains no valid list.
	ErrNotUnderstood = errors.New("not understood")
)

// describe adds the names of the event and its tool to an error. It returns nil for nil.
func (e Event) describe(err error) error {
	if err == nil {
		return nil
	}
	if input := (*todo.InputError)(nil); errors.As(err, &input) {
		paths := make([]string, len(input.Problems))
		for i, p := range input.Problems {
			paths[i] = p.Path // p.Message may contain a text of the list
		}
		err = fmt.Errorf("%w: %s", ErrNotUnderstood, strings.Join(paths, ", "))
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(todo.Cut(e.Name, 64)+" "+todo.Cut(e.Tool, 64)), err)
}

// act handles an event. Its field do is a function that returns a text for the agent; empty for none.
type act struct {
	do      func(context.Context, board.Lists) (told string, err error)
	isLater bool // the host needs no answer, so another process may call act.do later
}

// later returns an act that runs a function, given as do, and tells the agent nothing. Another process may run the act.
func later(do func(context.Context, board.Lists) error) *act {
	return &act{func(ctx context.Context, lists board.Lists) (string, error) { return "", do(ctx, lists) }, true}
}

// action returns the act for the event. If there is nothing to do, it returns nil, in most cases with [ErrNotNeeded].
func (e Event) action() (*act, error) {
	switch strings.ToLower(e.Name) {
	case "pretooluse", "beforetool":
		switch {
		case slices.Contains(askTools, e.Tool):
			return later(e.asks), nil
		case e.Host == kimi && !isOurs(e.Tool): // Kimi Code kills hooks after a tool call as soon as the turn goes on
			return e.afterTool()
		case !isOurs(e.Tool) || e.Call == "":
			return nil, ErrNotNeeded
		}
		// This act cannot wait in the spool: our server needs the key as soon as the host goes on with the call.
		return &act{do: func(ctx context.Context, lists board.Lists) (string, error) {
			return "", lists.HearKey(ctx, e.chat(), board.CallKey, e.Call, board.KeyAge)
		}}, nil
	case "posttooluse", "aftertool":
		if e.List != "" {
			return later(func(ctx context.Context, lists board.Lists) error {
				return lists.Bind(ctx, e.chat(), e.List)
			}), nil
		}
		if sub, task := e.launched(); task != "" {
			return later(func(ctx context.Context, lists board.Lists) error {
				_, err := lists.Hear(ctx, sub.chat(), func(c *todo.Chat, _ time.Time) { c.Agent = task })
				return err
			}), nil
		}
		return e.afterTool()
	case "posttoolusefailure", "posttoolbatch":
		return &act{do: e.usedTool}, nil
	case "userpromptsubmit", "beforeagent":
		return &act{do: e.prompt}, nil
	case "permissionrequest", "notification", "elicitation":
		if e.Notice == "idle_prompt" {
			return later(e.idles), nil
		}
		return later(e.asks), nil
	case "permissiondenied", "permissionresult", "elicitationresult":
		return later(e.goesOn), nil
	case "stop", "afteragent", "stopfailure", "erroroccurred", "interrupt":
		return &act{do: e.endTurn}, nil
	case "sessionstart":
		if e.Source == "startup" || e.Source == "new" { // a new chat has no current list yet
			return later(e.begins), nil
		}
		return &act{do: e.start}, nil
	case "precompress", "postcompact":
		if e.Host == gemini && e.Trigger != "manual" {
			return nil, ErrNotNeeded // Gemini CLI sends PreCompress before each request
		}
		return later(e.forgets), nil
	case "sessionend":
		e.Agent = "" // all agents of the chat end
		return later(e.leave), nil
	case "subagentstop":
		if e.Agent == "" {
			return nil, ErrNotNeeded
		}
		return later(e.leave), nil
	}
	return nil, ErrNotNeeded
}

// isOurs reports whether a tool is one of ours: hosts put "mcp" and the server's name before our tool's name.
func isOurs(tool string) bool {
	isSuffix := func(name string) bool { return strings.HasSuffix(tool, "_"+name) }
	return strings.HasPrefix(tool, "mcp") && slices.ContainsFunc(tools.Names(), isSuffix)
}

// launched returns, for an event after the launch of a sub-agent, a copy of the event with the sub-agent as its agent,
// and the sub-agent's name, made from its task. For other events both results are empty.
func (e Event) launched() (sub Event, task string) {
	var input struct {
		Description string `json:"description"`
		Kind        string `json:"subagent_type"`
	}
	var response struct {
		Agent string `json:"agentId"`
	}
	isOne := (e.Tool == "Agent" || e.Tool == "Task") && json.Unmarshal(e.Input, &input) == nil && json.Unmarshal(e.Response, &response) == nil
	if !isOne || response.Agent == "" || len(response.Agent) > todo.MaxLabel || len(input.Kind) > todo.MaxLabel {
		return Event{}, ""
	}
	e.Agent, e.AgentType = response.Agent, input.Kind
	return e, todo.AgentName(todo.OneLine(input.Description, todo.MaxTitle))
}

// afterTool returns the act after a tool call. For the host's todo tool the act mirrors the call; for our tool it is
// nil or [Event.leads]; for another tool [Event.usedTool] notes that the agent works and tells it what others changed.
func (e Event) afterTool() (*act, error) {
	tool, ok := tools.FindBuiltIn(e.Host, e.Tool)
	switch {
	case isOurs(e.Tool) && clients.Find(e.Host).ByHost:
		return later(e.leads), nil
	case isOurs(e.Tool):
		return nil, nil // our server has written the list
	case !ok:
		return &act{do: e.usedTool}, nil
	}
	call, err := tool.Read([]byte(e.Input), []byte(e.Response))
	if err != nil || call == nil {
		return nil, err
	}
	return later(func(ctx context.Context, lists board.Lists) error { return e.mirror(ctx, lists, tool, call) }), nil
}

// mirror applies a call of a host's own todo tool to our list that mirrors the host's list.
func (e Event) mirror(ctx context.Context, lists board.Lists, tool tools.BuiltIn, call *tools.Call) error {
	agent := e.agent()
	if agent != "" {
		known, err := lists.Chat(ctx, e.chat())
		if err != nil {
			return err
		}
		agent = cmp.Or(known.Agent, agent)
	}
	w := board.Write{
		Target:    call.Target,
		Writer:    todo.Writer{Client: tool.Host, Variant: tool.Name, Agent: agent},
		Change:    call.Change,
		Operation: todo.Operation{ID: e.id, Digest: e.id}, // a killed process may already have applied the event
	}
	if tool.OneList {
		e.Agent = ""
	}
	w.Conversation = e.mirrors()
	w.Conversation.Client = tool.Host
	if e.Agent != "" {
		w.Conversation.Agent = agent
	}
	// Chats with the same TaskList share a list. Claude Code cleans the id in the same way, to name the tasks' folder.
	if name := "tasks " + notInFolder.ReplaceAllString(e.TaskList, "-"); tool.OneList && e.TaskList != "" && todo.CheckName(name) == nil {
		w.Conversation.Name = name
	}
	_, err := lists.Apply(ctx, w)
	return err
}

var notInFolder = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// WithHost returns the event with the id of the host's process, which started this process.
func (e Event) WithHost() Event { e.Process = process.Host(); return e }

// chat returns the conversation of the event's agent. Our server finds the chat by the same key.
func (e Event) chat() board.Conversation {
	who := board.Conversation{Key: todo.ChatKey(e.Session), Chat: todo.HostID(e.Session), Client: e.Host, Workspace: e.Folder, Detached: true}
	who.Lasts = 30 * time.Minute // after the last event, if the host's process is unknown
	if e.Process != "" {
		who.Host = todo.HostProcess + e.Process
	}
	if e.Agent != "" {
		who.Parent, who.Key, who.Agent = who.Key, todo.AgentKey(who.Key, e.Agent), e.agent()
	}
	return who
}

// mirrors returns the agent's conversation for the list that mirrors the host's own list.
func (e Event) mirrors() board.Conversation {
	who := e.chat()
	who.Mirrors = true
	return who
}

// leave ends the agent's chat; for a main agent, its sub-agents' chats, too. It archives a sub-agent's settled lists.
func (e Event) leave(ctx context.Context, lists board.Lists) error {
	known, err := lists.Chat(ctx, e.chat())
	if err != nil || known.ID == "" && e.Agent != "" {
		return err
	}
	end := func(c *todo.Chat, at time.Time) {
		if !e.isOld(c, at) {
			c.End(e.Reason, at)
		}
	}
	_, err = lists.Hear(ctx, e.chat(), end)
	if e.Agent == "" {
		own := lists.Own(e.chat()).Key
		return errors.Join(err, endAll(ctx, lists, func(c todo.Chat) bool { return c.Parent == own && c.Ended.IsZero() }, end))
	}
	for _, who := range []board.Conversation{e.chat(), e.mirrors()} {
		current, failed := lists.Current(ctx, board.Target{Conversation: who})
		if failed == nil && current.Settled() && !current.Archived {
			_, failed = lists.Archive(ctx, current.List.ID, current.Writer)
		}
		err = errors.Join(err, board.PassOver(failed))
	}
	return err
}
