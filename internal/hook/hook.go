// Package hook takes in what a host tells a hook of a chat: calls of the host's own
// todo tool, which a list mirrors; who makes a call of one of ours; and that the chat
// or a sub-agent of it has ended.
//
// What it cannot read changes nothing. A list that it wrote is durable.
package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/tools"
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
	// Folder is the path of the folder that the chat works in; in Cursor it is the
	// first of Roots.
	Folder string   `json:"cwd"`
	Roots  []string `json:"workspace_roots"`
	// Source says how a session starts.
	Source string `json:"source"`
	// Agent and AgentType are the id and the kind of the sub-agent; the main agent
	// has no id.
	Agent     string `json:"agent_id"`
	AgentType string `json:"agent_type"`
	// Tool is the name of the tool that is called, Call the host's id of the call.
	Tool     string         `json:"tool_name"`
	Call     string         `json:"tool_use_id"`
	Input    jsontext.Value `json:"tool_input"`
	Response jsontext.Value `json:"tool_response"`
	// Cursor is Cursor's version.
	Cursor string `json:"cursor_version"`
}

// Read reads an event. An error says nothing of the event's content.
func Read(in io.Reader) (Event, error) {
	data, err := io.ReadAll(io.LimitReader(in, MaxEvent+1))
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("read the event: %w", err)
	case len(data) > MaxEvent:
		return Event{}, fmt.Errorf("the event is larger than %d bytes", MaxEvent)
	}
	var e Event
	// A lone surrogate is reported by the tool in whose text it is.
	if err := json.Unmarshal(data, &e, jsontext.AllowInvalidUTF8(true)); err != nil {
		return Event{}, errors.New("the event is not JSON of the shape that hosts send")
	}
	e.Session = cmp.Or(e.Session, e.Conversation)
	if e.Folder == "" && len(e.Roots) > 0 {
		e.Folder = e.Roots[0]
	}
	return e, e.check()
}

// check returns an error unless the event says what it is and nothing is longer than
// what is stored.
func (e Event) check() error {
	if e.Session == "" || e.Name == "" {
		return errors.New("the event has no session_id or no hook_event_name")
	}
	for _, label := range []string{e.Session, e.Agent, e.AgentType, e.Call} {
		if len(label) > todo.MaxLabel {
			return fmt.Errorf("an id in the event is longer than %d bytes", todo.MaxLabel)
		}
	}
	if len(e.Folder) > todo.MaxWorkspace {
		return fmt.Errorf("the path of the folder is longer than %d bytes", todo.MaxWorkspace)
	}
	return nil
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
	return strings.TrimSpace(e.AgentType + " " + strings.ToValidUTF8(id, "?"))
}

// lasts is for how long after its last call of a todo tool a chat counts as there,
// unless it says that it ends.
const lasts = 30 * time.Minute

// ErrNotNeeded is the error for an event that no hook is needed for, such as a call of
// another tool where a matcher is too wide.
var ErrNotNeeded = errors.New("nothing is to be done for it")

// Do does what an event asks for. It calls open, which opens the lists until done is
// called, only if it needs them. An error says nothing of the texts of a list; it may be
// [ErrNotNeeded].
func Do(ctx context.Context, e Event, open func() (lists todo.Lists, done func(), err error)) error {
	act, err := e.action()
	if err != nil || act == nil {
		return e.describe(err)
	}
	lists, done, err := open()
	if err != nil {
		return e.describe(err)
	}
	defer done()
	return e.describe(act(ctx, lists))
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
		err = fmt.Errorf("not understood: %s", strings.Join(paths, ", "))
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(todo.Cut(e.Name, 64)+" "+todo.Cut(e.Tool, 64)), err)
}

// action returns what to do; nil if that is nothing.
func (e Event) action() (func(context.Context, todo.Lists) error, error) {
	switch strings.ToLower(e.Name) {
	case "pretooluse", "beforetool":
		if !isOurs(e.Tool) || e.Call == "" {
			return nil, ErrNotNeeded
		}
		return e.noteCall, nil
	case "posttooluse", "aftertool":
		return e.mirrorAction()
	case "sessionstart":
		if e.Source != "resume" {
			return nil, nil // a new chat has no current list yet
		}
		return e.stay, nil
	case "sessionend":
		e.Agent = "" // all of them end
		return e.leave, nil
	case "subagentstop":
		if e.Agent == "" {
			return nil, ErrNotNeeded
		}
		return e.leave, nil
	}
	return nil, ErrNotNeeded
}

