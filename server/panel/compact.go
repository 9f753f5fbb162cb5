package panel

import (
	"bytes"
	"strings"
)

// compact leaves out of a style sheet or script what only its readers need:
// comments on lines of their own, indents, and spaces around signs. No text in
// them goes over several lines, and the script has no regular expression.
func compact(source []byte, script bool) []byte {
	var out bytes.Buffer
	comment := false
	for line := range strings.Lines(string(source)) {
		line = strings.TrimSpace(line)
		comment = comment || strings.HasPrefix(line, "/*")
		if !comment && line != "" && !strings.HasPrefix(line, "//") {
			out.WriteString(squeeze(line, script))
			if script {
				out.WriteByte('\n') // it may end a statement
			} else if !strings.HasSuffix(line, "}") && !strings.HasSuffix(line, "{") && !strings.HasSuffix(line, ";") {
				out.WriteByte(' ')
			}
		}
		comment = comment && !strings.HasSuffix(line, "*/")
	}
	return out.Bytes()
}

// squeeze leaves out the spaces of a line that no text has and no word needs, and
// a comment at its end.
func squeeze(line string, script bool) string {
	signs := "{};,>" // a colon or plus in a selector or in calc means something else with a space
	if script {
		signs = "{}();,<>=?:&|"
	}
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == quote && line[i-1] != '\\' {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case script && strings.HasPrefix(line[i:], " //"):
			return out.String()
		case !script && strings.HasPrefix(line[i:], "& ") && line[i+2] != '{' && line[i+2] != ',':
			i++ // nested in a block anyway
			continue
		case c == ' ' && i+1 < len(line) && (strings.IndexByte(signs, line[i+1]) >= 0 || strings.IndexByte(signs, line[i-1]) >= 0 || !script && line[i-1] == ':'):
			continue
		case !script && c == ';' && strings.HasPrefix(strings.TrimSpace(line[i+1:]), "}"):
			continue // the last of a block needs none
		}
		out.WriteByte(c)
	}
	return out.String()
}
