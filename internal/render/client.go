package render

import "strings"

// Client returns how people call the client that names itself so in MCP: "Claude
// Code" for claude-code. An unknown name is made safe to display and otherwise
// stays as it is.
func Client(name string) string {
	lower := strings.ToLower(name)
	for _, c := range clientNames() {
		if strings.HasPrefix(lower, c.prefix) {
			return c.name
		}
	}
	return Safe(name)
}

type clientName struct{ prefix, name string }

// clientNames returns the names of known clients. The first whose prefix fits
// counts.
func clientNames() []clientName {
	return []clientName{
		{"claude-code", "Claude Code"},
		{"claude", "Claude"},
		{"cursor", "Cursor"},
		{"visual studio code", "VS Code"},
		{"vscode", "VS Code"},
		{"gemini-cli", "Gemini CLI"},
		{"codex", "Codex"},
		{"copilot", "Copilot CLI"},
		{"github-copilot", "Copilot CLI"},
		{"opencode", "opencode"},
		{"kilo", "Kilo Code"},
		{"qwen", "Qwen Code"},
		{"@cline/core", "Cline"},
		{"continue", "Continue"},
		{"zed", "Zed"},
		{"kimi-code", "Kimi Code"},
		{"kimi", "Kimi CLI"},
		{"goose", "Goose"},
		{"grok", "Grok"},
		{"openai-mcp", "ChatGPT"},
	}
}
