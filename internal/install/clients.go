package install

import (
	"cmp"
	"strings"

	"todo-mcp/internal/clients"
	"todo-mcp/internal/shell"
	"todo-mcp/tools"
)

// Client is an MCP client that is known ([clients.Client]), and how it is configured.
// Places are as [Machine.place] reads them.
type Client struct {
	clients.Client
	// programs are its commands: one on PATH shows that the client is here. Nil is its name.
	programs []string
	// files are where its servers may be, the usual place first. A file is edited as its
	// name says ([parse]).
	files []string
	// servers is the key under which its servers are in the file. Empty is mcpServers.
	servers string
	// stdio and http are the fields of a server's entry, in their order, for the two ways
	// to it, as [Client.entry] fills them. One has its value behind it, as JSON, or else the
	// value that the server has for it; "args?" is left out if there are no arguments, and
	// "command+args" has the whole command. Empty is what most clients have.
	stdio, http string
	// desktop is true for what is not started in a terminal, whose PATH it lacks.
	desktop bool
	// noHTTP says of a client that reaches no server over HTTP by its file what its people
	// do instead; empty for others.
	noHTTP string
	// After is what a person does so that the client sees a new server.
	After string
	// hooks is how it is told to run hooks; nil for a client without known hooks.
	hooks *hookSetup
}

// hookSetup is how a client is told to run hooks. A hook is run for the events that need
// one: others would start a process for nothing.
type hookSetup struct {
	// file is its file of hooks, or its plugin.
	file string
	// entries are the hooks. A client without any has a plugin.
	entries []hookEntry
	// plugin are the kinds of a plugin.
	plugin []Kind
	// posts is true when the client can post an event to a server by itself, except
	// SessionStart.
	posts bool
	// tool are the events for which the client can call a tool of a server on stdio that it is
	// connected to, and what it says of each, by the names of its own fields.
	tool map[string][]string
	// flat is true when a hook stands by itself in the list of its event, and has its
	// matcher; else it stands in a group, which has the matcher.
	flat bool
	// copilot is true for the form of Copilot CLI: a command for each shell.
	copilot bool
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
	// after is what a person does so that the hooks are run.
	after string
}

// hookEntry is a hook: for which kind, and when it is run. One without a kind is there with
// any. The matcher says for which tools, or starts, as the client matches them, with | between
// its parts; empty is all.
type hookEntry struct {
	kind           Kind
	event, matcher string
}

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

// resume and end are hooks that most clients have besides.
func resume() hookEntry { return hookEntry{Mirror, "SessionStart", "resume"} }
func end() hookEntry    { return hookEntry{event: "SessionEnd"} }

// ourCalls matches calls of our tools, whatever the server is called.
func ourCalls() string { return "mcp__.*__(" + strings.Join(tools.Names(), "|") + ")" }

// seconds is after how many seconds a client gives up a hook. Codex has a limit of its
// own for some, and warns of more.
const (
	seconds      = 5
	codexSeconds = 3
)

// Clients returns the table of clients. Formats and places are from the programs
// themselves where npm has them (Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0,
// opencode 1.18.33, Kilo Code 7.7.9, Kimi Code 2.1.0, Qwen Code 0.24.4, Cline 3.0.65, Copilot CLI
// 1.0.102), and from the public source or the documentation of the others (Zed:
// crates/paths and crates/settings_content; Goose: crates/goose/src/config; Crush:
// internal/config/load.go), as of November 2026. Hooks are known from the same programs
// and from Cursor's documentation; the shell of Codex and Cursor on Windows from reports
// of their users.
func Clients() []Client {
	return append(withHooks(), []Client{
		known("claude-desktop", Client{
			programs: []string{}, desktop: true, After: "quit and start it again",
			// As an app of the Store it has another folder in the place of the usual one.
			files: []string{"windows:$local/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json|" +
				"$config/Claude/claude_desktop_config.json"},
			noHTTP: "its settings have servers over HTTP under Connectors, by an address that the internet reaches",
		}),
		known("vscode", Client{
			programs: []string{"code", "code-insiders"}, desktop: true, servers: "servers",
			files: []string{"$config/Code/User/mcp.json", "$config/Code - Insiders/User/mcp.json"},
			stdio: typedStdio, http: typedHTTP, After: "start the server by the command MCP: List Servers",
		}),
		known("windsurf", Client{
			files: []string{"~/.codeium/windsurf/mcp_config.json"}, http: "serverUrl", desktop: true,
			After: "refresh its list of MCP servers",
		}),
		known("zed", Client{
			files: []string{"windows:$config/Zed/settings.json|linux:$FLATPAK_XDG_CONFIG_HOME/zed/settings.json|" +
				"linux:$xdg/zed/settings.json|~/.config/zed/settings.json"},
			// Versions of 2025 need the source.
			desktop: true, servers: "context_servers", stdio: `source: "custom", command, args`, After: "start a new thread",
		}),
		known("goose", Client{
			files: []string{"$GOOSE_PATH_ROOT/config/config.yaml|windows:$config/Block/goose/config/config.yaml|" +
				"$xdg/goose/config.yaml"},
			servers: "extensions",
			stdio:   `type: "stdio", name, cmd, args, ` + gooseMore,
			http:    `type: "streamable_http", name, uri, ` + gooseMore,
		}),
		known("kimi", Client{ // the second is the file of kimi-cli, its forerunner
			files: []string{"$KIMI_CODE_HOME/mcp.json|~/.kimi-code/mcp.json", "~/.kimi/mcp.json"},
		}),
		known("crush", Client{
			files:   []string{"$CRUSH_GLOBAL_CONFIG/crush.json|$xdg/crush/crush.json"},
			servers: "mcp", stdio: typedStdio, http: typedHTTP,
		}),
		known("cline", Client{
			// The second is the extension's file before it shared the files of the command.
			files: []string{
				"$CLINE_MCP_SETTINGS_PATH|$CLINE_DATA_DIR/settings/" + clineFile + "|$CLINE_DIR/data/settings/" + clineFile +
					"|~/.cline/data/settings/" + clineFile,
				"$config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/" + clineFile,
			},
			desktop: true, // it is an extension of editors, too
			http:    `type: "streamableHttp", url`,
			After:   "start a new task",
		}),
	}...)
}

