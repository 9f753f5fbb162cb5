package install

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/shell"
	"github.com/todo-mcp/todo-mcp/tools"
)

// Client is a known MCP client ([clients.Client]), and how to configure it.
type Client struct {
	clients.Client
	clients.Setup
	hooks *hookSetup // nil for a client without known hooks
}

// hookSetup is how to configure a client's hooks.
type hookSetup struct {
	file    string      // its file of hooks, or its plugin
	entries []hookEntry // the hooks; those of a plugin have kinds alone
	// tool has the events for which the client can call a tool of a connected server on stdio, with the fields
	// of each event.
	tool       map[string][]string
	flat       bool   // a hook stands directly in the list of its event and has the matcher; else a group has both
	form       string // the fields of a hook, as in [clients.Setup.Stdio]
	timeout    int    // after which the client stops a hook, in the client's unit
	version    int    // that the file must have; 0 for none
	statusLine string // the arguments of the command of a status line; empty for none
	// sidebar is the file of a plugin that draws the list in the client, and sidebars the file that names such
	// plugins; empty for none.
	sidebar, sidebars string
	windows           shell.Shell // which runs hooks on Windows; elsewhere it is [shell.POSIX]
	asks              bool        // the client asks a person to trust new hooks, as it starts
}

// hookEntry is a hook for an event; without a kind it comes with any kind. The matcher selects tools, or causes
// of a start, with | between them; empty selects all.
type hookEntry struct {
	kind           Kind
	event, matcher string
}

// The forms of hooks: a command, one that wakes the agent, and a call of our tool.
const (
	commandForm = `type: "command", command, timeout`
	wakeForm    = `type: "command", command, asyncRewake: true, timeout`
	calledForm  = `type: "mcp_tool", server, tool: "` + toolName + `", input, timeout`
)

func (s *hookSetup) isPlugin() bool { return filepath.Ext(s.file) == ".js" }

// isList reports whether all hooks are in one list, each with its event.
func (s *hookSetup) isList() bool { return filepath.Ext(s.file) == ".toml" }

// mirrorHook returns the hook that mirrors a host's built-in tools.
func mirrorHook(event, host string) hookEntry {
	var names []string
	for _, b := range tools.BuiltIns() {
		if b.Host == host {
			names = append(names, b.Name)
		}
	}
	return hookEntry{Mirror, event, strings.Join(names, "|")}
}

