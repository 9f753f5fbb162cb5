package install

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
)

//go:embed opencode.js
var opencodePlugin string

var pluginLine = regexp.MustCompile(`(?m)^const command = (".*")$`)

// readPlugin reads the plugin of a client without hooks: its only value is the shell command
// that it runs, which is empty when a plugin of another version has none that can be read.
// Another plugin has no value.
func readPlugin(data []byte) (map[string]any, error) {
	begin, _, _ := strings.Cut(opencodePlugin, "\n")
	if !bytes.HasPrefix(data, []byte(begin)) {
		return nil, nil
	}
	command := ""
	if line := pluginLine.FindSubmatch(data); line != nil {
		_ = json.Unmarshal(line[1], &command)
	}
	return map[string]any{pluginPath: command}, nil
}

// setPlugin returns the plugin of this version with a command; nothing if that is nil.
func setPlugin(data []byte, command any, _ ...any) ([]byte, error) {
	if root, _ := readPlugin(data); root == nil && len(data) > 0 {
		return nil, contentError(": this is another plugin, which stays")
	}
	if command == nil {
		return nil, nil
	}
	quoted, err := json.Marshal(command) // as JavaScript has it, too
	return []byte(strings.Replace(opencodePlugin, `"todo-mcp hook"`, string(quoted), 1)), err
}
