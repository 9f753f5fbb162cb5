package clients

// Setup is how a client is told of a server. Places are as internal/install reads them:
// ~ is the user's folder, $NAME a variable, and | stands between a place and the next one,
// which counts where the first is not there.
type Setup struct {
	// Programs are its commands: one on PATH shows that the client is here. Nil is its name.
	Programs []string
	// Files are where its servers may be, the usual place first. A file is edited as its
	// name says.
	Files []string
	// Servers is the key under which its servers are in the file. Empty is mcpServers.
	Servers string
	// Stdio and HTTP are the fields of a server's entry, in their order, for the two ways
	// to it. One has its value behind it, as JSON, or else the value that the server has for
	// it; "args?" is left out if there are no arguments, and "command+args" has the whole
	// command. Empty is what most clients have.
	Stdio, HTTP string
	// Allow is how it is told to run the tools of a server without asking.
	Allow Allow
	// IsDesktop is true for what is not started in a terminal, whose PATH it lacks.
	IsDesktop bool
	// NoHTTP says of a client that reaches no server over HTTP by its file what its people
	// do instead; empty for others.
	NoHTTP string
	// After is what a person does so that the client sees a new server. Empty is to start a
	// new session.
	After string
}

// Allow is a setting by which a client runs the tools of a server without asking its user each
// time. The zero Allow is of a client that never asks, or has no such setting for good.
type Allow struct {
	// File has the setting; empty is the file with the servers.
	File string
	// Path are the keys to it, with / between them, and - for an item among others.
	Path string
	// Value is what stands there, as JSON. In it and in the path NAME is what the server is called.
	Value string
}

// FolderHeader is the header by which a server over HTTP learns the folder. Clients in Node
// and Bun put one in, too, but cannot call a server any more from a folder whose path is not
// Latin-1.
const FolderHeader = "Todo-Folder"

// Files that are not for servers alone, or not at all.
const (
	ClaudeFile = "$CLAUDE_CONFIG_DIR/settings.json|~/.claude/settings.json"
	GeminiFile = "$GEMINI_CLI_HOME/.gemini/settings.json|~/.gemini/settings.json"
	QwenFile   = "$QWEN_HOME/settings.json|~/.qwen/settings.json"
)

// Fields that several clients have, and a file that is named several times.
const (
	typedStdio = `type: "stdio", command, args`
	typedHTTP  = `type: "http", url`

	opencodeStdio = `type: "local", command+args, enabled: true`
	opencodeHTTP  = `type: "remote", url, enabled: true`

	trustPath = "mcpServers/NAME/trust" // of Gemini CLI and what came of it

	clineFile = "cline_mcp_settings.json"
	gooseMore = `enabled: true, description: "The todo list", timeout: 300`
)
