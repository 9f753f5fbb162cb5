// Package hook takes in what a host tells a hook of a chat: calls of the host's own
// todo tool, which a list mirrors; who makes a call of one of ours; and that the chat
// or a sub-agent of it has ended.
//
// What it cannot read changes nothing. A list that it wrote is durable.
package hook

import (
	"bytes"
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

// MaxEvent is the maximum size of an event, in bytes. Hosts put whole results of
// tools into some.
const MaxEvent = 8 << 20

// Event is what a host tells a hook: one JSON object of nearly one shape in Claude
// Code, Codex, Gemini CLI and Cursor. What is empty was not told.
type Event struct {
	Name string `json:"hook_event_name"`
	// Session is the host's id of the chat; in Cursor it is Conversation.
	Session      string `json:"session_id"`
	Conversation string `json:"conversation_id"`
	SessionID    string `json:"sessionId"` // in notices of Copilot CLI
	// Folder is the path of the folder that the chat works in; in Cursor it is the
	// first of Roots.
	Folder string   `json:"cwd"`
	Roots  []string `json:"workspace_roots"`
	// Source says how a session starts, or who wrote a prompt, and Reason why it ends.
	Source string `json:"source"`
	Reason string `json:"reason"`
	// Agent and AgentType are the id and the kind of the sub-agent; the main agent
	// has no id.
	Agent     string `json:"agent_id"`
	AgentType string `json:"agent_type"`
	// Tool is the name of the tool that is called, Call the host's id of the call.
	Tool     string         `json:"tool_name"`
	Call     string         `json:"tool_use_id"`
	Input    jsontext.Value `json:"tool_input,omitzero"`
	Response jsontext.Value `json:"tool_response,omitzero"`
	// Message is what a notification says, Notice its kind, and Details is what Gemini CLI
	// says besides of the call that it is about.
	Message string         `json:"message"`
	Notice  string         `json:"notification_type"`
	Details jsontext.Value `json:"details,omitzero"`
	// Last is what the agent said last before its turn ended; in Gemini CLI it is
	// PromptAnswer. Blocked is true when the turn goes on because a hook kept it
	// from ending. Tasks are what runs in the background.
	// Failure is why a turn ended that failed, in Copilot CLI the message of Error; without it Last
	// says so.
	Last         string         `json:"last_assistant_message"`
	Failure      string         `json:"error_message"`
	Error        jsontext.Value `json:"error,omitzero"`
	PromptAnswer string         `json:"prompt_response"`
	Blocked      bool           `json:"stop_hook_active"`
	Tasks        jsontext.Value `json:"background_tasks,omitzero"`
	// Cursor is Cursor's version. Host is the name of the host in MCP, as plugins of ours
	// tell it; without it the tool's name says which host it is.
	Cursor     string `json:"cursor_version"`
	ClientType string `json:"client_type"` // Kimi Code's
	Host       string `json:"host"`
	// List is the id of the list that a call of one of our tools wrote, as plugins of ours
	// tell it of hosts that say nothing of the chat to a server.
	List string `json:"list"`

	// Title is the chat's title, and Prompt what its agent is given; in Qwen Code what a
	// person typed is Submitted. Timestamp is in events of Gemini CLI and Qwen Code alone.
	Title     string         `json:"session_title"`
	Prompt    promptText     `json:"prompt"`
	Submitted string         `json:"submitted_prompt"`
	Timestamp jsontext.Value `json:"timestamp"`
	// Transcript is the path of the file in which the host keeps the chat, and Trigger says
	// who had a chat compressed.
	Transcript string `json:"transcript_path"`
	Trigger    string `json:"trigger"`
	// Parent is the id of the chat that this one was forked from, Branch the Git branch of
	// the folder, and TaskList the id of the tasks that several chats of Claude Code share: no
	// host tells them, but [Event.WithFiles].
	Parent   string `json:"forked_from"`
	Branch   string `json:"git_branch"`
	TaskList string `json:"task_list"`

	// Process is the id of the host's process, see [Event.WithHost].
	Process string `json:"host_process"`

	// Finish is true when a turn is to be kept from ending with open items. No host tells
	// it, but who set the hook up.
	Finish bool `json:"-"`
	// Language is that in which the agent is told, one of [prompts.Languages]; empty is the
	// first.
	Language string `json:"-"`

	id string // by which its write is known, if it was in the spool
}

// promptText is what an agent is given. Kimi Code has it as an array of parts.
type promptText string

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

// Read reads an event, which ends with its JSON: some hosts keep the pipe open, and what
// else they write there is none of it. An error says nothing of the event's content.
func Read(in io.Reader) (Event, error) {
	bounded := &io.LimitedReader{R: asutf8.Reader(in), N: MaxEvent + 1}
	text := jsontext.NewDecoder(bounded, jsontext.AllowInvalidUTF8(true))
	if kind := text.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return Event{}, errNoEvent
	}
	data, err := text.ReadValue()
	isNone := errors.Is(err, io.EOF) || errors.As(err, new(*jsontext.SyntacticError))
	switch {
	case err != nil && !isNone:
		return Event{}, fmt.Errorf("read the event: %w", err)
	case err != nil && bounded.N == 0:
		return Event{}, fmt.Errorf("the event is larger than %d bytes", MaxEvent)
	}
	var e Event
	if isNone || json.Unmarshal(data, &e, jsontext.AllowInvalidUTF8(true)) != nil {
		return Event{}, errNoEvent
	}
	e.Session = cmp.Or(e.Session, e.Conversation, e.SessionID)
	if e.Folder == "" && len(e.Roots) > 0 {
		e.Folder = e.Roots[0]
	}
	e.Folder = todo.Folder(e.Folder)
	e.Last = cmp.Or(e.Last, e.PromptAnswer)
	if e.Agent == "main" { // Kimi Code's name for it
		e.Agent = ""
	}
	for _, v := range []*jsontext.Value{&e.Details, &e.Tasks, &e.Timestamp} {
		if v.Kind() == 'n' {
			*v = nil
		}
	}
	switch {
	case e.Session == "" || e.Name == "":
		return e, errors.New("the event has no session_id or no hook_event_name")
	case len(e.Folder) > todo.MaxWorkspace:
		return e, fmt.Errorf("the path of the folder is longer than %d bytes", todo.MaxWorkspace)
	}
	for _, label := range []string{e.Session, e.Agent, e.AgentType, e.Call, e.Parent, e.List, e.TaskList, e.Process} {
		if len(label) > todo.MaxLabel {
			return e, fmt.Errorf("an id in the event is longer than %d bytes", todo.MaxLabel)
		}
	}
	return e, nil
}

