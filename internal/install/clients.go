package install

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/shell"
	"github.com/todo-mcp/todo-mcp/tools"
)

// Client is an MCP client that is known ([clients.Client]), and how it is configured.
type Client struct {
	clients.Client
	clients.Setup
	// hooks is how it is told to run hooks; nil for a client without known hooks.
	hooks *hookSetup
}

// hookSetup is how a client is told to run hooks. A hook is run for the events that need
// one: others would start a process for nothing.
type hookSetup struct {
	// file is its file of hooks, or its plugin.
	file string
	// entries are the hooks. Those of a plugin have kinds alone.
	entries []hookEntry
	// tool are the events for which the client can call a tool of a server on stdio that it is
	// connected to, and what it says of each, by the names of its own fields.
	tool map[string][]string
	// flat is true when a hook stands by itself in the list of its event, and has its
	// matcher; else it stands in a group, which has the matcher.
	flat bool
	// form are the fields of a hook, as in [clients.Setup.Stdio].
	form string
	// timeout is after how much of the client's unit of time it gives up a hook.
	timeout int
	// version is the version of the form of the file, if it must be there; else 0.
	version int
	// statusLine are the arguments of the command of a status line, if the client has one.
	statusLine string
	// sidebar is the file of a plugin that draws the list in the client, and sidebars the file
	// that names such plugins; empty for none.
	sidebar, sidebars string
	// windows is the shell that runs hooks on Windows. Elsewhere it is [shell.POSIX].
	windows shell.Shell
	// asks is true for a client that runs no hooks before a person trusts them, as it starts.
	asks bool
}

// hookEntry is a hook: for which kind, and when it is run. One without a kind is there with
// any. The matcher says for which tools, or starts, as the client matches them, with | between
// its parts; empty is all.
type hookEntry struct {
	kind           Kind
	event, matcher string
}

// Forms of hooks: of a command, and of a call of the tool.
const (
	commandForm = `type: "command", command, timeout`
	wakeForm    = `type: "command", command, asyncRewake: true, timeout`
	calledForm  = `type: "mcp_tool", server, tool: "` + toolName + `", input, timeout`
)

// isPlugin reports whether the file is a plugin.
func (s *hookSetup) isPlugin() bool { return filepath.Ext(s.file) == ".js" }

// isList reports whether all hooks stand in one list, each with its event.
func (s *hookSetup) isList() bool { return filepath.Ext(s.file) == ".toml" }

// mirrorHook is the hook for an event that is told of calls of a host's built-in tools.
func mirrorHook(event, host string) hookEntry {
	var names []string
	for _, b := range tools.BuiltIns() {
		if b.Host == host {
			names = append(names, b.Name)
		}
	}
	return hookEntry{Mirror, event, strings.Join(names, "|")}
}

