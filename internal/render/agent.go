package render

import (
	"strings"

	"todo-mcp/internal/todo"
)

// Agent is how people are shown the client that an agent works in.
type Agent struct {
	Name  string // as people say it; safe to show
	Glyph string // the id of its own plain shape, see agents; otherGlyph for most
}

const otherGlyph = "agent"

// agent is one client that is known by how its name begins.
type agent struct{ prefix, name, glyph string }

// agents are the known clients; the first whose prefix fits counts.
func agents() []agent {
	return []agent{
		{"claude-code", "Claude Code", "claude"}, {"claude", "Claude", "desk"},
		{"codex", "Codex", "codex"}, {"cursor", "Cursor", "cursor"}, {"gemini", "Gemini CLI", "gemini"},
		{"visual studio code", "VS Code", "code"}, {"vscode", "VS Code", "code"}, {"opencode", "opencode", "open"},
		{"github-copilot", "Copilot CLI", otherGlyph}, {"copilot", "Copilot CLI", otherGlyph}, {"qwen", "Qwen Code", otherGlyph},
		{"@cline", "Cline", otherGlyph}, {"continue", "Continue", otherGlyph}, {"zed", "Zed", otherGlyph}, {"kilo", "Kilo Code", otherGlyph},
		{"kimi-code", "Kimi Code", otherGlyph}, {"kimi", "Kimi CLI", otherGlyph}, {"goose", "Goose", otherGlyph},
		{"windsurf", "Windsurf", otherGlyph}, {"antigravity", "Antigravity", otherGlyph}, {"zcode", "ZCode", otherGlyph},
		{"jetbrains", "JetBrains", otherGlyph}, {"lm studio", "LM Studio", otherGlyph}, {"lmstudio", "LM Studio", otherGlyph},
		{"grok", "Grok", otherGlyph}, {"openai", "ChatGPT", otherGlyph}, {"panel", "You", "you"},
	}
}

// Writer returns who made a revision: the agent, or for a person you, with the name
// of the user where one is signed in.
func Writer(w todo.Writer, agent, you string) string {
	switch {
	case w.User == "" && w.Person:
		return you
	case w.Person:
		return Safe(w.User)
	case w.User == "":
		return agent
	}
	return agent + " for " + Safe(w.User)
}

// AgentOf returns how people are shown a client by the name that it gives itself
// in MCP. An unknown client keeps its name; one without a name is "An agent".
func AgentOf(client string) Agent {
	name := strings.ToLower(client)
	for _, a := range agents() {
		if strings.HasPrefix(name, a.prefix) {
			return Agent{a.name, a.glyph}
		}
	}
	if client == "" {
		return Agent{"An agent", otherGlyph}
	}
	return Agent{Safe(client), otherGlyph}
}

// Client returns the name of a client's agent, or empty if it has none: for lines
// that leave out what is not known.
func Client(name string) string {
	if name == "" {
		return ""
	}
	return AgentOf(name).Name
}