// withHooks returns the rows of clients whose hooks are known.
func withHooks() []Client {
	return []Client{
		known("claude-code", Client{
			programs: []string{"claude"}, files: []string{"$CLAUDE_CONFIG_DIR/.claude.json|~/.claude.json"},
			stdio: typedStdio, http: typedHTTP,
			hooks: &hookSetup{
				file:    "$CLAUDE_CONFIG_DIR/settings.json|~/.claude/settings.json",
				timeout: seconds, windows: shell.POSIX, statusLine: "show --format statusline --claude-code",
				posts: true,
				tool: map[string][]string{
					"UserPromptSubmit": {"prompt", "session_title"}, "PreToolUse": {"tool_name", "tool_use_id", "tool_input"},
					"PostToolUse": {"tool_name", "tool_use_id", "tool_input", "tool_response"}, "PostToolBatch": {},
					"Stop": {"last_assistant_message", "stop_hook_active", "background_tasks"},
				},
				entries: []hookEntry{
					{Calls, "PreToolUse", ourCalls()},
					mirrorHook("PostToolUse", "claude-code"), resume(), end(), {"", "SubagentStop", ""},
					{Remind, "SessionStart", "compact|resume|clear|fork"},
					// At the end of a step it tells of all tools that were called in it at once.
					{Edits, "UserPromptSubmit", ""}, {Edits, "PostToolBatch", ""},
					{Waiting, "PermissionRequest", ""},
					{Waiting, "Notification", "elicitation_dialog|agent_needs_input|idle_prompt"}, {Waiting, "Stop", ""},
					{Finish, "Stop", ""},
				},
			},
		}),
		known("cursor", Client{
			programs: []string{"cursor", "cursor-agent"}, files: []string{"~/.cursor/mcp.json"}, desktop: true,
			After: "turn the server on in its settings under MCP",
			hooks: &hookSetup{
				file: "~/.cursor/hooks.json", timeout: seconds, windows: shell.PowerShell, flat: true, version: 1,
				entries: []hookEntry{mirrorHook("postToolUse", "cursor"), {event: "sessionEnd"}},
			},
		}),
		known("codex", Client{
			files: []string{"$CODEX_HOME/config.toml|~/.codex/config.toml"}, servers: "mcp_servers",
			http: `url, env_http_headers: {"` + folderHeader + `": "PWD"}`,
			hooks: &hookSetup{
				file: "$CODEX_HOME/hooks.json|~/.codex/hooks.json", timeout: codexSeconds, windows: shell.PowerShell,
				entries: []hookEntry{
					mirrorHook("PostToolUse", "codex"), resume(), end(), {"", "SubagentStop", ""},
					{Remind, "SessionStart", "compact|resume|clear|fork"},
					{Edits, "UserPromptSubmit", ""}, {Edits, "PostToolUse", ""},
					{Waiting, "PermissionRequest", ""}, {Waiting, "Stop", ""},
					{Finish, "Stop", ""},
				},
				after: "as it starts next, it asks about new hooks, which it does not run before you trust them",
			},
		}),
		known("gemini", Client{
			After: "start a new session, in a folder that you told it to trust: elsewhere it turns servers off",
			files: []string{geminiFile}, http: "httpUrl", // in earlier versions url was one of SSE
			hooks: &hookSetup{
				file: geminiFile, timeout: seconds * 1000, windows: shell.PowerShell,
				entries: []hookEntry{
					mirrorHook("AfterTool", "gemini-cli"), resume(), end(),
					// It compares a source as a whole, and shows no answer at /clear and /compress:
					// the next prompt has it.
					{Remind, "SessionStart", ""}, {Remind, "PreCompress", "manual"}, {Remind, "BeforeAgent", ""},
					{Edits, "BeforeAgent", ""}, {Edits, "AfterTool", ""},
					{Waiting, "Notification", ""}, {Waiting, "AfterAgent", ""},
					{Finish, "AfterAgent", ""},
				},
			},
		}),
		known("qwen", Client{
			files: []string{qwenFile}, http: "httpUrl",
			hooks: &hookSetup{
				file: qwenFile, timeout: seconds, windows: shell.PowerShell,
				entries: []hookEntry{
					mirrorHook("PostToolUse", "qwen-code"), resume(), end(), {"", "SubagentStop", ""},
					{Remind, "SessionStart", "compact|resume|clear|fork"},
					{Edits, "UserPromptSubmit", ""}, // which comes before each request to the model
					{Waiting, "PermissionRequest", ""}, {Waiting, "Stop", ""},
					{Finish, "Stop", ""},
				},
			},
		}),
		known("copilot", Client{
			files: []string{"$COPILOT_HOME/mcp-config.json|~/.copilot/mcp-config.json"},
			stdio: `type: "local", command, args, tools: ["*"]`, http: typedHTTP + `, tools: ["*"], headers: {"` + folderHeader + `": "${PWD}"}`,
			hooks: &hookSetup{ // it reads what the agent is told in another form
				file: "$COPILOT_HOME/hooks/todo-mcp.json|~/.copilot/hooks/todo-mcp.json", timeout: seconds, windows: shell.PowerShell,
				flat: true, version: 1, copilot: true, entries: []hookEntry{mirrorHook("PostToolUse", "copilot-cli"), end()},
			},
		}),
		known("kilo", Client{ // its forerunner is opencode
			files: []string{"$xdg/kilo/kilo.json", "$xdg/kilo/kilo.jsonc"}, servers: "mcp",
			stdio: opencodeStdio, http: opencodeHTTP,
			hooks: &hookSetup{file: "$xdg/kilo/plugin/todo-mcp.js", windows: shell.Cmd, plugin: []Kind{Mirror}},
		}),
		known("opencode", Client{
			files:   []string{"$xdg/opencode/opencode.json", "$xdg/opencode/opencode.jsonc", "$xdg/opencode/config.json"},
			servers: "mcp", stdio: opencodeStdio, http: opencodeHTTP,
			hooks: &hookSetup{
				file: "$xdg/opencode/plugin/todo-mcp.js", windows: shell.Cmd, plugin: []Kind{Mirror, Remind, Edits, Waiting},
				sidebar: "$xdg/opencode/" + sidebarFile, sidebars: "$xdg/opencode/tui.json",
			},
		}),
	}
}