// ReadCall reads an event from the arguments of a call, which a host fills in as texts: what
// is of another kind as JSON in a text, and what it does not know as an empty one.
func ReadCall(arguments []byte) (Event, error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(arguments, &fields, jsontext.AllowInvalidUTF8(true)); err != nil {
		return Event{}, errNoEvent
	}
	finish := false
	for name, value := range fields {
		var text string
		if json.Unmarshal(value, &text, jsontext.AllowInvalidUTF8(true)) != nil {
			continue // it is what it is
		}
		_, isJSON := map[string]bool{"tool_input": true, "tool_response": true, "background_tasks": true, "stop_hook_active": true}[name]
		switch {
		case name == "finish":
			finish = text == "true"
			delete(fields, name)
		case text == "", text == "${"+name+"}":
			delete(fields, name)
		case isJSON && jsontext.Value(text).IsValid():
			fields[name] = jsontext.Value(text)
		}
	}
	data, err := json.Marshal(fields, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return Event{}, errNoEvent
	}
	e, err := Read(bytes.NewReader(data))
	e.Finish = finish
	return e, err
}

// errNoEvent is the error for what is no event at all.
var errNoEvent = errors.New("the event is not JSON of the shape that hosts send")

// Answer returns what a hook writes to its host, as JSON, so that the agent is told a
// text: Claude Code, Codex, Gemini CLI and Qwen Code read it alike. At the end of a turn it
// keeps the turn from ending: in most hosts by a decision, which Claude Code would call a problem.
func (e Event) Answer(text string) any {
	if e.isKimi() {
		type decision struct {
			Decision string `json:"permissionDecision,omitempty"`
			Reason   string `json:"permissionDecisionReason,omitempty"`
			Message  string `json:"message,omitempty"`
		}
		answer := decision{Message: text}
		if e.endsTurn() {
			answer = decision{Decision: "deny", Reason: text}
		}
		return map[string]decision{"hookSpecificOutput": answer}
	}
	isClaudeCode := len(e.Tasks) > 0 && len(e.Timestamp) == 0
	if e.endsTurn() && e.Host == "" && !isClaudeCode {
		return struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		}{"block", text}
	}
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	return struct {
		Output output `json:"hookSpecificOutput"`
	}{output{e.Name, text}}
}

