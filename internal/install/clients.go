package install

import (
	"cmp"
	"path/filepath"
	"strings"

	"todo-mcp/internal/clients"
	"todo-mcp/tools"
)

// Client is an MCP client that is known ([clients.Client]), and how it is configured.
type Client struct {
	clients.Client
	// programs are its commands, of which one on PATH tells that the client is here; nil
	// is its name.
	programs []string
	// signs are files or folders that tell the same; nil is the folders of files.
	signs func(Machine) []string
	// files are where its servers may stand, the usual place first.
	files func(Machine) []string
	// format is the form of the files, and servers the key under which its servers stand.
	format  format
	servers string
	shape   shape
	// desktop is true for what is not started in a terminal, whose PATH it lacks.
	desktop bool
	// noHTTP says of a client that reaches no server over HTTP by its file what its people
	// do instead; empty for others.
	noHTTP string
	// links returns what adds an entry to the client by one click; nil for nothing.
	links func(entry map[string]any) ([]Link, error)
	// After is what a person does so that the client sees a new server.
	After string
	// hooks is how it is told to run hooks; nil for a client of which none are known.
	hooks *hookSetup
}

// format is how the file with a client's servers is written and edited: JSON, which may
// have comments, is edited value by value.
type format string

const (
	formatJSON format = ""
	formatTOML format = "TOML" // the lines of its table are
	formatYAML format = "YAML" // it is not: a person adds what is printed
)

// hookSetup is how a client is told to run hooks. A hook is run for the events that need
// one: others would start a process for nothing.
type hookSetup struct {
	// file is its file of hooks, or its plugin, beside the usual one of its servers; or in
	// another folder.
	file   string
	folder func(Machine) string
	// entries are the hooks, of different events. A client without any has a plugin.
	entries []hookEntry
	// flat is true when a hook stands by itself in the list of its event, and has its
	// matcher; else it stands in a group, which has the matcher.
	flat bool
	// timeout is after how much of the client's unit of time it gives up a hook.
	timeout int
	// version is the version of the form of the file, if it must be there; else 0.
	version int
	// statusLine are the arguments of the command of a status line, if the client has one.
	statusLine string
	// windows is the shell that runs hooks on Windows. Elsewhere it is [POSIX].
	windows Shell
	// after is what a person does so that the hooks are run.
	after string
}

// hookEntry is a hook: when it is run. The matcher says for which tools, or starts, as
// the client matches them; empty is all.
type hookEntry struct{ event, matcher string }

