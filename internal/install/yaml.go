package install

import (
	"cmp"
	"regexp"
	"strings"
)

// yamlLine matches a name, or the program, arguments or address of a server in a YAML file.
var yamlLine = regexp.MustCompile(`(?m)^ +(?:([\w-]+): *(?:#.*)?$|(cmd|args|uri): *(\S.*))`)

// readYAML returns the servers of Goose's file with their programs, arguments and addresses,
// as far as a search of its lines finds them. The file is not edited: a person adds what is
// printed.
func readYAML(data []byte) (map[string]any, error) {
	servers, name := make(map[string]any), ""
	for _, at := range yamlLine.FindAllStringSubmatch(string(data), -1) {
		name = cmp.Or(at[1], name)
		words := []any{}
		for word := range strings.FieldsFuncSeq(at[3], func(r rune) bool { return strings.ContainsRune(`[]"', `, r) }) {
			words = append(words, word)
		}
		if entry, _ := servers[name].(map[string]any); at[1] != "" || entry == nil {
			servers[name] = make(map[string]any)
		} else {
			entry[at[2]] = words
		}
	}
	return map[string]any{"extensions": servers}, nil
}

// byHand returns what to do in a file that is not edited, if anything, and what to write. Into
// a blank file this is written.
func (c Client) byHand(f serversFile, o Options, is, wanted Server) string {
	name := cmp.Or(o.Name, DefaultName)
	text := c.servers + ":\n  " + name + ":\n"
	for _, of := range c.shape(name, wanted) {
		value, _ := inLine(of.value) // which YAML has as JSON has it
		text += "    " + of.key + ": " + value + "\n"
	}
	switch {
	case o.Blank:
		f.after = []byte(text)
		return ""
	case f.entry == nil:
		return "add this to it:\n\n" + text
	case is.Command == wanted.Command && is.URL == wanted.URL && o.Args == nil:
		return ""
	}
	return "write the extension that calls " + is.String() + " as here, with the arguments that it shall have:\n\n" + text
}