// agentLength is how much of a sub-agent's id is in its name: two of one chat do not
// have the same.
const agentLength = 8

// agent returns the name of the sub-agent, which tells it apart within its chat;
// empty for the main agent.
func (e Event) agent() string {
	if e.Agent == "" {
		return ""
	}
	id := e.Agent[max(0, len(e.Agent)-agentLength):]
	return strings.TrimSpace(todo.AgentName(e.AgentType) + " " + strings.ToValidUTF8(id, "?"))
}

// lasts is for how long after its last event a chat counts as there whose host's process is not
// known, unless it says that it ends.
const lasts = 30 * time.Minute

// ErrNotNeeded is the error for an event that no hook is needed for, such as a call of
// another tool where a matcher is too wide.
var ErrNotNeeded = errors.New("nothing is to be done for it")

// ErrNotUnderstood is the error for a call of a host's own tool that says no list.
var ErrNotUnderstood = errors.New("not understood")

// Do does what an event asks for, and returns what the agent is to be told, empty for
// nothing. It calls open, which opens the lists until done is called, only if it needs
// them. An error says nothing of the texts of a list; it may be [ErrNotNeeded].
func Do(ctx context.Context, e Event, open Opener) (told string, err error) {
	a, err := e.action()
	if err != nil || a == nil {
		return "", e.describe(err)
	}
	lists, done, err := open()
	if err != nil {
		return "", e.describe(err)
	}
	defer done()
	if told, err = a.do(ctx, lists); err != nil {
		err = e.describe(err)
	}
	return told, err
}

// describe returns an error with the event that it is of.
func (e Event) describe(err error) error {
	var input *todo.InputError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &input):
		paths := make([]string, len(input.Problems))
		for i, p := range input.Problems {
			paths[i] = p.Path // the message may have a text in it
		}
		err = fmt.Errorf("%w: %s", ErrNotUnderstood, strings.Join(paths, ", "))
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(todo.Cut(e.Name, 64)+" "+todo.Cut(e.Tool, 64)), err)
}

// act is what an event asks for.
type act struct {
	do   doing
	when order
}

// doing does what an event asks for, and returns what the agent is to be told.
type doing func(context.Context, board.Lists) (string, error)

// order says when an act is done.
type order int

const (
	afterOthers order = iota // its host waits for what it returns
	atOnce                   // a server needs it as soon as its host goes on
	inOrder                  // perhaps later, and by another process: the agent is told nothing
)

func silent(when order, do func(context.Context, board.Lists) error) *act {
	return &act{func(ctx context.Context, lists board.Lists) (string, error) { return "", do(ctx, lists) }, when}
}

