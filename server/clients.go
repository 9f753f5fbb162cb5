package server

import (
	"cmp"
	"context"
	"strings"
	"sync"

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
	// variable is the environment variable by which it tells a server on stdio
	// its id of the chat: a hint, see Server.environment.
	variable string
	// sharesConnection is true when all chats of the program or its window go through
	// one process or session, so that a connection is no conversation.
	sharesConnection bool
	// answersRoots is true when it answers a question for its roots in the
	// sessionless protocol, see Server.askForRoots.
	answersRoots bool
	sees         Sight
	// chatID is the field of _meta in which it sends its id of the chat: proof.
	chatID string
	// evidence says how it is known what chats and connections are to the client: it was
	// run, or its source was read; neither is what its kind of program does.
	evidence evidence
}

// evidence is how something is known of a client.
type evidence string

const (
	wasRun  evidence = "run"
	wasRead evidence = "its source"
)

// environment returns the variables that may carry the id of a chat.
func (c client) environment() []string {
	if c.variable == "" {
		return nil
	}
	return []string{c.variable}
}

// Sight is what a client shows its model of a tool's result
// (docs/spec/protocol.md, "Hosts").
type Sight string

// The empty sight is that of a client that was not measured.
const (
	SeesText              Sight = "text"
	SeesStructuredInstead Sight = "structured instead of text" // the text when there is no structured content
	SeesBoth              Sight = "text and structured"
	SeesWholeResult       Sight = "whole result" // as JSON, with its _meta
)

// hasStructured reports whether the model is shown structured content.
func (s Sight) hasStructured() bool {
	return s == SeesStructuredInstead || s == SeesBoth || s == SeesWholeResult
}

// Shown returns what the model is shown of a result: of its text, its structured
// content, which is empty if there is none, and the whole of it as JSON.
func (s Sight) Shown(text, structured, whole string) string {
	switch {
	case s == SeesWholeResult:
		return whole
	case s == SeesBoth:
		return text + structured
	case s == SeesStructuredInstead && structured != "":
		return structured
	}
	return text
}

// clients returns the table behind the "auto" of --tools and --structured. The
// first row whose prefix fits counts. It names no tool that the client hides or
// confuses with a built-in one: Gemini CLI hides write_todos, and kimi-cli has a
// SetTodoList. Each call reads it, and none changes it.
var clients = sync.OnceValue(func() []client {
	return []client{
		{prefix: "claude-code", tool: "TodoWrite", variable: "CLAUDE_CODE_SESSION_ID", answersRoots: true, sees: SeesStructuredInstead, evidence: wasRun},
		{prefix: "claude", tool: "TodoWrite", sharesConnection: true}, // Claude Desktop is claude-ai
		{prefix: "cursor", tool: "TodoWrite", sharesConnection: true},
		{prefix: "visual studio code", tool: "TodoWrite", sharesConnection: true, chatID: metaVSCode, evidence: wasRead},
		{prefix: "vscode", tool: "TodoWrite", sharesConnection: true, chatID: metaVSCode, evidence: wasRead},
		{prefix: "antigravity", tool: "TodoWrite", sharesConnection: true, chatID: metaAntigravity, evidence: wasRead},
		{prefix: "zcode", tool: "TodoWrite", sharesConnection: true, chatID: metaZCode, evidence: wasRead},
		{prefix: "windsurf", tool: "TodoWrite", sharesConnection: true},
		{prefix: "gemini-cli", tool: "TodoWrite", sees: SeesText, evidence: wasRun},
		{prefix: "codex", tool: "TodoWrite", sees: SeesStructuredInstead, chatID: metaCodexThread, evidence: wasRun},
		{prefix: "copilot", tool: "TodoWrite", variable: "COPILOT_AGENT_SESSION_ID", sees: SeesBoth, evidence: wasRun},
		{prefix: "github-copilot", tool: "TodoWrite", variable: "COPILOT_AGENT_SESSION_ID", sees: SeesBoth, evidence: wasRun}, // Copilot CLI as well
		{prefix: "opencode", tool: "TodoWrite", sees: SeesText, chatID: metaOpencode, evidence: wasRun},
		{prefix: "kilo", tool: "TodoWrite", sees: SeesText, evidence: wasRun},
		{prefix: "qwen", tool: "TodoWrite", variable: "QWEN_CODE_SESSION_ID", sees: SeesBoth, evidence: wasRun},
		{prefix: "@cline/core", tool: "TodoWrite", sees: SeesWholeResult, evidence: wasRun},
		{prefix: "continue", tool: "TodoWrite", sees: SeesText, evidence: wasRun},
		{prefix: "zed", tool: "TodoWrite", sharesConnection: true},
		{prefix: "jetbrains", tool: "TodoWrite", sharesConnection: true},
		{prefix: "lm studio", tool: "TodoWrite", sharesConnection: true},
		{prefix: "lmstudio", tool: "TodoWrite", sharesConnection: true},
		{prefix: "kimi-code", tool: "TodoWrite", sees: SeesWholeResult, evidence: wasRun},
		{prefix: "kimi", tool: "TodoWrite"},
		{prefix: "goose", tool: "TodoWrite", sharesConnection: true},
		{prefix: "grok", tool: "TodoWrite", variable: "GROK_SESSION_ID", evidence: wasRead},
		{prefix: "openai-mcp", tool: "TodoWrite", sessionPerCall: true},
	}
})

// KnownClient is a client of which the server knows how its name begins, in lower
// case, and what it shows its model.
type KnownClient struct {
	Prefix string
	Sees   Sight
}

// KnownClients returns all clients that the server knows.
func KnownClients() (known []KnownClient) {
	for _, c := range clients() {
		known = append(known, KnownClient{c.prefix, c.sees})
	}
	return known
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

// usualTool is the tool that most models know, listed to clients that are not
// known.
const usualTool = "TodoWrite"

// bestTool returns the name of the one tool to list to a client.
func bestTool(clientName string) string { return cmp.Or(knownClient(clientName).tool, usualTool) }

// clientOf returns the calling client: the clientInfo of the request itself
// (2026-07-28), else that of its session.
func clientOf(ctx context.Context) mcp.Implementation {
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		return *info.ClientInfo
	}
	return peerOf(ctx).Client
}
