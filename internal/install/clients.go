package install

import "path/filepath"

// Client is an MCP client and where it is configured. Its row in [Clients] is all that
// the program knows of it.
type Client struct {
	// Name is what people type, Title what they read.
	Name, Title string
	// programs are its commands, of which one on PATH tells that the client is here.
	programs []string
	// signs are files or folders that tell the same; nil is the folders of files.
	signs func(Machine) []string
	// files are where its servers may stand, the usual place first.
	files func(Machine) []string
	// format is that of the files, and servers is the key under which its servers stand.
	format  format
	servers string
	shape   shape
	// desktop is true for what is not started in a terminal, whose PATH it lacks.
	desktop bool
	// noHTTP says, where shape has no address, what its people do instead.
	noHTTP string
	// links returns what adds an entry to the client by one click; nil for nothing.
	links func(entry map[string]any) ([]Link, error)
	// after is what a person does so that the client sees a new server; empty where it
	// does by itself.
	after string
	// hooks is the file that tells it to run hooks, or that is its plugin; nil for a
	// client of which none are known. What stands there is in [hook.FindSetup].
	hooks func(Machine) string
	// afterHooks is what a person does so that the hooks are run.
	afterHooks string
}

// beside returns where a file is beside the usual one of a client.
func (c Client) beside(names ...string) func(Machine) string {
	return func(m Machine) string {
		return filepath.Join(append([]string{filepath.Dir(c.files(m)[0])}, names...)...)
	}
}

// shape is how a client writes a server. An entry has the fields of both and those of
// stdio or http, the name of which is the kind of server.
type shape struct {
	command string // key of the command
	args    string // key of its arguments; empty: they stand behind the command in a list
	noArgs  bool   // the key of arguments is there without any, too
	url     string // key of the address; empty: the client reaches no server over HTTP
	both    object
	stdio   object
	http    object
	// name is the key of the server's own name, if it stands in the entry as well.
	name string
}

func kind(key, value string) object { return object{{key, value}} }

// format is how the file with a client's servers is written and edited: JSON, which may
// have comments, is edited value by value.
type format string

const (
	formatJSON format = ""
	formatTOML format = "TOML" // a block between two marks is
	formatYAML format = "YAML" // it is not: a person adds what is printed
)

// Clients returns the table of clients. Formats and places are from the programs
// themselves where npm has them (Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0,
// opencode 1.18.33, Kimi Code 2.1.0, Qwen Code 0.24.4, Cline 3.0.65, Copilot CLI
// 1.0.102), and from the public source or the documentation of the others (Zed:
// crates/paths and crates/settings_content; Goose: crates/goose/src/config; Crush:
// internal/config/load.go), as of November 2026.
func Clients() []Client {
	return []Client{
		claudeCode(), claudeDesktop(), cursor(), vscode(), codex(), gemini(), opencode(), windsurf(), zed(), goose(), kimi(), qwen(), crush(), cline(), copilot(),
	}
}

const (
	mcpServers = "mcpServers" // where most clients have their servers
	newSession = "start a new session"
)

// typed is the shape of a client that has the kind of a server in the field type.
func typed(stdio, http string) shape {
	return shape{command: "command", args: "args", url: "url", stdio: kind("type", stdio), http: kind("type", http)}
}

func claudeCode() Client {
	file := func(m Machine) string { return filepath.Join(m.variable("CLAUDE_CONFIG_DIR", m.Home), ".claude.json") }
	c := Client{
		Name: "claude-code", Title: "Claude Code", programs: []string{"claude"}, servers: mcpServers, after: newSession,
		signs: func(m Machine) []string { return []string{file(m), m.home(".claude")} },
		files: func(m Machine) []string { return []string{file(m)} },
		shape: typed("stdio", "http"),
	}
	c.shape.noArgs = true
	c.hooks = func(m Machine) string {
		return filepath.Join(m.variable("CLAUDE_CONFIG_DIR", m.home(".claude")), "settings.json")
	}
	return c
}

func claudeDesktop() Client {
	return Client{
		Name: "claude-desktop", Title: "Claude Desktop", desktop: true, servers: mcpServers, after: "quit and start it again",
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
		shape:  shape{command: "command", args: "args"},
		noHTTP: "its settings have servers over HTTP under Connectors, by an address that the internet reaches",
	}
}

func cursor() Client {
	c := Client{
		Name: "cursor", Title: "Cursor", desktop: true, programs: []string{"cursor", "cursor-agent"}, servers: mcpServers,
		files: func(m Machine) []string { return []string{m.home(".cursor", "mcp.json")} },
		shape: shape{command: "command", args: "args", url: "url"},
		after: "turn the server on in its settings under MCP",
		links: cursorLinks,
	}
	c.hooks = c.beside("hooks.json")
	return c
}

func vscode() Client {
	return Client{
		Name: "vscode", Title: "VS Code", desktop: true, programs: []string{"code", "code-insiders"}, servers: "servers",
		files: func(m Machine) []string {
			return []string{filepath.Join(m.config(), "Code", "User", "mcp.json"), filepath.Join(m.config(), "Code - Insiders", "User", "mcp.json")}
		},
		shape: typed("stdio", "http"),
		after: "start the server by the command MCP: List Servers",
		links: vscodeLinks,
	}
}

