package clients

// Setup describes how to add a server to a client. In paths, internal/install expands ~ to the home folder and $NAME
// to a variable; | separates alternatives, of which the first that exists is used.
type Setup struct {
	Programs []string // its commands besides its Name; it counts as installed if a command is on PATH
	Files    []string // files with its servers, the usual one first; the extension says the format
	Servers  string   // key of the servers in the file; empty means mcpServers
	// Stdio and HTTP are the fields of a server's entry, in order. A field may have a fixed value, as JSON after a
	// colon; else the server to add gives its value. "args?" is left out if there are no arguments. "command+args" is
	// an array of the command and its arguments. Empty means the fields of most clients.
	Stdio, HTTP string
	Allow       Allow
	IsDesktop   bool   // not started in a terminal, so its PATH differs from a shell's
	NoHTTP      string // what to do instead, if its file cannot have a server over HTTP; else empty
	After       string // what a person does to make it see a new server; empty means to start a new session
}

// Allow is the setting that lets a client call the tools without asking; zero if it never asks or has no such setting.
type Allow struct {
	File  string // empty means the file with the servers
	Path  string // keys, separated by /; - is an item of an array
	Value string // as JSON; NAME in Path and Value is the name of the server
}

// FolderHeader is the header that tells a server over HTTP the folder. It is not set up for clients on Node or Bun:
// these could no longer call the server from a folder with a character outside Latin-1.
const FolderHeader = "Todo-Folder"

// Files with settings other than servers.
const (
	ClaudeFile = "$CLAUDE_CONFIG_DIR/settings.json|~/.claude/settings.json"
	GeminiFile = "$GEMINI_CLI_HOME/.gemini/settings.json|~/.gemini/settings.json"
	QwenFile   = "$QWEN_HOME/settings.json|~/.qwen/settings.json"
)

// Values that several clients share.
const (
	typedStdio    = `type: "stdio", command, args`
	typedHTTP     = `type: "http", url`
	opencodeStdio = `type: "local", command+args, enabled: true`
	opencodeHTTP  = `type: "remote", url, enabled: true`
	trustPath     = "mcpServers/NAME/trust" // of Gemini CLI and its forks
	clineFile     = "cline_mcp_settings.json"
	gooseMore     = `enabled: true, description: "The todo list", timeout: 300`
)