// action returns what to do; nil if that is nothing.
func (e Event) action() (*act, error) {
	switch strings.ToLower(e.Name) {
	case "pretooluse", "beforetool":
		switch {
		case slices.Contains(askTools, e.Tool):
			return silent(inOrder, e.asks), nil
		case e.isKimi() && e.Tool == "TodoList": // Kimi Code ends its hooks after a tool as soon as the turn goes on
			return e.mirrorAction()
		case !isOurs(e.Tool) || e.Call == "":
			return nil, ErrNotNeeded
		}
		return silent(atOnce, func(ctx context.Context, lists board.Lists) error {
			return lists.HearKey(ctx, e.chat(), board.CallKey, e.Call, board.KeyAge)
		}), nil
	case "posttooluse", "aftertool":
		if e.List != "" {
			return silent(inOrder, func(ctx context.Context, lists board.Lists) error {
				return lists.Bind(ctx, e.chat(), e.List)
			}), nil
		}
		if sub, task := e.launched(); task != "" {
			return silent(inOrder, func(ctx context.Context, lists board.Lists) error {
				_, err := lists.Hear(ctx, sub.chat(), func(c *todo.Chat, _ time.Time) { c.Agent = task })
				return err
			}), nil
		}
		return e.mirrorAction()
	case "posttoolusefailure", "posttoolbatch":
		return &act{do: e.usedTool}, nil
	case "userpromptsubmit", "beforeagent":
		return &act{do: e.prompt}, nil
	case "permissionrequest", "notification", "elicitation":
		if e.Notice == "idle_prompt" {
			return silent(inOrder, e.idles), nil
		}
		return silent(inOrder, e.asks), nil
	case "permissiondenied", "permissionresult", "elicitationresult":
		return silent(inOrder, e.goesOn), nil
	case "stop", "afteragent", "stopfailure", "erroroccurred", "interrupt":
		return &act{do: e.endTurn}, nil
	case "sessionstart":
		if e.Source == "startup" || e.Source == "new" { // a new chat has no current list yet
			return silent(inOrder, e.begins), nil
		}
		return &act{do: e.start}, nil
	case "precompress", "postcompact":
		if e.isGemini() && e.Trigger != "manual" {
			return nil, ErrNotNeeded // it comes before each request
		}
		return silent(inOrder, e.forgets), nil
	case "sessionend":
		e.Agent = "" // all of them end
		return silent(inOrder, e.leave), nil
	case "subagentstop":
		if e.Agent == "" {
			return nil, ErrNotNeeded
		}
		return silent(inOrder, e.leave), nil
	}
	return nil, ErrNotNeeded
}

// isOurs reports whether a host calls one of our tools by a name: ours has the server's
// name before it.
func isOurs(tool string) bool {
	isSuffix := func(name string) bool { return strings.HasSuffix(tool, "_"+name) }
	return strings.HasPrefix(tool, "mcp") && slices.ContainsFunc(tools.Names(), isSuffix)
}

// launched returns an event as one of the sub-agent of whose launch it tells, and what that is
// called by its task; empty where it tells of none.
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

// mirrorAction returns what mirrors a call of a built-in tool. After any other tool the
// agent is told the news.
func (e Event) mirrorAction() (*act, error) {
	host := e.Host
	if e.Cursor != "" {
		host = "cursor"
	}
	tool, ok := tools.FindBuiltIn(host, e.Tool)
	switch {
	case isOurs(e.Tool) && clients.Find(e.client()).ByHost:
		return silent(inOrder, e.leads), nil
	case isOurs(e.Tool):
		return nil, nil // its server has written the list
	case !ok:
		return &act{do: e.usedTool}, nil
	}
	call, err := tool.Read([]byte(e.Input), []byte(e.Response))
	if err != nil || call == nil {
		return nil, err
	}
	return silent(inOrder, func(ctx context.Context, lists board.Lists) error {
		agent := todo.AgentName(e.agent())
		if agent != "" {
			known, err := lists.Chat(ctx, e.chat())
			if err != nil {
				return err
			}
			agent = cmp.Or(known.Agent, agent)
		}
		_, err := lists.Apply(ctx, e.mirror(tool, call, agent))
		return err
	}), nil
}

