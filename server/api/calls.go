package api

import (
	"errors"
	"fmt"
	"net/http"

	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/sse"
	"todo-mcp/tools"
)

// The event stream of write_todos for front ends (VARIANTS.md W2, W3). Every
// write of any variant shows on it, as the whole list in write_todos' words.

// toolMessage is what a front end titles the block with.
const toolMessage = "Update Todos"

// streamName is the tool's name on the stream.
const streamName = "write_todos"

// toolUse is a tool_use block.
type toolUse struct {
	Type    string       `json:"type"`
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Message string       `json:"tool_content_message,omitempty"`
	Input   toolUseInput `json:"input"`
	// Parent is set for a sub-agent's call, so that a panel may skip it.
	Parent string `json:"parent_tool_use_id,omitempty"`
}

type toolUseInput struct {
	Todos []streamTodo `json:"todos"`
}

type streamTodo struct {
	Content    string `json:"content"`
	ActiveForm string `json:"activeForm"`
	Status     string `json:"status"`
}

type blockEvent struct {
	Type  string   `json:"type"`
	Index int      `json:"index"`
	Block *toolUse `json:"content_block,omitempty"`
}

func blockOf(s todo.Snapshot, id string) toolUse {
	b := toolUse{Type: "tool_use", ID: id, Name: streamName, Message: toolMessage, Input: toolUseInput{streamTodos(s)}}
	if s.List.Agent != "" {
		b.Parent = blockID(todo.Snapshot{List: todo.List{ID: s.List.Parent}})
	}
	return b
}

// blockID names the block of a revision, the same on the stream and in history.
func blockID(s todo.Snapshot) string {
	return fmt.Sprintf("toolu_%s_%d", s.List.ID, s.Revision)
}

func streamTodos(s todo.Snapshot) []streamTodo {
	out := []streamTodo{}
	for _, line := range tools.TodoWriteView().Lines(s.Items) {
		out = append(out, streamTodo{line.Text, line.Active, line.Status})
	}
	return out
}

// callID names the block of a call: that of the revision it made, or one of its
// own.
func callID(c todo.Call) string {
	if c.ID == "" {
		return blockID(c.List)
	}
	return blockID(c.List) + "_" + c.ID
}

// calls streams calls as they are made, in this process and in the others on the
// same store. ?list= restricts to one list.
func calls(w http.ResponseWriter, r *edge.Request) error {
	only := r.URL.Query().Get("list")
	made := r.Lists.Calls()
	defer made.Close()
	stream, closeStream, err := r.Stream(w)
	if err != nil {
		return err
	}
	defer closeStream()
	if stream.Begin() != nil {
		return nil
	}
	for index := 0; ; {
		call, err := made.Next(stream.Context())
		if err != nil {
			return nil
		}
		if only != "" && call.List.List.ID != only {
			continue
		}
		// The start, with the whole input, and at once the stop.
		block := blockOf(call.List, callID(call))
		if stream.Send(sse.Event{Data: blockEvent{"content_block_start", index, &block}},
			sse.Event{Data: blockEvent{"content_block_stop", index, nil}}) != nil {
			return nil
		}
		index++
	}
}

// reload is a list's history for a front end that reloads (VARIANTS.md W3).
type reload struct {
	Workspace struct {
		// Todos is null when there never was a list, [] when it was cleared.
		Todos []streamTodo `json:"todos"`
	} `json:"workspace"`
	// Messages are the assistant's messages of the conversation.
	Messages []historyMessage `json:"messages"`
	// History is what a front end parses them into.
	History []historyAnswer `json:"history"`
}

type historyMessage struct {
	Role      string    `json:"role"`
	Content   []toolUse `json:"content"`
	ToolCalls []toolUse `json:"tool_calls"` // always empty
}

type historyAnswer struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Streaming bool      `json:"isStreaming"`
	Blocks    []toolUse `json:"blocks"`
}

// workspace gives the history of ?list=, an id or name, or of the main list that
// changed last.
func workspace(w http.ResponseWriter, r *edge.Request) error {
	answer := reload{Messages: []historyMessage{}, History: []historyAnswer{}}
	l, err := workspaceList(r, r.URL.Query().Get("list"))
	if errors.Is(err, todo.ErrNotFound) {
		return edge.WriteJSON(w, http.StatusOK, answer)
	}
	if err != nil {
		return err
	}
	revisions, err := r.Lists.History(r.Context(), l.List.ID, 0, 0)
	if err != nil {
		return err
	}
	answer.Workspace.Todos = streamTodos(l)
	for i, s := range revisions {
		block := blockOf(s, blockID(s))
		answer.History = append(answer.History, historyAnswer{ID: fmt.Sprintf("session-history-%d", i+1), Type: "ai_answer", Blocks: []toolUse{block}})
		block.Message = ""
		answer.Messages = append(answer.Messages, historyMessage{Role: "assistant", Content: []toolUse{block}, ToolCalls: []toolUse{}})
	}
	return edge.WriteJSON(w, http.StatusOK, answer)
}

func workspaceList(r *edge.Request, wanted string) (todo.Snapshot, error) {
	found, err := r.Lists.Find(r.Context(), todo.Query{Limit: maxListed})
	if err != nil {
		return todo.Snapshot{}, err
	}
	for _, l := range found {
		if wanted == l.List.ID || wanted != "" && wanted == l.List.Name || wanted == "" && l.List.Agent == "" {
			return l, nil
		}
	}
	return todo.Snapshot{}, todo.ErrNotFound
}
