package install

import (
	"regexp"
	"strings"
)

// Shell is what runs the command of a hook.
type Shell string

// The shells.
const (
	POSIX      Shell = "a POSIX shell"
	PowerShell Shell = "PowerShell"
	Cmd        Shell = "cmd.exe"
)

// plain matches a word that every shell reads as it is.
var plain = regexp.MustCompile(`^[\w@%+:.,/=-]+$`)

// Command returns a program with its arguments as the shell reads them. In words for
// cmd.exe there may be no quotation mark.
func (s Shell) Command(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = s.quote(w)
	}
	line := strings.Join(out, " ")
	if s == PowerShell && strings.HasPrefix(line, "'") { // which would be a text
		line = "& " + line
	}
	return line
}

func (s Shell) quote(word string) string {
	switch {
	case plain.MatchString(word):
		return word
	case s == PowerShell:
		return "'" + strings.ReplaceAll(word, "'", "''") + "'"
	case s == Cmd:
		return `"` + word + `"`
	default:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
}
