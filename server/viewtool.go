package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/server/card"
	"todo-mcp/tools"
)

// addCard adds the app page as a resource, and the view tool with which the page
// reads the newest revision of its list.
func (s *Server) addCard() error {
	s.mcp.AddResource(mcp.NewResource(card.URI, "todo list page",
		mcp.WithResourceTitle("Todo list"),
		mcp.WithResourceDescription("The page that shows a todo list in the chat"),
		mcp.WithMIMEType(card.MIME)), readCard)
	view, err := tools.NewView()
	if err != nil {
		return err
	}
	s.viewTool = view.Name
	described := describe(view)
	yes := true
	described.Annotations.ReadOnlyHint = &yes
	described.Meta = card.ViewMeta()
	s.mcp.AddTool(described, s.viewHandler(view))
	return nil
}

func readCard(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return []mcp.ResourceContents{card.Contents()}, nil
}

// viewHandler returns the handler of the view tool, which reads any list of the
// principal by id, like the resource todo://lists/{id}.
func (s *Server) viewHandler(view *tools.Tool) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.answer(ctx, view, req, func(raw json.RawMessage) (tools.Result, error) { return s.view(ctx, view, raw) })
	}
}

func (s *Server) view(ctx context.Context, view *tools.Tool, raw []byte) (tools.Result, error) {
	call, err := view.Read(raw)
	if err != nil {
		return failure(view, err)
	}
	snapshot, err := s.lists(ctx).Load(ctx, call.List, 0)
	if errors.Is(err, todo.ErrNotFound) {
		err = &todo.InputError{Problems: []todo.Problem{{Path: "list_id", Message: "There is no such list"}}}
	}
	if err != nil {
		return failure(view, err)
	}
	return view.Result(call, todo.Outcome{After: snapshot}), nil
}

// hideView removes the view tool from tools/list, except in a session of a
// client that shows apps: that client hides the tool from its model. In the
// sessionless protocol lists must not vary, so it is never listed. It can be
// called even when it is not listed, and the page works without it.
func (s *Server) hideView(ctx context.Context, result *mcp.ListToolsResult) {
	if mcpserver.IsModernRequest(ctx) || !peerOf(ctx).Apps {
		result.Tools = slices.DeleteFunc(result.Tools, func(t mcp.Tool) bool { return t.Name == s.viewTool })
	}
}
