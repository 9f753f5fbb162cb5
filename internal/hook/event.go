// Package hook takes in what a host tells a hook of a chat: calls of the host's own
// todo tool, which a list mirrors; who makes a call of one of ours; and that the chat
// or a sub-agent of it has ended.
//
// What it cannot read changes nothing. A list that it wrote is durable.
package hook

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"todo-mcp/internal/todo"
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
