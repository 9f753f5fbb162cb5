package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/tools"
)

// addCard adds the app page as a resource, and the page's own tools: view, by which
// it reads the newest revision of its list, and tick, by which a person sets an
// item's status on it.
func (s *Server) addCard() {
	s.mcp.AddResource(mcp.NewResource(card.URI, "todo list page",
		mcp.WithResourceTitle("Todo list"),
		mcp.WithResourceDescription("The page that shows a todo list in the chat"),
		mcp.WithMIMEType(card.MIME)),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{card.Contents()}, nil
		})
	view, tick := tools.NewPage()
	s.pageTools = []*tools.Tool{view, tick}
	for _, tool := range s.pageTools {
		s.addTool(describe(tool), tool, forPage)
	}
}

// forPage answers a call of the app page. It reads or writes any list of the principal
// by id, like the resource todo://lists/{id} and the panel: whose conversation the call
// comes from means nothing.
func forPage(r *request, tool *tools.Tool) (tools.Result, error) {
	call, err := tool.Read(r.arguments)
	if err != nil {
		return tools.Result{}, err
	}
	out, err := readOrTick(r, tool, call)
	if err != nil {
		return tools.Result{}, err
	}
	result := tool.Result(call, out)
	states, err := r.lists.States(r.ctx, out.After)
	if err != nil {
		return tools.Result{}, err
	}
	saw, err := r.lists.Saw(r.ctx, out.After)
	if err != nil {
		return tools.Result{}, err
	}
	// Only the page needs these.
	result.List.Rests = states[out.After.List.ID].State.Rests()
	result.List.Written, result.List.Seen = out.After.Written(), saw.Revision
	return result, nil
}

// readOrTick reads a list, or sets an item's status as a person does on the panel: the
// board merges it with what came after the revision that the person saw, and the agent
// is told with its next write.
func readOrTick(r *request, tool *tools.Tool, call *tools.Call) (out board.Outcome, err error) {
	if call.Edit.Do == "" {
		out.After, err = r.lists.Load(r.ctx, call.List, 0)
		return out, err
	}
	by := todo.Writer{Client: strings.TrimSpace(todo.Cut(r.client.Name, 59) + " card"), Variant: tool.Name}
	out, err = r.lists.Edit(r.ctx, call.List, call.Edit, by)
	if errors.Is(err, todo.ErrItemGone) {
		err = &todo.InputError{Problems: []todo.Problem{{Path: "item_id", Message: "The item is not on the list any more"}}}
	}
	if err != nil {
		return out, fmt.Errorf("the item could not be saved: %w", err)
	}
	return out, nil
}
