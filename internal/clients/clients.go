// Package clients is the table of the MCP clients that are known: what each calls
// itself, what it does otherwise than others, and how servers are added to it.
package clients

import (
	"slices"
	"strings"
	"sync"
)

// Client is a known MCP client.
type Client struct {
	// Name is what people type, Title what they read.
	Name, Title string
	// Prefixes begin its name in clientInfo, in lower case.
	Prefixes []string
	// Glyph is the id of its own plain shape; empty for one that has none.
	Glyph string
	// SessionPerCall is true when the client opens a session for each call, so
	// that its session ids do not identify a conversation.
	SessionPerCall bool
	// SharesConnection is true when all chats of the program or its window go through
	// one process or session, so that a connection is no conversation.
	SharesConnection bool
	// ByHost is true when its hooks know its chats, and the host's process alone tells a server which
	// calls it.
	ByHost bool
	// Variable is the environment variable by which it tells a server on stdio
	// its id of the chat: a hint, see server.Server.
	Variable string
	// Resume is the command that goes on with a chat, whose id is its last word; empty when
	// it has none.
	Resume string
	// ChatID is the field of _meta in which it sends its id of the chat: proof.
	ChatID string
	// AnswersRoots is true when it answers a question for its roots in the
	// sessionless protocol.
	AnswersRoots bool
	Sees         Sight
	// FoldsNames is true when names of tools that differ in case and underscores alone are
	// one to it: it checks a call of one by the schema of another.
	FoldsNames bool
	// Tools are the todo tools that its models know best, beside the one that any model
	// knows; "all" is every tool.
	Tools []string
	// Setup is how `todo-mcp install` adds a server to it; nil for a client that it does not
	// know.
	Setup *Setup
}

// Sight is what a client shows its model of a tool's result
// (docs/spec/protocol.md, "Hosts").
type Sight string

// The kinds of sight. A client that was not measured has an empty one.
const (
	SeesText              Sight = "text"
	SeesStructuredInstead Sight = "structured instead of text" // the text when there is no structured content
	SeesBoth              Sight = "text and structured"
	SeesWholeResult       Sight = "whole result" // as JSON, with its _meta
)

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

