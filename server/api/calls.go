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

// This file serves the event stream of write_todos for front ends
// (docs/spec/variants.md W2, W3). Each call of any variant is sent as a call of
// write_todos with the whole list.

// toolMessage is the title that a front end shows above a block.
const toolMessage = "Update Todos"

// streamName is the name of the tool in each block.
const streamName = "write_todos"

// toolUse is a tool_use block.
type toolUse struct {
	Type    string       `json:"type"`
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Message string       `json:"tool_content_message,omitempty"`
	Input   toolUseInput `json:"input"`
	// Parent is set for a sub-agent's call, so that a front end can skip it.
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

// blockOf returns the block of a snapshot, with a given id.
func blockOf(s todo.Snapshot, id string) toolUse {
	b := toolUse{Type: "tool_use", ID: id, Name: streamName, Message: toolMessage, Input: toolUseInput{streamTodos(s)}}
	if s.List.Agent != "" {
		b.Parent = blockID(todo.Snapshot{List: todo.List{ID: s.List.Parent}})
	}
	return b
}

// blockID returns the id of the block of a revision, which is the same on the
// stream and in the history.
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

// callID returns the id of the block of a call: that of the revision that the
// call made, or a different one when it made none.
func callID(c todo.Call) string {
	if c.ID == "" {
		return blockID(c.List)
	}
	return blockID(c.List) + "_" + c.ID
}

// follow streams calls as they are made, in this process and in others that
// share the store. ?list= restricts the stream to one list.
func (s *streams) follow(w http.ResponseWriter, r *edge.Request) error {
	onlyList := r.URL.Query().Get("list")
	follower := r.Lists.Calls()
	defer follower.Close()
	return r.Stream(w, func(stream *sse.Stream) error {
		if err := stream.Begin(); err != nil {
			return err
		}
		for index := 0; ; {
			call, err := follower.Next(stream.Context())
			if err != nil {
				return err
			}
			if onlyList != "" && call.List.List.ID != onlyList {
				continue
			}
			// The start event has the whole input; the stop event follows at once.
			key := callKey{callID(call), call.List.List.Parent, index}
			if err := s.calls.Send(stream, key, func() []sse.Event {
				block := blockOf(call.List, key.call)
				return []sse.Event{{Data: blockEvent{"content_block_start", key.index, &block}}, {Data: blockEvent{"content_block_stop", key.index, nil}}}
			}); err != nil {
				return err
			}
			index++
		}
	})
}

// workspaceAnswer is a list's history in the forms that a front end reads when
// it reloads (docs/spec/variants.md W3).
type workspaceAnswer struct {
	Workspace struct {
		// Todos is null when there is no list and [] when the list is empty.
		Todos []streamTodo `json:"todos"`
	} `json:"workspace"`
	// Messages are the assistant's messages of the conversation.
	Messages []historyMessage `json:"messages"`
	// History is the form into which a front end parses the messages.
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

// workspace answers with the history of the list with the id or name ?list=, or
// without ?list= of the main list that changed last. It answers with empty
// histories when there is no such list.
func workspace(w http.ResponseWriter, r *edge.Request) error {
	answer := workspaceAnswer{Messages: []historyMessage{}, History: []historyAnswer{}}
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

// workspaceList returns the list with an id, else the one that changed last with
// a name; when wanted is empty, the main list that changed last.
func workspaceList(r *edge.Request, wanted string) (todo.Snapshot, error) {
	if wanted != "" {
		if l, err := r.Lists.Load(r.Context(), wanted, 0); !errors.Is(err, todo.ErrNotFound) {
			return l, err
		}
	}
	// Almost always the list is among the last changed; else all are read.
	for _, limit := range []int{maxListed, 0} {
		found, err := r.Lists.Find(r.Context(), todo.Query{Limit: limit})
		if err != nil {
			return todo.Snapshot{}, err
		}
		for _, l := range found {
			if wanted != "" && l.List.Name == wanted || wanted == "" && l.List.Agent == "" {
				return l, nil
			}
		}
		if len(found) < limit {
			break
		}
	}
	return todo.Snapshot{}, todo.ErrNotFound
}