// folderHeader is the header by which a server over HTTP learns the folder. Clients in Node
// and Bun put one in, too, but cannot call a server any more from a folder whose path is not
// Latin-1.
const folderHeader = "Todo-Folder"

// Fields that several clients have, and files that are named several times.
const (
	typedStdio = `type: "stdio", command, args`
	typedHTTP  = `type: "http", url`

	opencodeStdio = `type: "local", command+args, enabled: true`
	opencodeHTTP  = `type: "remote", url, enabled: true`

	geminiFile = "$GEMINI_CLI_HOME/.gemini/settings.json|~/.gemini/settings.json"
	qwenFile   = "$QWEN_HOME/settings.json|~/.qwen/settings.json"
	// sidebarFile is not in opencode's folder of plugins, all of which it takes for another kind.
	sidebarFile = "todo-mcp-sidebar.js"
	clineFile   = "cline_mcp_settings.json"
	gooseMore   = `enabled: true, description: "The todo list", timeout: 300`
)

// known returns a row of the table of clients with what most rows have.
func known(name string, c Client) Client {
	c.Client = clients.Named(name)
	c.servers, c.After = cmp.Or(c.servers, "mcpServers"), cmp.Or(c.After, "start a new session")
	c.stdio, c.http = cmp.Or(c.stdio, "command, args?"), cmp.Or(c.http, "url")
	if c.programs == nil {
		c.programs = []string{name}
	}
	return c
}
