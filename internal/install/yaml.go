package install

import (
	"fmt"
	"regexp"
	"strings"
)

// yamlCall matches a line of a YAML file that calls this program, or an address as it
// serves.
var yamlCall = regexp.MustCompile(`(?m)^ +(?:cmd: *["']?(\S*?todo-mcp(?:\.exe)?)|uri: *["']?(\S+?/mcp[^\s"']*))["']? *\r?$`)

// searchYAML returns the server of this program in a YAML file if a plain search finds
// it. Its name is not known. Of several it is the one that o asks for.
func searchYAML(m Machine, o Options, data []byte) map[string]any {
	found := make(map[string]any)
	for _, call := range yamlCall.FindAllSubmatch(data, -1) {
		entry := map[string]any{"cmd": string(call[1])}
		if len(call[2]) > 0 {
			entry = map[string]any{"uri": string(call[2])}
		}
		if isOurs(m, o, entry) && (found[DefaultName] == nil || read(entry).URL == o.URL) {
			found[DefaultName] = entry
		}
	}
	return found
}

// byHandYAML says what to do with what is printed for a YAML file; nothing where the
// entry that is there is as wanted. Its arguments are not known.
func byHandYAML(there bool, is, wanted Server, o Options) string {
	switch {
	case !there:
		return "add this to it:\n\n"
	case is.Command == wanted.Command && is.URL == wanted.URL && o.Args == nil:
		return ""
	}
	return "write the extension that calls " + is.String() + " as here, with the arguments that it shall have:\n\n"
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
