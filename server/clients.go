package server

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// client describes a known MCP client.
type client struct {
	prefix string // of its name in clientInfo, in lower case
	// tool is the variant that works best with it.
	tool string
	// sessionPerCall is true when the client opens a session for each call, so
	// that its session ids do not identify a conversation.
	sessionPerCall bool
}

// clients returns the table behind "auto". It names no tool that the client
// hides or confuses with a built-in one: Gemini CLI hides write_todos, and
// kimi-cli has a SetTodoList.
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

// knownClient returns the client with a name; the zero client when it is
// unknown.
func knownClient(name string) client {
	name = strings.ToLower(name)
	for _, c := range clients() {
		if strings.HasPrefix(name, c.prefix) {
			return c
		}
	}
	return client{}
}

// bestTool returns the name of the one tool to list to a client; empty means all
// tools.
func bestTool(clientName string) string { return knownClient(clientName).tool }

// clientOf returns the calling client: the clientInfo of the request itself
// (2026-07-28), else that of its session.
func clientOf(ctx context.Context) mcp.Implementation {
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		return *info.ClientInfo
	}
	return peerOf(ctx).Client
}
