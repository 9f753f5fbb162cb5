package app

import (
	"fmt"
	"strings"
	"unicode"
)

// SplitCommandLine splits a command line at spaces. Double or single quotes keep
// a part with spaces together; a backslash is a character like any other, since
// paths on Windows have them.
func SplitCommandLine(text string) (parts []string, err error) {
	var part strings.Builder
	var quote rune // the open quotation mark, or 0
	begun := false
	for _, r := range text {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && unicode.IsSpace(r):
			if begun {
				parts = append(parts, part.String())
			}
			part.Reset()
			begun = false
		default:
			part.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q: a quotation mark is not closed", text)
	}
	if begun {
		parts = append(parts, part.String())
	}
	return parts, nil
}
