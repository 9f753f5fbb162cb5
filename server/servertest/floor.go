package servertest

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// Plan returns arguments of TodoWrite for a plan. The item at the index "now" is in
// progress; the items before it are completed, and those after it are pending.
func Plan(items, now int) string {
	out := make([]string, items)
	for i := range out {
		status := []string{"completed", "in_progress", "pending"}[1+cmp.Compare(i, now)]
		out[i] = fmt.Sprintf(`{"content":"Step %d: change what the plan says","activeForm":"Changing what the plan says in step %d","status":%q}`, i+1, i+1, status)
	}
	return `{"todos":[` + strings.Join(out, ",") + `]}`
}

// Todo is an item as TodoWrite gets it.
type Todo struct {
	Content    string `json:"content" jsonschema:"required"`
	ActiveForm string `json:"activeForm" jsonschema:"required"`
	Status     string `json:"status" jsonschema:"required"`
}

// Floor returns a server on the bare library mcp-go, with a TodoWrite that keeps
// nothing: it reads the items and answers with a text and the items. A call of any
// server on that library costs at least as much as a call of this one.
func Floor() *mcpserver.MCPServer {
	type todos struct {
		Todos []Todo `json:"todos" jsonschema:"required"`
	}
	s := mcpserver.NewMCPServer("floor", "1")
	tool := mcp.NewTool("TodoWrite", mcp.WithDescription("Writes a todo list."), mcp.WithInputSchema[todos]())
	s.AddTool(tool, func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args todos
		if err := req.BindArguments(&args); err != nil {
			return nil, err
		}
		return mcp.NewToolResultStructured(args, fmt.Sprintf("Todo list updated: %d items", len(args.Todos))), nil
	})
	return s
}
