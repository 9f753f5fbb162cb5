package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"todo-mcp/internal/todo"
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

// apiStream streams calls as they are made, in this process and in the others on
// the same store. ?list= restricts to one list.
func (h *HTTP) apiStream(w http.ResponseWriter, r *http.Request) {
	only := r.URL.Query().Get("list")
	calls := h.server.lists().Calls()
	defer calls.Close()
	stream, ok := h.openStream(w, r)
	if !ok {
		return
	}
	defer stream.close()
	for index := 0; ; {
		call, err := calls.Next(stream.ctx)
		if err != nil {
			return
		}
		if only != "" && call.List.List.ID != only {
			continue
		}
		if !stream.block(index, blockOf(call.List, callID(call))) {
			return
		}
		index++
	}
}

// block sends the start, with the whole input, and at once the stop.
func (s *eventStream) block(index int, b toolUse) bool {
	start, err1 := json.Marshal(blockEvent{"content_block_start", index, &b})
	stop, err2 := json.Marshal(blockEvent{"content_block_stop", index, nil})
	return errors.Join(err1, err2) == nil && s.send(fmt.Appendf(nil, "data: %s\n\ndata: %s\n\n", start, stop))
}

// workspace is a list's history for a front end that reloads (VARIANTS.md W3).
type workspace struct {
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

// apiWorkspace gives the history of ?list=, an id or name, or of the main list
// that changed last.
func (h *HTTP) apiWorkspace(w http.ResponseWriter, r *http.Request) {
	answer := workspace{Messages: []historyMessage{}, History: []historyAnswer{}}
	list, err := h.workspaceList(r.Context(), r.URL.Query().Get("list"))
	if errors.Is(err, todo.ErrNotFound) {
		writeJSON(w, http.StatusOK, answer)
		return
	}
	if err != nil {
		apiError(w, err)
		return
	}
	revisions, err := h.server.lists().History(r.Context(), list.List.ID, 0, 0)
	if err != nil {
		apiError(w, err)
		return
	}
	answer.Workspace.Todos = streamTodos(list)
	for i, s := range revisions {
		block := blockOf(s, blockID(s))
		answer.History = append(answer.History, historyAnswer{ID: fmt.Sprintf("session-history-%d", i+1), Type: "ai_answer", Blocks: []toolUse{block}})
		block.Message = ""
		answer.Messages = append(answer.Messages, historyMessage{Role: "assistant", Content: []toolUse{block}, ToolCalls: []toolUse{}})
	}
	writeJSON(w, http.StatusOK, answer)
}

func (h *HTTP) workspaceList(ctx context.Context, wanted string) (todo.Snapshot, error) {
	lists, err := h.server.lists().Find(ctx, todo.Query{Limit: maxListed})
	if err != nil {
		return todo.Snapshot{}, err
	}
	for _, l := range lists {
		if wanted == l.List.ID || wanted != "" && wanted == l.List.Name || wanted == "" && l.List.Agent == "" {
			return l, nil
		}
	}
	return todo.Snapshot{}, todo.ErrNotFound
}
