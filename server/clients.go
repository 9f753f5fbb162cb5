package server

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// client is what is known of an MCP client by the name it gives itself.
type client struct {
	prefix string // of the name, lower case
	// tool is the variant that works best there.
	tool string
	// sessionPerCall says that it opens a session for each call, so that its
	// session ids name no conversation.
	sessionPerCall bool
}

// clients is the table behind "auto": never a name that the client hides or
// mistakes for a built-in of its own. Gemini CLI hides write_todos; kimi-cli
// has its own SetTodoList.
func clients() []client {
	return []client{
		{prefix: "claude", tool: "TodoWrite"},
		{prefix: "cursor", tool: "TodoWrite"},
		{prefix: "visual studio code", tool: "TodoWrite"},
		{prefix: "vscode", tool: "TodoWrite"},
		{prefix: "gemini-cli", tool: "TodoWrite"},
		{prefix: "codex", tool: "TodoWrite"},
		{prefix: "opencode", tool: "TodoWrite"},
		{prefix: "qwen", tool: "TodoWrite"},
		{prefix: "continue", tool: "TodoWrite"},
		{prefix: "zed", tool: "TodoWrite"},
		{prefix: "kimi", tool: "TodoWrite"},
		{prefix: "goose", tool: "TodoWrite"},
		{prefix: "openai-mcp", tool: "TodoWrite", sessionPerCall: true},
	}
}

func knownClient(name string) client {
	name = strings.ToLower(name)
	for _, c := range clients() {
		if strings.HasPrefix(name, c.prefix) {
			return c
		}
	}
	return client{}
}

// bestTool is the one tool to list to a client; empty for all.
func bestTool(clientName string) string { return knownClient(clientName).tool }

// clientOf returns the calling client: as the request itself says (2026-07-28),
// else as its session did.
func clientOf(ctx context.Context) mcp.Implementation {
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		return *info.ClientInfo
	}
	return peerOf(ctx).Client
}
