// Package clients is the table of known MCP clients: their names, how they differ, and how to add a server to them.
package clients

import (
	"slices"
	"strings"
	"sync"
)

// Client is a known MCP client.
type Client struct {
	Name, Title      string   // what people type, and what they read
	Prefixes         []string // of its name in clientInfo, in lower case
	Glyph            string   // id of its shape on the panel; may be empty
	SessionPerCall   bool     // opens a session for each call, so a session id does not identify a chat
	SharesConnection bool     // sends all chats of a program or window through one process or session
	ByHost           bool     // its hooks know chats, but only the host's process links a call to a chat
	Variable         string   // environment variable with its chat id, a hint for servers on stdio
	Resume           string   // command that resumes a chat, without the chat id at its end; may be empty
	ChatID           string   // field of _meta with its chat id, a proof
	AnswersRoots     bool     // answers a request for its roots in the sessionless protocol
	Sees             Sight
	FoldsNames       bool     // treats tool names that differ only in case and underscores as one tool
	Tools            []string // tools its models know best, in addition to the common one; "all" means every tool
	Setup            *Setup   // how `todo-mcp install` adds a server; nil if it cannot
}

// Sight is the part of a tool's result that a client shows its model (docs/spec/protocol.md, "Hosts").
type Sight string

// The kinds of sight. A client that was not measured has an empty Sight.
const (
	SeesText              Sight = "text"
	SeesStructuredInstead Sight = "structured instead of text" // text if there is no structured content
	SeesBoth              Sight = "text and structured"
	SeesWholeResult       Sight = "whole result" // as JSON, with its _meta
)

// Shown returns the part of a result that the model sees. structured may be empty; whole is the result as JSON.
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

