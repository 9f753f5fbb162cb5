package install

import (
	"fmt"
	"strings"
)

// searchYAML returns the entries below a key of a YAML file, with their program, arguments
// and address, as far as a search of its lines finds them. The file is not edited: a person
// adds what is printed.
func searchYAML(data []byte, servers string) map[string]any {
	found := make(map[string]any)
	var entry map[string]any
	within, names, last := false, "", "" // in servers; the indentation of names; the key before
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, " #")
		text := strings.TrimSpace(line)
		indentation := line[:len(line)-len(strings.TrimLeft(line, " "))]
		key, value, isKey := strings.Cut(text, ":")
		argument, isArgument := strings.CutPrefix(text, "- ")
		switch {
		case text == "":
		case indentation == "":
			within, names, entry = text == servers+":", "", nil
		case within && isKey && value == "" && (names == "" || indentation == names):
			names, entry = indentation, make(map[string]any)
			found[key] = entry
		case entry == nil:
		case isArgument && last == "args":
			args, _ := entry[last].([]any)
			entry[last] = append(args, unquoted(argument))
		case strings.HasPrefix(strings.TrimSpace(value), "["):
			var args []any
			for arg := range strings.SplitSeq(strings.Trim(value, " []"), ",") {
				args = append(args, unquoted(arg))
			}
			entry[key], last = args, key
		default:
			entry[key], last = unquoted(value), key
		}
	}
	return found
}

func unquoted(value string) string { return strings.Trim(strings.TrimSpace(value), `"'`) }

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
