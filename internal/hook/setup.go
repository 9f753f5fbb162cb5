package hook

import (
	_ "embed"
	"encoding/json"
	"strings"

	"todo-mcp/tools"
)

// Setup is how a client is told to run a hook.
type Setup struct {
	// Client is the client's name, as `todo-mcp install` knows it.
	Client string
	// File is the path of the file that says so, with slashes, below the folder that
	// the variable Variable names, or that is called Folder in the user's home.
	Folder, Variable, File string
	// Entries are the hooks. A client without any has a plugin instead, see
	// [Setup.Plugin].
	Entries []Entry
	// flat is true when the file has no group of hooks around each, and second is how
	// many of the client's units of time are one second.
	flat   bool
	second int
}

// Entry is a hook: when it is run.
type Entry struct {
	Event string
	// Matcher says for which tools, or starts, as the client matches them; empty is
	// all.
	Matcher string
}

// Setups returns the clients whose hooks are known, with the events that each needs
// one for: others would start a process for nothing. Events and files are from the
// programs themselves, Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0 and
// opencode 1.18.33, and from Cursor's documentation, as of November 2026.
func Setups() []Setup {
	return []Setup{
		{Client: "claude-code", Folder: ".claude", Variable: "CLAUDE_CONFIG_DIR", File: "settings.json", second: 1, Entries: []Entry{
			{"PreToolUse", "mcp__.*__(" + strings.Join(tools.Names(), "|") + ")"},
			{"PostToolUse", builtInNames("claude-code")},
			{"SessionStart", "resume"}, {"SessionEnd", ""}, {"SubagentStop", ""},
		}},
		{Client: "codex", Folder: ".codex", Variable: "CODEX_HOME", File: "hooks.json", second: 1, Entries: []Entry{
			{"PostToolUse", builtInNames("codex")}, {"SessionStart", "resume"}, {"SessionEnd", ""},
		}},
		{Client: "gemini", Folder: ".gemini", File: "settings.json", second: 1000, Entries: []Entry{
			{"AfterTool", builtInNames("gemini-cli")}, {"SessionStart", "resume"}, {"SessionEnd", ""},
		}},
		{Client: "cursor", Folder: ".cursor", File: "hooks.json", second: 1, flat: true, Entries: []Entry{
			{"postToolUse", builtInNames("cursor")}, {"sessionEnd", ""},
		}},
		{Client: "opencode", Folder: ".config/opencode", File: "plugin/todo-mcp.js"},
	}
}

// builtInNames returns the names of a host's built-in tools as a pattern.
func builtInNames(host string) string {
	var names []string
	for _, b := range tools.BuiltIns() {
		if b.Host == host {
			names = append(names, b.Name)
		}
	}
	return strings.Join(names, "|")
}

// timeout is after how many seconds a client gives up a hook.
const timeout = 5

// Settings returns the hooks as the client's file has them in its JSON: by event,
// under the key "hooks", those that run a shell command. It is nil for a client with
// a plugin.
func (s Setup) Settings(command string) map[string][]any {
	if s.Entries == nil {
		return nil
	}
	hooks := make(map[string][]any)
	for _, e := range s.Entries {
		hook := map[string]any{"command": command, "timeout": timeout * s.second}
		entry := hook
		if !s.flat {
			hook["type"] = "command"
			entry = map[string]any{"hooks": []any{hook}}
		}
		if e.Matcher != "" {
			entry["matcher"] = e.Matcher
		}
		hooks[e.Event] = append(hooks[e.Event], entry)
	}
	return hooks
}

//go:embed opencode.js
var opencode string

// Plugin returns the text of the client's file, which runs a shell command; empty for
// a client with hooks.
func (s Setup) Plugin(command string) string {
	if s.Entries != nil {
		return ""
	}
	quoted, _ := json.Marshal(command) // as JavaScript has it, too
	return strings.Replace(opencode, `"todo-mcp hook"`, string(quoted), 1)
}
