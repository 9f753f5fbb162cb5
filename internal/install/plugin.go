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

// pluginFile is the plugin of a client without hooks, as it is edited: its only value is
// the shell command that it runs.
type pluginFile string

// at returns the command, which is empty when a plugin of another version has none that
// can be read; nil when this is no plugin of this program.
func (p *pluginFile) at(...string) any {
	begin, _, _ := strings.Cut(opencodePlugin, "\n")
	if !strings.HasPrefix(string(*p), begin) {
		return nil
	}
	command := ""
	before, _, _ := strings.Cut(opencodePlugin, pluginCommand)
	if _, rest, found := strings.Cut(string(*p), before[strings.LastIndex(before, "\n"):]); found {
		line, _, _ := strings.Cut(rest, "\n")
		_ = json.Unmarshal([]byte(strings.TrimSpace(line)), &command)
	}
	return command
}

// set writes the plugin of this version with a command.
func (p *pluginFile) set(command any, _ ...string) error {
	switch isOurs := p.at() != nil; {
	case command == nil && isOurs:
		*p = ""
	case command == nil:
	case *p != "" && !isOurs:
		return contentError(": this is another plugin, which stays")
	default:
		quoted, _ := json.Marshal(command) // as JavaScript has it, too
		*p = pluginFile(strings.Replace(opencodePlugin, pluginCommand, string(quoted), 1))
	}
	return nil
}

func (p *pluginFile) text() []byte { return []byte(*p) }

func (p *pluginFile) isBare() bool { return *p == "" }
