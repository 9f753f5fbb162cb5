package hook

import (
	_ "embed"
	"encoding/json"
	"strings"

	"todo-mcp/tools"
)

// Setup is how a client is told to run a hook.
type Setup struct {
	// Entries are the hooks, of different events. A client without any has a plugin
	// instead, see [Setup.Plugin].
	Entries []Entry
	// Flat is true when a hook stands by itself in the list of its event, and has its
	// matcher; else it stands in a group, which has the matcher.
	Flat bool
	// Timeout is after how much of the client's unit of time it gives up a hook.
	Timeout int
	// Version is the version of the form of the file, if it must be there; else 0.
	Version int
	// StatusLine are the arguments of the command of a status line, if the client has
	// one.
	StatusLine string
	// Windows is the shell that runs hooks on Windows. Elsewhere it is [POSIX].
	Windows Shell
}

// Entry is a hook: when it is run.
type Entry struct {
	Event string
	// Matcher says for which tools, or starts, as the client matches them; empty is
	// all.
	Matcher string
}

// seconds is after how many seconds a client gives up a hook. Codex has a limit of its
// own for some, and warns of more.
const (
	seconds      = 5
	codexSeconds = 3
)

// FindSetup returns how the client with a name is told to run a hook, and whether that
// is known. A hook is run for the events that need one: others would start a process
// for nothing. What is known is from the programs themselves, Claude Code 2.1.330,
// Codex 0.169.0, Gemini CLI 0.61.0 and opencode 1.18.33, and from Cursor's
// documentation, as of November 2026; what their shell is on Windows, of Codex and
// Cursor, from reports of its users.
func FindSetup(client string) (Setup, bool) {
	s, ok := map[string]Setup{
		"claude-code": {Timeout: seconds, Windows: POSIX, StatusLine: "show --format statusline --claude-code", Entries: []Entry{
			{"PreToolUse", "mcp__.*__(" + strings.Join(tools.Names(), "|") + ")"},
			{"PostToolUse", builtInNames("claude-code")},
			{"SessionStart", "resume"}, {"SessionEnd", ""}, {"SubagentStop", ""},
		}},
		"codex": {Timeout: codexSeconds, Windows: PowerShell, Entries: []Entry{
			{"PostToolUse", builtInNames("codex")}, {"SessionStart", "resume"}, {"SessionEnd", ""},
		}},
		"gemini": {Timeout: seconds * 1000, Windows: PowerShell, Entries: []Entry{
			{"AfterTool", builtInNames("gemini-cli")}, {"SessionStart", "resume"}, {"SessionEnd", ""},
		}},
		"cursor": {Timeout: seconds, Windows: PowerShell, Flat: true, Version: 1, Entries: []Entry{
			{"postToolUse", builtInNames("cursor")}, {"sessionEnd", ""},
		}},
		"opencode": {Windows: Cmd},
	}[client]
	return s, ok
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

//go:embed opencode.js
var opencode string

// command is what stands in the plugin for the command to run.
const command = `"todo-mcp hook"`

// Plugin returns the text of the plugin of a client without hooks, which runs a shell
// command.
func Plugin(shellCommand string) string {
	quoted, _ := json.Marshal(shellCommand) // as JavaScript has it, too
	return strings.Replace(opencode, command, string(quoted), 1)
}

// ReadPlugin returns the command that such a plugin, of any version, runs; empty when
// that cannot be read. It reports whether the text is one.
func ReadPlugin(text string) (shellCommand string, ok bool) {
	begin, _, _ := strings.Cut(opencode, "\n")
	if !strings.HasPrefix(text, begin) {
		return "", false
	}
	before, _, _ := strings.Cut(opencode, command)
	if _, rest, found := strings.Cut(text, before[strings.LastIndex(before, "\n"):]); found {
		line, _, _ := strings.Cut(rest, "\n")
		_ = json.Unmarshal([]byte(strings.TrimSpace(line)), &shellCommand)
	}
	return shellCommand, true
}