func codex() Client {
	c := Client{
		Name: "codex", Title: "Codex", programs: []string{"codex"}, format: formatTOML, servers: "mcp_servers", after: newSession,
		files: func(m Machine) []string {
			return []string{filepath.Join(m.variable("CODEX_HOME", m.home(".codex")), "config.toml")}
		},
		shape: shape{command: "command", args: "args", url: "url"},
	}
	c.hooks = c.beside("hooks.json")
	c.afterHooks = "as it starts next, it asks about new hooks, which it does not run before you trust them"
	return c
}

func gemini() Client {
	c := Client{
		Name: "gemini", Title: "Gemini CLI", programs: []string{"gemini"}, servers: mcpServers, after: newSession,
		files: func(m Machine) []string {
			return []string{filepath.Join(m.variable("GEMINI_CLI_HOME", m.Home), ".gemini", "settings.json")}
		},
		shape: shape{command: "command", args: "args", url: "httpUrl"}, // in earlier versions url was one of SSE
	}
	c.hooks = c.beside("settings.json")
	return c
}

func opencode() Client {
	c := Client{
		Name: "opencode", Title: "opencode", programs: []string{"opencode"}, servers: "mcp", after: newSession,
		files: func(m Machine) []string {
			folder := filepath.Join(m.xdg(), "opencode")
			return []string{filepath.Join(folder, "opencode.json"), filepath.Join(folder, "opencode.jsonc"), filepath.Join(folder, "config.json")}
		},
		shape: shape{command: "command", url: "url", stdio: kind("type", "local"), http: kind("type", "remote"), both: object{{"enabled", true}}},
	}
	c.hooks = c.beside("plugin", "todo-mcp.js")
	return c
}

func windsurf() Client {
	return Client{
		Name: "windsurf", Title: "Windsurf", desktop: true, programs: []string{"windsurf"}, servers: mcpServers,
		files: func(m Machine) []string { return []string{m.home(".codeium", "windsurf", "mcp_config.json")} },
		shape: shape{command: "command", args: "args", url: "serverUrl"},
		after: "refresh its list of MCP servers",
	}
}

func zed() Client {
	return Client{
		Name: "zed", Title: "Zed", desktop: true, programs: []string{"zed"}, servers: "context_servers",
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
		shape: shape{command: "command", args: "args", noArgs: true, url: "url", stdio: kind("source", "custom")},
	}
}

func goose() Client {
	return Client{
		Name: "goose", Title: "Goose", programs: []string{"goose"}, format: formatYAML, servers: "extensions", after: newSession,
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
		shape: shape{
			command: "cmd", args: "args", noArgs: true, url: "uri", name: "name", stdio: kind("type", "stdio"), http: kind("type", "streamable_http"),
			both: object{{"enabled", true}, {"description", "The todo list"}, {"timeout", 300}},
		},
	}
}

func kimi() Client {
	return Client{
		Name: "kimi", Title: "Kimi Code", programs: []string{"kimi"}, servers: mcpServers, after: newSession,
		files: func(m Machine) []string { // the second is that of kimi-cli, its forerunner
			return []string{filepath.Join(m.variable("KIMI_CODE_HOME", m.home(".kimi-code")), "mcp.json"), m.home(".kimi", "mcp.json")}
		},
		shape: shape{command: "command", args: "args", url: "url"},
	}
}

func qwen() Client {
	return Client{
		Name: "qwen", Title: "Qwen Code", programs: []string{"qwen"}, servers: mcpServers, after: newSession,
		files: func(m Machine) []string {
			return []string{filepath.Join(m.variable("QWEN_HOME", m.home(".qwen")), "settings.json")}
		},
		shape: shape{command: "command", args: "args", url: "httpUrl"},
	}
}

func crush() Client {
	return Client{
		Name: "crush", Title: "Crush", programs: []string{"crush"}, servers: "mcp", after: newSession,
		files: func(m Machine) []string {
			return []string{filepath.Join(m.variable("CRUSH_GLOBAL_CONFIG", filepath.Join(m.xdg(), "crush")), "crush.json")}
		},
		shape: typed("stdio", "http"),
	}
}

func cline() Client {
	return Client{
		Name: "cline", Title: "Cline", programs: []string{"cline"}, servers: mcpServers, after: "start a new task",
		desktop: true, // it is an extension of editors, too
		files: func(m Machine) []string { // the second is that of the extension before it shared the files of the command
			data := m.variable("CLINE_DATA_DIR", filepath.Join(m.variable("CLINE_DIR", m.home(".cline")), "data"))
			const file = "cline_mcp_settings.json"
			return []string{
				m.variable("CLINE_MCP_SETTINGS_PATH", filepath.Join(data, "settings", file)),
				filepath.Join(m.config(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", file),
			}
		},
		shape: shape{command: "command", args: "args", url: "url", http: kind("type", "streamableHttp")},
	}
}

func copilot() Client {
	c := Client{
		Name: "copilot", Title: "Copilot CLI", programs: []string{"copilot"}, servers: mcpServers, after: newSession,
		files: func(m Machine) []string {
			return []string{filepath.Join(m.variable("COPILOT_HOME", m.home(".copilot")), "mcp-config.json")}
		},
		shape: typed("local", "http"),
	}
	c.shape.noArgs = true
	c.shape.both = object{{"tools", []string{"*"}}}
	return c
}
