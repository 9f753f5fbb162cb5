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
	// IsDesktop is true for what is not started in a terminal, whose PATH it lacks.
	IsDesktop bool
	// NoHTTP says of a client that reaches no server over HTTP by its file what its people
	// do instead; empty for others.
	NoHTTP string
	// After is what a person does so that the client sees a new server. Empty is to start a
	// new session.
	After string
}

// FolderHeader is the header by which a server over HTTP learns the folder. Clients in Node
// and Bun put one in, too, but cannot call a server any more from a folder whose path is not
// Latin-1.
const FolderHeader = "Todo-Folder"

// Files that have both servers and hooks.
const (
	GeminiFile = "$GEMINI_CLI_HOME/.gemini/settings.json|~/.gemini/settings.json"
	QwenFile   = "$QWEN_HOME/settings.json|~/.qwen/settings.json"
)

// Fields that several clients have, and a file that is named several times.
const (
	typedStdio = `type: "stdio", command, args`
	typedHTTP  = `type: "http", url`

	opencodeStdio = `type: "local", command+args, enabled: true`
	opencodeHTTP  = `type: "remote", url, enabled: true`

	clineFile = "cline_mcp_settings.json"
	gooseMore = `enabled: true, description: "The todo list", timeout: 300`
)
