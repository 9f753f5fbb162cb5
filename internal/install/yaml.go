package install

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// readYAML returns the entries below a key of a YAML file. It is not edited: a person adds
// what is printed.
func readYAML(data []byte, key string) (map[string]any, error) {
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, contentError(": this is not YAML that can be read")
	}
	entries, _ := file[key].(map[string]any)
	return entries, nil
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
