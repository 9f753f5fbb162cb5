package render

import "strings"

// Agent is how people are shown the client that an agent works in.
type Agent struct {
	Name  string // as people say it; safe to show
	Glyph string // the id of its own plain shape, see agents; "agent" for others
}

// agent is one client that is known by how its name begins.
type agent struct{ prefix, name, glyph string }

// agents are the known clients; the first whose prefix fits counts.
func agents() []agent {
	return []agent{
		{"claude-code", "Claude Code", "claude"}, {"claude", "Claude Desktop", "desk"},
		{"codex", "Codex", "codex"}, {"cursor", "Cursor", "cursor"}, {"gemini", "Gemini CLI", "gemini"},
		{"visual studio code", "VS Code", "code"}, {"vscode", "VS Code", "code"}, {"opencode", "opencode", "open"},
		{"github-copilot", "Copilot CLI", "agent"}, {"copilot", "Copilot CLI", "agent"}, {"qwen", "Qwen Code", "agent"},
		{"@cline", "Cline", "agent"}, {"continue", "Continue", "agent"}, {"zed", "Zed", "agent"}, {"kilo", "Kilo Code", "agent"},
		{"kimi", "Kimi CLI", "agent"}, {"goose", "goose", "agent"}, {"grok", "Grok CLI", "agent"}, {"openai", "ChatGPT", "agent"},
		{"panel", "You", "you"}, {"command line", "Command line", "agent"},
	}
}

// AgentOf returns how people are shown a client by the name that it gives itself.
// An unknown client keeps its name; one without a name is "An agent".
func AgentOf(client string) Agent {
	name := strings.ToLower(client)
	for _, a := range agents() {
		if strings.HasPrefix(name, a.prefix) {
			return Agent{a.name, a.glyph}
		}
	}
	if client == "" {
		return Agent{"An agent", "agent"}
	}
	return Agent{Safe(client), "agent"}
}