// mirror returns the write of a call of a built-in tool to the list that mirrors it; agent is the
// sub-agent's name.
func (e Event) mirror(tool tools.BuiltIn, call *tools.Call, agent string) board.Write {
	w := board.Write{
		Begin:     todo.List{Mirrored: true},
		Writer:    todo.Writer{Client: tool.Host, Variant: tool.Name, Agent: agent},
		Change:    call.Change,
		Operation: todo.Operation{ID: e.id, Digest: e.id}, // it may have been applied by a process that was killed then
	}
	who := e.mirrors()
	who.Client = tool.Host
	w.Target = call.Target
	if agent != "" && !tool.OneList {
		w.Begin.ParentConversation, w.Agent = todo.ChatKey(e.Session), agent
	} else {
		who.Key, who.Parent, who.Agent = todo.ChatKey(e.Session), "", ""
	}
	if tool.OneList {
		who.Name = e.sharedName()
	}
	w.Conversation = who
	return w
}

// notInFolder matches what Claude Code does not take into the name of the folder that has the
// tasks of an id.
var notInFolder = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// sharedName returns the name of the list that mirrors the tasks which several chats share;
// empty where they are the chat's own.
func (e Event) sharedName() string {
	name := "tasks " + notInFolder.ReplaceAllString(e.TaskList, "-")
	if e.TaskList == "" || todo.CheckName(name) != nil {
		return ""
	}
	return name
}

// WithHost returns an event that the host gave this process, or the server that it started as this
// process, with the host's process.
func (e Event) WithHost() Event { e.Process = process.Host(); return e }

// chat returns the conversation of the agent that the event is of, as servers know it by a hook,
// by the environment or by what its host sends with a call. It outlives the process of a hook.
func (e Event) chat() board.Conversation {
	who := board.Conversation{Key: todo.ChatKey(e.Session), Chat: todo.HostID(e.Session), Client: e.client(), Workspace: e.Folder,
		Lasts: lasts, Detached: true}
	if e.Process != "" {
		who.Host = todo.HostProcess + e.Process
	}
	if e.Agent != "" {
		who.Parent, who.Key = who.Key, todo.AgentKey(who.Key, e.Agent)
		who.Agent = todo.AgentName(e.agent())
	}
	return who
}

// mirrors returns the conversation of the agent as it calls its host's own tool.
func (e Event) mirrors() board.Conversation {
	who := e.chat()
	who.Mirrors = true
	return who
}

// leave says that a sub-agent of the chat has ended, or without one the chat itself with its
// sub-agents. A sub-agent's list is archived if it is settled.
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
		err = errors.Join(err, e.endSubs(ctx, lists, end))
	}
	for _, who := range []board.Conversation{e.chat(), e.mirrors()} {
		current, missing := lists.Current(ctx, board.Target{Conversation: who})
		if missing == nil && e.Agent != "" && current.Settled() && !current.Archived {
			_, missing = lists.Archive(ctx, current.List.ID, true, current.Writer)
		}
		err = errors.Join(err, board.PassOver(missing))
	}
	return err
}

// endSubs says of the chats of the sub-agents that they ended, whether they have lists or not.
func (e Event) endSubs(ctx context.Context, lists board.Lists, end func(*todo.Chat, time.Time)) error {
	all, err := lists.OwnChats(ctx, time.Now().Add(-otherAge))
	for _, c := range all {
		if c.Parent == lists.Own(e.chat()).Key && c.Ended.IsZero() && err == nil {
			_, err = lists.Hear(ctx, board.Conversation{Key: c.ID}, end)
		}
	}
	return err
}