// likeClaudeCode returns the hooks of a client that has the events of Claude Code, by their
// names: the one that mirrors, those that all have, and more of its own.
func likeClaudeCode(mirrors hookEntry, more ...hookEntry) []hookEntry {
	return append([]hookEntry{
		mirrors, {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"}, {event: "SubagentStop"},
		{event: "SessionStart", matcher: "startup"}, // as which a chat is on the board from its start
		{Remind, "SessionStart", "compact|resume|clear|fork"}, {Edits, "UserPromptSubmit", ""},
		{Waiting, "PermissionRequest", ""}, {Waiting, "Stop", ""}, {Finish, "Stop", ""},
	}, more...)
}

// ourCalls matches calls of our tools, whatever the server is called.
func ourCalls() string { return "mcp__.*__(" + strings.Join(tools.Names(), "|") + ")" }

// seconds is after how many seconds a client gives up a hook. Codex has a limit of its
// own for some, and warns of more.
const (
	seconds      = 5
	codexSeconds = 3
	// wakeSeconds is for how long an agent at rest is waited for.
	wakeSeconds = 12 * 60 * 60
)

// Clients returns the clients to which servers are added. Formats and places are from the programs
// themselves where npm has them (Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0,
// opencode 1.18.33, Kilo Code 7.7.9, Kimi Code 2.1.0, Qwen Code 0.24.4, Cline 3.0.65, Copilot CLI
// 1.0.102), and from the public source or the documentation of the others (Zed:
// crates/paths and crates/settings_content; Goose: crates/goose/src/config; Crush:
// internal/config/load.go), as of November 2026. Hooks are known from the same programs
// and from Cursor's documentation; the shell of Codex and Cursor on Windows from reports
// of their users.
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

// hookSetups returns how clients are told to run hooks, by their names.
func hookSetups() map[string]*hookSetup {
	return map[string]*hookSetup{
		"claude-code": {
			file:    clients.ClaudeFile,
			timeout: seconds, windows: shell.POSIX, statusLine: "show --format statusline --claude-code",
			tool: map[string][]string{
				"UserPromptSubmit": {"prompt", "session_title"}, "PreToolUse": {"tool_name", "tool_use_id", "tool_input"},
				"PostToolUse": {"tool_name", "tool_use_id", "tool_input", "tool_response"}, "PostToolBatch": {},
				"Stop": {"last_assistant_message", "stop_hook_active", "background_tasks"},
			},
			entries: likeClaudeCode(mirrorHook("PostToolUse", "claude-code"), hookEntry{Calls, "PreToolUse", ourCalls()},
				hookEntry{Calls, "PostToolUse", "Agent|Task"}, // says for what a sub-agent is there
				// At the end of a step it tells of all tools that were called in it at once.
				hookEntry{Edits, "PostToolBatch", ""},
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
				// Of a question in plan mode it tells as of a tool alone.
				hookEntry{Waiting, "PreToolUse", "request_user_input"}, hookEntry{Waiting, "Interrupt", ""}),
			asks: true,
		},
		"gemini": {
			file: clients.GeminiFile, timeout: seconds * 1000, windows: shell.PowerShell,
			entries: []hookEntry{
				mirrorHook("AfterTool", "gemini-cli"), {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"},
				// It compares a source as a whole, and shows no answer at /clear and /compress:
				// the next prompt has it.
				{Remind, "SessionStart", ""}, {Remind, "PreCompress", "manual"}, {Remind, "BeforeAgent", ""},
				{Edits, "BeforeAgent", ""}, {Edits, "AfterTool", ""},
				{Waiting, "Notification", ""}, {Waiting, "AfterAgent", ""},
				{Finish, "AfterAgent", ""},
			},
		},
		"qwen": {
			file: clients.QwenFile, timeout: seconds, windows: shell.PowerShell,
			entries: likeClaudeCode(mirrorHook("PostToolUse", "qwen-code"), // a prompt comes before each request to the model
				hookEntry{Waiting, "Notification", "idle_prompt"}, hookEntry{Waiting, "StopFailure", ""}),
		},
		"copilot": { // it reads what the agent is told in another form, and asks for permissions that it has
			file: "$COPILOT_HOME/hooks/todo-mcp.json|~/.copilot/hooks/todo-mcp.json", timeout: seconds, windows: shell.PowerShell,
			flat: true, version: 1, form: `type: "command", bash, powershell, timeoutSec`, entries: []hookEntry{
				mirrorHook("PostToolUse", "copilot-cli"), {event: "SessionStart"}, {event: "SessionEnd"},
				{Waiting, "UserPromptSubmit", ""}, {Waiting, "PostToolUse", ""}, {Waiting, "Notification", ""}, {Waiting, "Stop", ""}, {Waiting, "ErrorOccurred", ""},
			},
		},
		"kimi": { // it waits for few hooks, not for those after a tool, and reads what one says at a prompt and at the end of a turn alone; a matcher is a regular expression
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

// sidebarFile is not in opencode's folder of plugins, all of which it takes for another kind.
const sidebarFile = "todo-mcp-sidebar.js"
