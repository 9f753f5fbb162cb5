package server

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/clients"
)

// usualTool is the one tool that is listed for "auto": most models know it. A client that
// hides or confuses its name would need another one; Gemini CLI hides write_todos, and
// kimi-cli has a SetTodoList.
const usualTool = "TodoWrite"

// clientOf returns the calling client: the clientInfo of the request itself
// (2026-07-28), else that of its session.
func clientOf(ctx context.Context) mcp.Implementation {
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		return *info.ClientInfo
	}
	return PeerOf(ctx).Client
}

// knownClient returns what is known of the calling client.
func knownClient(ctx context.Context) clients.Client { return clients.Find(clientOf(ctx).Name) }