// likeClaudeCode returns the hooks of a client with Claude Code's events, and more.
func likeClaudeCode(mirrors hookEntry, more ...hookEntry) []hookEntry {
	return append([]hookEntry{
		mirrors, {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"}, {event: "SubagentStop"},
		{event: "SessionStart", matcher: "startup"}, // shows a chat on the board from its start
		{Remind, "SessionStart", "compact|resume|clear|fork"}, {Edits, "UserPromptSubmit", ""},
		{Waiting, "PermissionRequest", ""}, {Waiting, "Stop", ""}, {Finish, "Stop", ""},
	}, more...)
}

// ourCalls returns a matcher of calls of our tools, whatever the server's name.
func ourCalls() string { return "mcp__.*__(" + strings.Join(tools.Names(), "|") + ")" }

const (
	seconds      = 5            // the timeout of a hook
	codexSeconds = 3            // in Codex, which warns of more for some hooks
	wakeSeconds  = 12 * 60 * 60 // of the hook that waits while an agent rests
)

// Clients returns the clients that can be configured. Formats and places are from the programs themselves if npm
// has them (Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, opencode 1.18.33, Kilo Code 7.7.9, Kimi
// Code 2.1.0, Qwen Code 0.24.4, Cline 3.0.65, Copilot CLI 1.0.102), else from the public source or the
// documentation (Zed: crates/paths and crates/settings_content; Goose: crates/goose/src/config; Crush:
// internal/config/load.go; Cursor's hooks), as of November 2026. The shells of Codex and Cursor on Windows
// are from reports of users.
func Clients() (all []Client) {
	hooks := hookSetups()
	for _, known := range clients.All() {
		if known.Setup == nil {
			continue
		}
		c := Client{known, *known.Setup, hooks[known.Name]}
		if c.hooks != nil {
			c.hooks.form = cmp.Or(c.hooks.form, commandForm)
		}
		c.Servers, c.After = cmp.Or(c.Servers, "mcpServers"), cmp.Or(c.After, "start a new session")
		c.Stdio, c.HTTP = cmp.Or(c.Stdio, "command, args?"), cmp.Or(c.HTTP, "url")
		if c.Programs == nil {
			c.Programs = []string{c.Name}
		}
		all = append(all, c)
	}
	return all
}

// hookSetups returns the hooks of each client, by its name.
func hookSetups() map[string]*hookSetup {
	return map[string]*hookSetup{
		"claude-code": {
			file: clients.ClaudeFile, timeout: seconds, windows: shell.POSIX, statusLine: "show --format statusline --claude-code",
			tool: map[string][]string{
				"UserPromptSubmit": {"prompt", "session_title"}, "PreToolUse": {"tool_name", "tool_use_id", "tool_input"},
				"PostToolUse": {"tool_name", "tool_use_id", "tool_input", "tool_response"}, "PostToolBatch": {},
				"Stop": {"last_assistant_message", "stop_hook_active", "background_tasks"},
			},
			entries: likeClaudeCode(mirrorHook("PostToolUse", "claude-code"), hookEntry{Calls, "PreToolUse", ourCalls()},
				hookEntry{Calls, "PostToolUse", "Agent|Task"}, // has the task of a sub-agent
				hookEntry{Edits, "PostToolBatch", ""},         // once for all tools of a step
				hookEntry{Waiting, "Notification", "elicitation_dialog|agent_needs_input|idle_prompt"},
				hookEntry{Waiting, "StopFailure", ""}, hookEntry{Wake, "Stop", ""}),
		},
		"cursor": {
			file: "~/.cursor/hooks.json", form: "command, timeout", timeout: seconds, windows: shell.PowerShell, flat: true, version: 1,
			entries: []hookEntry{mirrorHook("postToolUse", "cursor"), {event: "sessionEnd"}},
		},
		"codex": {
			file: "$CODEX_HOME/hooks.json|~/.codex/hooks.json", timeout: codexSeconds, windows: shell.PowerShell,
			entries: likeClaudeCode(mirrorHook("PostToolUse", "codex"), hookEntry{Edits, "PostToolUse", ""},
				hookEntry{Waiting, "PreToolUse", "request_user_input"}, // a question in plan mode
				hookEntry{Waiting, "Interrupt", ""}),
			asks: true,
		},
		"gemini": {
			file: clients.GeminiFile, timeout: seconds * 1000, windows: shell.PowerShell,
			entries: []hookEntry{
				mirrorHook("AfterTool", "gemini-cli"), {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"},
				// matchers have no |; answers at /clear and /compress are not shown, so the next prompt has them
				{Remind, "SessionStart", ""}, {Remind, "PreCompress", "manual"}, {Remind, "BeforeAgent", ""},
				{Edits, "BeforeAgent", ""}, {Edits, "AfterTool", ""},
				{Waiting, "Notification", ""}, {Waiting, "AfterAgent", ""},
				{Finish, "AfterAgent", ""},
			},
		},
		"qwen": {
			file: clients.QwenFile, timeout: seconds, windows: shell.PowerShell,
			entries: likeClaudeCode(mirrorHook("PostToolUse", "qwen-code"), // the prompt event precedes each request to the model
				hookEntry{Waiting, "Notification", "idle_prompt"}, hookEntry{Waiting, "StopFailure", ""}),
		},
		"copilot": { // no Edits: it reads answers of another form; no PermissionRequest: it comes without a question, too
			file: "$COPILOT_HOME/hooks/todo-mcp.json|~/.copilot/hooks/todo-mcp.json", timeout: seconds, windows: shell.PowerShell,
			flat: true, version: 1, form: `type: "command", bash, powershell, timeoutSec`, entries: []hookEntry{
				mirrorHook("PostToolUse", "copilot-cli"), {event: "SessionStart"}, {event: "SessionEnd"},
				{Waiting, "UserPromptSubmit", ""}, {Waiting, "PostToolUse", ""}, {Waiting, "Notification", ""}, {Waiting, "Stop", ""}, {Waiting, "ErrorOccurred", ""},
			},
		},
		"kimi": { // reads only answers to a prompt and to the end of a turn, and kills hooks after a tool; a matcher is a regular expression
			file: "$KIMI_CODE_HOME/config.toml|~/.kimi-code/config.toml", form: "command, timeout", timeout: seconds, windows: shell.Cmd, flat: true,
			entries: []hookEntry{
				{Mirror, "PreToolUse", "^TodoList$"}, {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"}, {event: "SessionStart", matcher: "startup"},
				{Remind, "PostCompact", ""}, {Remind, "SessionStart", "resume"}, {Remind, "UserPromptSubmit", ""}, {Edits, "UserPromptSubmit", ""},
				{Waiting, "PermissionRequest", ""}, {Waiting, "PermissionResult", ""}, {Waiting, "PreToolUse", "^AskUserQuestion$"}, {Waiting, "PostToolUse", "^AskUserQuestion$"},
				{Waiting, "PostToolUseFailure", "^AskUserQuestion$"}, {Waiting, "Stop", ""}, {Waiting, "StopFailure", ""}, {Waiting, "Interrupt", ""}, {Finish, "Stop", ""},
			},
		},
		"kilo": {file: "$xdg/kilo/plugin/todo-mcp.js", windows: shell.Cmd, entries: []hookEntry{{kind: Mirror}}},
		"opencode": {
			file: "$xdg/opencode/plugin/todo-mcp.js", windows: shell.Cmd,
			entries: []hookEntry{{kind: Mirror}, {kind: Remind}, {kind: Edits}, {kind: Waiting}, {kind: Wake}},
			sidebar: "$xdg/opencode/" + sidebarFile, sidebars: "$xdg/opencode/tui.json",
		},
	}
}

// sidebarFile is outside opencode's folder of plugins, which is for another kind of plugins.
const sidebarFile = "todo-mcp-sidebar.js"
