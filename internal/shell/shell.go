// Package shell writes commands as shells read them.
package shell

import (
	"regexp"
	"strings"
)

// Shell is a program that reads lines and runs commands.
type Shell string

// The shells.
const (
	POSIX      Shell = "a POSIX shell"
	PowerShell Shell = "PowerShell"
	Cmd        Shell = "cmd.exe"
)

// plain and plainOnWindows match a word that a POSIX shell reads as it is, and that both of
// Windows do.
var (
	plain          = regexp.MustCompile(`^[\w@%+:.,/=-]+$`)
	plainOnWindows = regexp.MustCompile(`^[\w+:./\\=-]+$`)
)

// apostrophe matches what ends a text of PowerShell that begins with one.
var apostrophe = regexp.MustCompile(`['\x{2018}-\x{201B}]`)

// Command returns a program with its arguments as the shell reads them. In words for
// cmd.exe there may be no quotation mark.
func (s Shell) Command(words ...string) string {
	out, isPlain := make([]string, len(words)), plainOnWindows
	if s == POSIX {
		isPlain = plain
	}
	for i, w := range words {
		if out[i] = w; !isPlain.MatchString(w) {
			out[i] = s.Quote(w)
		}
	}
	line := strings.Join(out, " ")
	if s == PowerShell && strings.HasPrefix(line, "'") { // which would be a text
		line = "& " + line
	}
	return line
}

// Quote returns a word between quotation marks.
func (s Shell) Quote(word string) string {
	switch s {
	case PowerShell:
		return "'" + apostrophe.ReplaceAllString(word, "$0$0") + "'"
	case Cmd:
		return `"` + word + `"`
	default:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
}
