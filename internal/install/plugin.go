package install

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed opencode.js
var opencodePlugin string

// pluginCommand is what stands in the plugin for the command to run.
const pluginCommand = `"todo-mcp hook"`

// plugin returns the text of the plugin of a client without hooks, which runs a shell
// command.
func plugin(shellCommand string) string {
	quoted, _ := json.Marshal(shellCommand) // as JavaScript has it, too
	return strings.Replace(opencodePlugin, pluginCommand, string(quoted), 1)
}

// readPlugin returns the command that such a plugin, of any version, runs; empty when
// that cannot be read. It reports whether the text is one.
func readPlugin(text string) (shellCommand string, ok bool) {
	begin, _, _ := strings.Cut(opencodePlugin, "\n")
	if !strings.HasPrefix(text, begin) {
		return "", false
	}
	before, _, _ := strings.Cut(opencodePlugin, pluginCommand)
	if _, rest, found := strings.Cut(text, before[strings.LastIndex(before, "\n"):]); found {
		line, _, _ := strings.Cut(rest, "\n")
		_ = json.Unmarshal([]byte(strings.TrimSpace(line)), &shellCommand)
	}
	return shellCommand, true
}
