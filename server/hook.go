package server

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
)

// hookTool is the tool that a host's hook calls, which is in no list: a process less for each
// event than a command.
const hookTool = "todo_hook"

// addHook adds the tool. Its answer is what the host reads of a hook, and an event that is
// not understood changes nothing.
func (s *Server) addHook() {
	s.mcp.AddTool(mcp.NewToolWithRawSchema(hookTool, "", nil), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := identified(ctx, req.Params.Meta)
		r.tool = hookTool
		if r.arguments = r.message.Arguments; r.arguments == nil {
			r.arguments = req.Params.RawArguments
		}
		answer, err := s.Hook(r.ctx, r.lists, r.arguments)
		if err != nil {
			r.errorType = errorTool
			return mcp.NewToolResultError("Error: " + err.Error()), nil
		}
		return mcp.NewToolResultText(string(answer)), nil
	})
}