// All returns the table. The first row that has a prefix of a name counts. Each call
// reads it, and none changes it.
var All = sync.OnceValue(func() []Client {
	return []Client{
		{Name: "claude-code", Title: "Claude Code", Prefixes: []string{"claude-code"}, Glyph: "claude", Variable: "CLAUDE_CODE_SESSION_ID", AnswersRoots: true, Sees: SeesStructuredInstead, Resume: "claude --resume", Setup: &Setup{
			Programs: []string{"claude"}, Files: []string{"$CLAUDE_CONFIG_DIR/.claude.json|~/.claude.json"},
			Stdio: typedStdio, HTTP: typedHTTP, Allow: Allow{ClaudeFile, "permissions/allow/-", `"mcp__NAME"`},
		}},
		{Name: "claude-desktop", Title: "Claude Desktop", Prefixes: []string{"claude"}, Glyph: "desk", SharesConnection: true, Setup: &Setup{
			Programs: []string{}, IsDesktop: true, After: "quit and start it again",
			// As an app of the Store it has another folder in the place of the usual one.
			Files: []string{"windows:$local/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json|" +
				"$config/Claude/claude_desktop_config.json"},
			NoHTTP: "its settings have servers over HTTP under Connectors, by an address that the internet reaches",
		}},
		{Name: "cursor", Title: "Cursor", Prefixes: []string{"cursor"}, Glyph: "cursor", SharesConnection: true, Tools: []string{"todo_write"}, Setup: &Setup{
			Programs: []string{"cursor", "cursor-agent"}, Files: []string{"~/.cursor/mcp.json"}, IsDesktop: true,
			After: "turn the server on in its settings under MCP",
		}},
		{Name: "vscode", Title: "VS Code", Prefixes: []string{"visual studio code", "vscode"}, Glyph: "code", SharesConnection: true, ChatID: MetaVSCode, Setup: &Setup{
			Programs: []string{"code", "code-insiders"}, IsDesktop: true, Servers: "servers",
			Files: []string{"$config/Code/User/mcp.json", "$config/Code - Insiders/User/mcp.json", "~/.vscode-server/data/User/mcp.json"},
			Stdio: typedStdio, HTTP: typedHTTP, After: "start the server by the command MCP: List Servers; files of your other profiles are not looked for",
		}},
		{Name: "antigravity", Title: "Antigravity", Prefixes: []string{"antigravity"}, SharesConnection: true, ChatID: MetaAntigravity},
		{Name: "zcode", Title: "ZCode", Prefixes: []string{"zcode"}, SharesConnection: true, ChatID: MetaZCode},
		{Name: "windsurf", Title: "Windsurf", Prefixes: []string{"windsurf"}, SharesConnection: true, Setup: &Setup{
			Files: []string{"~/.codeium/windsurf/mcp_config.json"}, HTTP: "serverUrl", IsDesktop: true,
			After: "refresh its list of MCP servers",
		}},
		{Name: "codex", Title: "Codex", Prefixes: []string{"codex"}, Glyph: "codex", Sees: SeesStructuredInstead, ChatID: MetaCodexThread, Resume: "codex resume", Tools: []string{"update_plan"}, Setup: &Setup{
			Files: []string{"$CODEX_HOME/config.toml|~/.codex/config.toml"}, Servers: "mcp_servers",
			HTTP: `url, env_http_headers: {"` + FolderHeader + `": "PWD"}`,
		}},
		{Name: "gemini", Title: "Gemini CLI", Prefixes: []string{"gemini-cli", "gemini"}, ByHost: true, Glyph: "gemini", Sees: SeesText, Resume: "gemini --resume", Setup: &Setup{
			After: "start a new session, in a folder that you told it to trust: elsewhere it turns servers off",
			Files: []string{GeminiFile}, Allow: Allow{"", trustPath, "true"}, HTTP: "httpUrl", // in earlier versions url was one of SSE
		}},
		{Name: "copilot", Title: "Copilot CLI", Prefixes: []string{"copilot", "github-copilot"}, Variable: "COPILOT_AGENT_SESSION_ID", Sees: SeesBoth, Resume: "copilot --resume", Setup: &Setup{
			Files: []string{"$COPILOT_HOME/mcp-config.json|~/.copilot/mcp-config.json"},
			Stdio: `type: "local", command, args, tools: ["*"]`, HTTP: typedHTTP + `, tools: ["*"], headers: {"` + FolderHeader + `": "${PWD}"}`,
		}},
		{Name: "opencode", Title: "opencode", Prefixes: []string{"opencode"}, Glyph: "open", Sees: SeesText, ChatID: MetaOpencode, Resume: "opencode --session", Tools: []string{"todowrite"}, Setup: &Setup{
			Files:   []string{"$xdg/opencode/opencode.json", "$xdg/opencode/opencode.jsonc", "$xdg/opencode/config.json"},
			Servers: "mcp", Stdio: opencodeStdio, HTTP: opencodeHTTP,
		}},
		{Name: "kilo", Title: "Kilo Code", Prefixes: []string{"kilo"}, Sees: SeesText, Tools: []string{"todowrite"}, Setup: &Setup{
			Files:   []string{"$xdg/kilo/kilo.json", "$xdg/kilo/kilo.jsonc"}, // its forerunner is opencode
			Servers: "mcp", Stdio: opencodeStdio, HTTP: opencodeHTTP,
		}},
		{Name: "qwen", Title: "Qwen Code", Prefixes: []string{"qwen"}, Variable: "QWEN_CODE_SESSION_ID", Sees: SeesBoth, Resume: "qwen --resume", FoldsNames: true, Tools: []string{"todo_write"}, Setup: &Setup{
			Files: []string{QwenFile}, HTTP: "httpUrl", Allow: Allow{"", trustPath, "true"},
		}},
		{Name: "cline", Title: "Cline", Prefixes: []string{"@cline/core"}, Sees: SeesWholeResult, Setup: &Setup{
			// The second is the extension's file before it shared the files of the command.
			Files: []string{
				"$CLINE_MCP_SETTINGS_PATH|$CLINE_DATA_DIR/settings/" + clineFile + "|$CLINE_DIR/data/settings/" + clineFile +
					"|~/.cline/data/settings/" + clineFile,
				"$config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/" + clineFile,
			},
			IsDesktop: true, // it is an extension of editors, too
			HTTP:      `type: "streamableHttp", url`, After: "start a new task",
		}},
		{Name: "continue", Title: "Continue", Prefixes: []string{"continue"}, Sees: SeesText},
		{Name: "zed", Title: "Zed", Prefixes: []string{"zed"}, SharesConnection: true, Setup: &Setup{
			Files: []string{"windows:$config/Zed/settings.json|linux:$FLATPAK_XDG_CONFIG_HOME/zed/settings.json|" +
				"linux:$xdg/zed/settings.json|~/.config/zed/settings.json"},
			// Versions of 2025 need the source.
			IsDesktop: true, Servers: "context_servers", Stdio: `source: "custom", command, args`, After: "start a new thread",
			Allow: Allow{"", "agent/tool_permissions/tools/mcp:NAME:TodoWrite/default", `"allow"`},
		}},
		{Name: "jetbrains", Title: "JetBrains", Prefixes: []string{"jetbrains"}, SharesConnection: true},
		{Name: "lmstudio", Title: "LM Studio", Prefixes: []string{"lm studio", "lmstudio"}, SharesConnection: true},
		{Name: "kimi", Title: "Kimi Code", Prefixes: []string{"kimi-code"}, ByHost: true, Sees: SeesWholeResult, Tools: []string{"TodoList"}, Setup: &Setup{
			Files: []string{"$KIMI_CODE_HOME/mcp.json|~/.kimi-code/mcp.json", "~/.kimi/mcp.json"}, // of its forerunner, kimi-cli
		}},
		{Name: "kimi-cli", Title: "Kimi CLI", Prefixes: []string{"kimi"}},
		{Name: "goose", Title: "Goose", Prefixes: []string{"goose"}, SharesConnection: true, Setup: &Setup{
			Files: []string{"$GOOSE_PATH_ROOT/config/config.yaml|windows:$config/Block/goose/config/config.yaml|" +
				"$xdg/goose/config.yaml"},
			Servers: "extensions",
			Stdio:   `type: "stdio", name, cmd, args, ` + gooseMore,
			HTTP:    `type: "streamable_http", name, uri, ` + gooseMore,
		}},
		{Name: "crush", Title: "Crush", Prefixes: []string{"crush"}, Tools: []string{"todos"}, Setup: &Setup{
			Files:   []string{"$CRUSH_GLOBAL_CONFIG/crush.json|$xdg/crush/crush.json"},
			Servers: "mcp", Stdio: typedStdio, HTTP: typedHTTP, Allow: Allow{"", "permissions/allowed_tools/-", `"mcp_NAME_todos"`},
		}},
		{Name: "grok", Title: "Grok", Prefixes: []string{"grok"}, Variable: "GROK_SESSION_ID", Tools: []string{"todo_write"}},
		{Name: "chatgpt", Title: "ChatGPT", Prefixes: []string{"openai-mcp"}, SessionPerCall: true, Tools: []string{"update_plan"}},
		{Name: "inspector", Title: "MCP Inspector", Prefixes: []string{"inspector", "mcp-inspector"}, Tools: []string{"all"}},
	}
})

// Fields of _meta in which clients send their ids of a chat.
const (
	MetaCodexThread = "threadId"
	MetaVSCode      = "vscode.conversationId"
	MetaOpencode    = "ai.opencode/sessionID" // of version 2
	MetaAntigravity = "antigravity.google/conversation_id"
	MetaZCode       = "com.zcode/request-context" // an object with session_id
)

// Find returns the client that calls itself by a name in clientInfo; the zero client
// when it is unknown.
func Find(clientInfo string) Client {
	clientInfo = strings.ToLower(clientInfo)
	begins := func(prefix string) bool { return strings.HasPrefix(clientInfo, prefix) }
	for _, c := range All() {
		if slices.ContainsFunc(c.Prefixes, begins) {
			return c
		}
	}
	return Client{}
}
