package install

import (
	"fmt"
	"regexp"
	"strings"
)

// yamlLine matches the name of an entry, and the line of it that has a program or an
// address.
var yamlLine = regexp.MustCompile(`(?m)^(?: {2}(\S+):| +(cmd|uri): *["']?(.*?)["']?) *\r?$`)

// searchYAML returns the entries that a plain search of a YAML file finds below any key. It
// is not edited: a person adds what is printed. Of commands only the program is known.
func searchYAML(data []byte) map[string]any {
	found, name := make(map[string]any), ""
	for _, line := range yamlLine.FindAllSubmatch(data, -1) {
		if len(line[1]) > 0 {
			name = string(line[1])
		} else {
			found[name] = map[string]any{string(line[2]): string(line[3])}
		}
	}
	return found
}

// byHand says what to do with what is printed for a YAML file; nothing where the entry that
// is there is as wanted.
func byHand(exists bool, is, wanted Server, o Options) string {
	switch {
	case !exists:
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