// isOurs reports whether a host calls one of our tools by a name: ours has the server's
// name before it.
func isOurs(tool string) bool {
	isSuffix := func(name string) bool { return strings.HasSuffix(tool, "_"+name) }
	return strings.HasPrefix(tool, "mcp") && slices.ContainsFunc(tools.Names(), isSuffix)
}

// noteCall notes who makes a call of one of our tools.
func (e Event) noteCall(ctx context.Context, lists todo.Lists) error {
	return lists.NoteHostCall(ctx, todo.HostCall{ID: e.Call, Session: e.Session, Agent: e.agent(), Folder: e.Folder})
}

// mirrorAction returns what mirrors a call of a built-in tool.
func (e Event) mirrorAction() (func(context.Context, todo.Lists) error, error) {
	host := "" // which the tool's name tells
	if e.Cursor != "" {
		host = "cursor"
	}
	tool, ok := tools.FindBuiltIn(host, e.Tool)
	switch {
	case isOurs(e.Tool):
		return nil, nil // its server has written the list
	case !ok:
		return nil, ErrNotNeeded
	}
	call, err := tool.Read([]byte(e.Input), []byte(e.Response))
	if err != nil || call == nil {
		return nil, err
	}
	return func(ctx context.Context, lists todo.Lists) error {
		_, err := lists.Apply(ctx, e.mirror(tool, call))
		return err
	}, nil
}

// mirror returns the write of a call of a built-in tool to the list that mirrors it.
func (e Event) mirror(tool tools.BuiltIn, call *tools.Call) todo.Write {
	agent := server.AgentName(e.agent())
	w := todo.Write{
		Begin:  todo.List{Mirrored: true},
		Writer: todo.Writer{Client: tool.Host, Variant: tool.Name, Agent: agent},
		Change: call.Change,
	}
	who := chat(server.MirrorKey(e.Session))
	who.Client, who.Workspace = tool.Host, e.Folder
	if agent != "" && !tool.OneList {
		w.Begin.ParentConversation = who.Key
		who.Key = server.AgentKey(who.Key, e.agent())
	}
	w.Target = call.Target
	w.Conversation = who
	if !tool.OneList {
		w.Agent = agent
	}
	return w
}

// chat returns the conversation with a key, which outlives the process of a hook.
func chat(key string) todo.Conversation {
	return todo.Conversation{Key: key, Lasts: lasts, Detached: true}
}

// stay says that a chat that was resumed is there again. As far as it has one by
// our tools, their server says so.
func (e Event) stay(ctx context.Context, lists todo.Lists) error {
	return lists.Stay(ctx, chat(server.MirrorKey(e.Session)))
}

// leave says that a sub-agent of the chat has left the lists that it has by our tools and by
// the host's own, or without one the chat itself with its sub-agents. A sub-agent's list is
// archived if it is settled.
func (e Event) leave(ctx context.Context, lists todo.Lists) error {
	for _, key := range []string{server.ChatKey(e.Session), server.MirrorKey(e.Session)} {
		if e.Agent != "" {
			key = server.AgentKey(key, e.agent())
		}
		current, err := lists.Current(ctx, todo.Target{Conversation: chat(key)})
		var subs []todo.Snapshot
		switch {
		case errors.Is(err, todo.ErrNotFound):
			continue
		case err != nil:
		case e.Agent == "":
			subs, err = lists.Find(ctx, todo.Query{Parent: current.List.ID})
		case current.Settled() && !current.Archived:
			_, err = lists.Archive(ctx, current.List.ID, true, current.Writer)
		}
		for _, sub := range subs {
			err = errors.Join(err, lists.Leave(ctx, chat(sub.List.Conversation)))
		}
		if err == nil {
			err = lists.Leave(ctx, chat(key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
