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

// addCard adds the page and the tool by which it reads its list anew.
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

// viewHandler answers calls of the view tool: any list of the principal, by id,
// as [Server.readList] does.
func (s *Server) viewHandler(view *tools.Tool) mcpserver.ToolHandlerFunc {
	return s.answering(view, func(ctx context.Context, raw json.RawMessage, _ mcp.CallToolRequest) (tools.Result, error) {
		return s.view(ctx, view, raw)
	})
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

// hideView leaves the view tool out of a list, unless it is for a session of a
// client that shows apps, which keeps it from its model. The sessionless
// protocol's lists may not vary, so there nobody sees it; it can be called all
// the same, and the page can do without.
func (s *Server) hideView(ctx context.Context, result *mcp.ListToolsResult) {
	if mcpserver.IsModernRequest(ctx) || !peerOf(ctx).Apps {
		result.Tools = slices.DeleteFunc(result.Tools, func(t mcp.Tool) bool { return t.Name == s.viewTool })
	}
}
