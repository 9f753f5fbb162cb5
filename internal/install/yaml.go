package install

import (
	"fmt"
	"regexp"
	"strings"
)

// yamlCall matches a line of a YAML file that calls this program, or an address as it
// serves.
var yamlCall = regexp.MustCompile(`(?m)^ +(?:cmd: *["']?(\S*?todo-mcp(?:\.exe)?)|uri: *["']?(\S+?/mcp[^\s"']*))["']? *\r?$`)

// searchYAML returns the servers in a YAML file that are found by a plain search. Their
// names are not known.
func searchYAML(data []byte) map[string]any {
	found := make(map[string]any)
	for _, call := range yamlCall.FindAllSubmatch(data, -1) {
		entry := map[string]any{"cmd": string(call[1])}
		if len(call[2]) > 0 {
			entry = map[string]any{"uri": string(call[2])}
		}
		found[DefaultName] = entry
	}
	return found
}

// yamlSnippet returns a server as it stands in a YAML file.
func yamlSnippet(key, name string, fields object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n  %s:\n", key, name)
	for _, f := range fields {
		text, _ := inLine(f.value) // which YAML has as JSON has it
		fmt.Fprintf(&b, "    %s: %s\n", f.key, text)
	}
	return b.String()
}
