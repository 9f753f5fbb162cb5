package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/todo"
	"todo-mcp/server/card"
	"todo-mcp/tools"
)

// addCard adds the app page as a resource, and the page's own tools: view, by which
// it reads the newest revision of its list, and tick, by which a person sets an
// item's status on it.
func (s *Server) addCard() error {
	s.mcp.AddResource(mcp.NewResource(card.URI, "todo list page",
		mcp.WithResourceTitle("Todo list"),
		mcp.WithResourceDescription("The page that shows a todo list in the chat"),
		mcp.WithMIMEType(card.MIME)), readCard)
	view, err := tools.NewView()
	if err != nil {
		return err
	}
	tick, err := tools.NewTick()
	if err != nil {
		return err
	}
	s.addPageTool(view, true, func(_ *request, _ *tools.Tool, _ *tools.Call, newest todo.Snapshot) (todo.Outcome, error) {
		return todo.Outcome{After: newest}, nil
	})
	s.addPageTool(tick, false, s.tick)
	return nil
}

// addPageTool adds a tool that only the app page calls. It reads or writes any
// list of the principal by id, like the resource todo://lists/{id} and the panel:
// whose conversation the call comes from means nothing.
func (s *Server) addPageTool(tool *tools.Tool, reads bool, do func(*request, *tools.Tool, *tools.Call, todo.Snapshot) (todo.Outcome, error)) {
	described := describe(tool)
	described.Annotations.ReadOnlyHint = &reads
	described.Meta = card.OwnMeta()
	s.pageTools = append(s.pageTools, described)
	s.mcp.AddTool(described, s.handler(tool, func(r *request, tool *tools.Tool, call *tools.Call) (tools.Result, error) {
		snapshot, err := r.lists.Load(r.ctx, call.List, 0)
		if errors.Is(err, todo.ErrNotFound) {
			err = &todo.InputError{Problems: []todo.Problem{{Path: "list_id", Message: "There is no such list"}}}
		}
		if err != nil {
			return tools.Result{}, err
		}
		out, err := do(r, tool, call, snapshot)
		if err != nil {
			return tools.Result{}, err
		}
		result := tool.Result(call, out)
		states, err := r.lists.States(r.ctx, out.After)
		if err != nil {
			return tools.Result{}, err
		}
		// Only the page needs these.
		result.List.Rests = states[out.After.List.ID].Rests()
		result.List.Written = out.After.Written()
		return result, nil
	}))
}

func readCard(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return []mcp.ResourceContents{card.Contents()}, nil
}

// tick sets an item's status as a person does on the panel: the board merges it
// with what came after the revision that the person saw, and the agent is told
// with its next write.
func (s *Server) tick(r *request, tool *tools.Tool, call *tools.Call, newest todo.Snapshot) (todo.Outcome, error) {
	by := todo.Writer{Client: strings.TrimSpace(todo.Cut(r.client.Name, 59) + " card"), Variant: tool.Name}
	out, err := r.lists.Edit(r.ctx, newest.List.ID, call.Edit, by)
	if errors.Is(err, todo.ErrItemGone) {
		err = &todo.InputError{Problems: []todo.Problem{{Path: "item_id", Message: "The item is not on the list any more"}}}
	}
	if err != nil {
		return todo.Outcome{}, fmt.Errorf("the item could not be saved: %w", err)
	}
	return out, nil
}