// All returns the table, which callers must not change. The first row with a matching prefix applies.
var All = sync.OnceValue(func() []Client {
	return []Client{
		{Name: "claude-code", Title: "Claude Code", Prefixes: []string{"claude-code"}, Glyph: "claude", Variable: "CLAUDE_CODE_SESSION_ID", AnswersRoots: true, Sees: SeesStructuredInstead, Resume: "claude --resume", Setup: &Setup{
			Programs: []string{"claude"}, Files: []string{"$CLAUDE_CONFIG_DIR/.claude.json|~/.claude.json"},
			Stdio: typedStdio, HTTP: typedHTTP, Allow: Allow{ClaudeFile, "permissions/allow/-", `"mcp__NAME"`},
		}},
		{Name: "claude-desktop", Title: "Claude Desktop", Prefixes: []string{"claude"}, Glyph: "desk", SharesConnection: true, Setup: &Setup{
			IsDesktop: true, After: "quit and start it again",
			// The first folder is for the app from the Microsoft Store.
			Files: []string{"windows:$local/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json|" +
				"$config/Claude/claude_desktop_config.json"},
			NoHTTP: "its settings have servers over HTTP under Connectors, by an address that the internet reaches",
		}},
		{Name: "cursor", Title: "Cursor", Prefixes: []string{"cursor"}, Glyph: "cursor", SharesConnection: true, Tools: []string{"todo_write"}, Setup: &Setup{
			Programs: []string{"cursor-agent"}, Files: []string{"~/.cursor/mcp.json"}, IsDesktop: true,
			After: "turn the server on in its settings under MCP",
		}},
		{Name: "vscode", Title: "VS Code", Prefixes: []string{"visual studio code", "vscode"}, Glyph: "code", SharesConnection: true, ChatID: "vscode.conversationId", Setup: &Setup{
			Programs: []string{"code", "code-insiders"}, IsDesktop: true, Servers: "servers",
			Files: []string{"$config/Code/User/mcp.json", "$config/Code - Insiders/User/mcp.json", "~/.vscode-server/data/User/mcp.json"},
			Stdio: typedStdio, HTTP: typedHTTP, After: "start the server by the command MCP: List Servers; files of your other profiles are not looked for",
		}},
		{Name: "antigravity", Title: "Antigravity", Prefixes: []string{"antigravity"}, SharesConnection: true, ChatID: "antigravity.google/conversation_id"},
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
			Files: []string{GeminiFile}, Allow: Allow{"", trustPath, "true"}, HTTP: "httpUrl", // earlier versions use url for SSE
		}},
		{Name: "copilot", Title: "Copilot CLI", Prefixes: []string{"copilot", "github-copilot"}, Variable: "COPILOT_AGENT_SESSION_ID", Sees: SeesBoth, Resume: "copilot --resume", Setup: &Setup{
			Files: []string{"$COPILOT_HOME/mcp-config.json|~/.copilot/mcp-config.json"},
			Stdio: `type: "local", command, args, tools: ["*"]`, HTTP: typedHTTP + `, tools: ["*"], headers: {"` + FolderHeader + `": "${PWD}"}`,
		}},
		{Name: "opencode", Title: "opencode", Prefixes: []string{"opencode"}, Glyph: "open", Sees: SeesText, ChatID: "ai.opencode/sessionID", Resume: "opencode --session", Tools: []string{"todowrite"}, Setup: &Setup{
			Files:   []string{"$xdg/opencode/opencode.json", "$xdg/opencode/opencode.jsonc", "$xdg/opencode/config.json"},
			Servers: "mcp", Stdio: opencodeStdio, HTTP: opencodeHTTP,
		}},
		{Name: "kilo", Title: "Kilo Code", Prefixes: []string{"kilo"}, Sees: SeesText, Tools: []string{"todowrite"}, Setup: &Setup{
			Files:   []string{"$xdg/kilo/kilo.json", "$xdg/kilo/kilo.jsonc"}, // a fork of opencode
			Servers: "mcp", Stdio: opencodeStdio, HTTP: opencodeHTTP,
		}},
		{Name: "qwen", Title: "Qwen Code", Prefixes: []string{"qwen"}, Variable: "QWEN_CODE_SESSION_ID", Sees: SeesBoth, Resume: "qwen --resume", FoldsNames: true, Tools: []string{"todo_write"}, Setup: &Setup{
			Files: []string{QwenFile}, HTTP: "httpUrl", Allow: Allow{"", trustPath, "true"},
		}},
		{Name: "cline", Title: "Cline", Prefixes: []string{"@cline/core"}, Sees: SeesWholeResult, Setup: &Setup{
			// The last file is of older versions of the extension.
			Files: []string{
				"$CLINE_MCP_SETTINGS_PATH|$CLINE_DATA_DIR/settings/" + clineFile + "|$CLINE_DIR/data/settings/" + clineFile +
					"|~/.cline/data/settings/" + clineFile,
				"$config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/" + clineFile,
			},
			IsDesktop: true, // also an extension of editors
			HTTP:      `type: "streamableHttp", url`, After: "start a new task",
		}},
		{Name: "continue", Title: "Continue", Prefixes: []string{"continue"}, Sees: SeesText},
		{Name: "zed", Title: "Zed", Prefixes: []string{"zed"}, SharesConnection: true, Setup: &Setup{
			Files: []string{"windows:$config/Zed/settings.json|linux:$FLATPAK_XDG_CONFIG_HOME/zed/settings.json|" +
				"linux:$xdg/zed/settings.json|~/.config/zed/settings.json"},
			// Zed's versions of 2025 require the key source.
			IsDesktop: true, Servers: "context_servers", Stdio: `source: "custom", command, args`, After: "start a new thread",
			Allow: Allow{"", "agent/tool_permissions/tools/mcp:NAME:TodoWrite/default", `"allow"`},
		}},
		{Name: "jetbrains", Title: "JetBrains", Prefixes: []string{"jetbrains"}, SharesConnection: true},
		{Name: "lmstudio", Title: "LM Studio", Prefixes: []string{"lm studio", "lmstudio"}, SharesConnection: true},
		{Name: "kimi", Title: "Kimi Code", Prefixes: []string{"kimi-code"}, ByHost: true, Sees: SeesWholeResult, Tools: []string{"TodoList"}, Setup: &Setup{
			Files: []string{"$KIMI_CODE_HOME/mcp.json|~/.kimi-code/mcp.json", "~/.kimi/mcp.json"}, // the last is kimi-cli's
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

// Fields of _meta whose value is not simply the id of a main agent's chat, as a text.
const (
	MetaCodexThread = "threadId"                  // the id of a chat or a sub-agent
	MetaZCode       = "com.zcode/request-context" // an object with session_id
)

// Find returns the client with a name in clientInfo; the zero Client if it is unknown.
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
