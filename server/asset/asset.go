// Package asset makes style sheets and scripts small as they are served. It
// leaves out what only their readers need, so that no build step has to.
package asset

import "strings"

// Lines leaves out comments on lines of their own, and indents. No text in the
// source may go over several lines.
func Lines(source string) string {
	var out strings.Builder
	comment := false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		comment = comment || strings.HasPrefix(line, "/*")
		if !comment && line != "" && !strings.HasPrefix(line, "//") {
			out.WriteString(line + "\n")
		}
		comment = comment && !strings.HasSuffix(line, "*/")
	}
	return out.String()
}

// Script is Lines that also leaves out spaces around signs, and comments at the
// ends of lines. The script must have no regular expression.
func Script(source string) string {
	var out strings.Builder
	for line := range strings.Lines(Lines(source)) {
		out.WriteString(squeeze(strings.TrimSpace(line), script) + "\n") // the end of a line may end a statement
	}
	return out.String()
}

// Style is Lines that also leaves out spaces around signs, and the line breaks.
func Style(source string) string {
	var out strings.Builder
	for line := range strings.Lines(Lines(source)) {
		line = strings.TrimSpace(line)
		out.WriteString(squeeze(line, style))
		if last := line[len(line)-1]; last != '}' && last != '{' && last != ';' {
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// language says what may be left out of a line.
type language struct {
	signs string // beside which a space says nothing
	after string // after which one says nothing
	skip  string // what is left out whole; empty for nothing
	end   string // what begins a comment; empty for nothing
}

// script is JavaScript. In style a colon or plus in a selector or in calc means
// something else with a space before it; a rule in a block is nested without "&".
var (
	script = language{signs: "{}();,<>=?:&|", end: " //"}
	style  = language{signs: "{};,>", after: ":", skip: "& "}
)

// squeeze leaves out the spaces of a line that no text has and no word needs.
func squeeze(line string, l language) string {
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		if quote != 0 {
			if c == quote && line[i-1] != '\\' {
				quote = 0
			}
			out.WriteByte(c)
			continue
		}
		switch rest := line[i:]; {
		case l.end != "" && strings.HasPrefix(rest, l.end):
			return out.String()
		case l.skip != "" && strings.HasPrefix(rest, l.skip) && rest[len(l.skip)] != '{' && rest[len(l.skip)] != ',':
			i += len(l.skip) - 1
		case c == ' ' && l.needsNone(line[i-1], line[i+1]):
		default:
			if c == '\'' || c == '"' || c == '`' {
				quote = c
			}
			out.WriteByte(c)
		}
	}
	return out.String()
}

// needsNone reports whether a space between two signs says nothing.
func (l language) needsNone(before, after byte) bool {
	return strings.IndexByte(l.signs+l.after, before) >= 0 || strings.IndexByte(l.signs, after) >= 0
}