// hooksFile returns where a client's hooks stand.
func (c Client) hooksFile(m Machine) string {
	if c.hooks.folder != nil {
		return filepath.Join(c.hooks.folder(m), c.hooks.file)
	}
	return filepath.Join(filepath.Dir(c.files(m)[0]), c.hooks.file)
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

// resumeAndEnd are the hooks that most clients have besides.
func resumeAndEnd() []hookEntry { return []hookEntry{{"SessionStart", "resume"}, {"SessionEnd", ""}} }

// seconds is after how many seconds a client gives up a hook. Codex has a limit of its
// own for some, and warns of more.
const (
	seconds      = 5
	codexSeconds = 3
)

// Clients returns the table of clients. Formats and places are from the programs
// themselves where npm has them (Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0,
// opencode 1.18.33, Kimi Code 2.1.0, Qwen Code 0.24.4, Cline 3.0.65, Copilot CLI
// 1.0.102), and from the public source or the documentation of the others (Zed:
// crates/paths and crates/settings_content; Goose: crates/goose/src/config; Crush:
// internal/config/load.go), as of November 2026. Hooks are known from the same programs
// and from Cursor's documentation; the shell of Codex and Cursor on Windows from reports
// of their users.
func Clients() (all []Client) {
	for _, row := range []struct {
		name string
		of   func() Client
	}{
		{"claude-code", claudeCode}, {"claude-desktop", claudeDesktop}, {"cursor", cursor}, {"vscode", vscode}, {"codex", codex},
		{"gemini", gemini}, {"opencode", opencode}, {"windsurf", windsurf}, {"zed", zed}, {"goose", goose},
		{"kimi", kimi}, {"qwen", qwen}, {"crush", crush}, {"cline", cline}, {"copilot", copilot},
	} {
		c := row.of()
		c.Client = clients.Named(row.name)
		c.servers, c.After = cmp.Or(c.servers, "mcpServers"), cmp.Or(c.After, "start a new session")
		if c.programs == nil {
			c.programs = []string{c.Name}
		}
		all = append(all, c)
	}
	return all
}

// at returns a file in the folder that a variable names, or in one of the user's.
func at(variable, folder string, names ...string) func(Machine) []string {
	return func(m Machine) []string {
		return []string{filepath.Join(append([]string{m.variable(variable, m.home(folder))}, names...)...)}
	}
}

func claudeCode() Client {
	folder := at("CLAUDE_CONFIG_DIR", ".claude")
	return Client{
		programs: []string{"claude"}, files: at("CLAUDE_CONFIG_DIR", "", ".claude.json"),
		signs: func(m Machine) []string {
			return []string{filepath.Join(m.variable("CLAUDE_CONFIG_DIR", m.Home), ".claude.json"), m.home(".claude")}
		},
		shape: typed("stdio", "http"),
		hooks: &hookSetup{
			file: "settings.json", folder: func(m Machine) string { return folder(m)[0] },
			timeout: seconds, windows: POSIX, statusLine: "show --format statusline --claude-code",
			entries: append(append([]hookEntry{
				{"PreToolUse", "mcp__.*__(" + strings.Join(tools.Names(), "|") + ")"}, {"PostToolUse", builtInNames("claude-code")},
			}, resumeAndEnd()...), hookEntry{"SubagentStop", ""}),
		},
	}
}

func claudeDesktop() Client {
	return Client{
		programs: []string{}, desktop: true, After: "quit and start it again", shape: usual(""),
		files: func(m Machine) []string {
			folder := filepath.Join(m.config(), "Claude")
			if m.System == "windows" { // as an app of the Store it has another folder in the place of the usual one
				store := filepath.Join(m.variable("LOCALAPPDATA", m.home("AppData", "Local")), "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude")
				if isThere(store) {
					folder = store
				}
			}
			return []string{filepath.Join(folder, "claude_desktop_config.json")}
		},
		noHTTP: "its settings have servers over HTTP under Connectors, by an address that the internet reaches",
	}
}

func cursor() Client {
	return Client{
		programs: []string{"cursor", "cursor-agent"}, desktop: true, After: "turn the server on in its settings under MCP",
		files: func(m Machine) []string { return []string{m.home(".cursor", "mcp.json")} },
		shape: usual("url"), links: cursorLinks,
		hooks: &hookSetup{
			file: "hooks.json", timeout: seconds, windows: PowerShell, flat: true, version: 1,
			entries: []hookEntry{{"postToolUse", builtInNames("cursor")}, {"sessionEnd", ""}},
		},
	}
}

func vscode() Client {
	return Client{
		programs: []string{"code", "code-insiders"}, desktop: true, servers: "servers", After: "start the server by the command MCP: List Servers",
		files: func(m Machine) []string {
			return []string{filepath.Join(m.config(), "Code", "User", "mcp.json"), filepath.Join(m.config(), "Code - Insiders", "User", "mcp.json")}
		},
		shape: typed("stdio", "http"), links: vscodeLinks,
	}
}

func codex() Client {
	return Client{
		format: formatTOML, servers: "mcp_servers", files: at("CODEX_HOME", ".codex", "config.toml"), shape: usual("url"),
		hooks: &hookSetup{
			file: "hooks.json", timeout: codexSeconds, windows: PowerShell,
			entries: append([]hookEntry{{"PostToolUse", builtInNames("codex")}}, resumeAndEnd()...),
			after:   "as it starts next, it asks about new hooks, which it does not run before you trust them",
		},
	}
}

func gemini() Client {
	return Client{
		files: at("GEMINI_CLI_HOME", "", ".gemini", "settings.json"),
		shape: usual("httpUrl"), // in earlier versions url was one of SSE
		hooks: &hookSetup{
			file: "settings.json", timeout: seconds * 1000, windows: PowerShell,
			entries: append([]hookEntry{{"AfterTool", builtInNames("gemini-cli")}}, resumeAndEnd()...),
		},
	}
}

func opencode() Client {
	return Client{
		servers: "mcp",
		files: func(m Machine) []string {
			folder := filepath.Join(m.xdg(), "opencode")
			return []string{filepath.Join(folder, "opencode.json"), filepath.Join(folder, "opencode.jsonc"), filepath.Join(folder, "config.json")}
		},
		shape: func(_ string, s Server) object {
			if s.URL != "" {
				return object{{"type", "remote"}, {"url", s.URL}, {"enabled", true}}
			}
			return object{{"type", "local"}, {"command", append([]string{s.Command}, s.Args...)}, {"enabled", true}}
		},
		hooks: &hookSetup{file: filepath.Join("plugin", "todo-mcp.js"), windows: Cmd},
	}
}

func windsurf() Client {
	return Client{
		desktop: true, After: "refresh its list of MCP servers", shape: usual("serverUrl"),
		files: func(m Machine) []string { return []string{m.home(".codeium", "windsurf", "mcp_config.json")} },
	}
}

func zed() Client {
	return Client{
		desktop: true, servers: "context_servers", After: "start a new thread",
		files: func(m Machine) []string {
			folder := m.home(".config", "zed")
			switch m.System {
			case "windows":
				folder = filepath.Join(m.config(), "Zed")
			case "linux":
				folder = filepath.Join(m.folder("FLATPAK_XDG_CONFIG_HOME", m.xdg()), "zed")
			}
			return []string{filepath.Join(folder, "settings.json")}
		},
		// Versions of 2025 need the source, and all of them the arguments.
		shape: func(_ string, s Server) object {
			if s.URL != "" {
				return object{{"url", s.URL}}
			}
			return object{{"source", "custom"}, {"command", s.Command}, {"args", append([]string{}, s.Args...)}}
		},
	}
}

func goose() Client {
	return Client{
		format: formatYAML, servers: "extensions",
		files: func(m Machine) []string {
			folder := filepath.Join(m.xdg(), "goose")
			if m.System == "windows" {
				folder = filepath.Join(m.config(), "Block", "goose", "config")
			}
			if root := m.folder("GOOSE_PATH_ROOT", ""); root != "" {
				folder = filepath.Join(root, "config")
			}
			return []string{filepath.Join(folder, "config.yaml")}
		},
		shape: func(name string, s Server) object {
			entry := object{{"type", "stdio"}, {"name", name}, {"cmd", s.Command}, {"args", append([]string{}, s.Args...)}}
			if s.URL != "" {
				entry = object{{"type", "streamable_http"}, {"name", name}, {"uri", s.URL}}
			}
			return append(entry, object{{"enabled", true}, {"description", "The todo list"}, {"timeout", 300}}...)
		},
	}
}

func kimi() Client {
	return Client{
		files: func(m Machine) []string { // the second is the file of kimi-cli, its forerunner
			return []string{filepath.Join(m.variable("KIMI_CODE_HOME", m.home(".kimi-code")), "mcp.json"), m.home(".kimi", "mcp.json")}
		},
		shape: usual("url"),
	}
}

func qwen() Client {
	return Client{files: at("QWEN_HOME", ".qwen", "settings.json"), shape: usual("httpUrl")}
}

func crush() Client {
	return Client{
		servers: "mcp", shape: typed("stdio", "http"),
		files: func(m Machine) []string {
			return []string{filepath.Join(m.variable("CRUSH_GLOBAL_CONFIG", filepath.Join(m.xdg(), "crush")), "crush.json")}
		},
	}
}

func cline() Client {
	return Client{
		desktop: true, // it is an extension of editors, too
		After:   "start a new task",
		shape: func(name string, s Server) object {
			if s.URL != "" {
				return object{{"type", "streamableHttp"}, {"url", s.URL}}
			}
			return usual("")(name, s)
		},
		files: func(m Machine) []string { // the second is the file of the extension before it shared those of the command
			data := m.variable("CLINE_DATA_DIR", filepath.Join(m.variable("CLINE_DIR", m.home(".cline")), "data"))
			const file = "cline_mcp_settings.json"
			return []string{
				m.variable("CLINE_MCP_SETTINGS_PATH", filepath.Join(data, "settings", file)),
				filepath.Join(m.config(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", file),
			}
		},
	}
}

func copilot() Client {
	return Client{files: at("COPILOT_HOME", ".copilot", "mcp-config.json"), shape: typed("local", "http", field{"tools", []string{"*"}})}
}
