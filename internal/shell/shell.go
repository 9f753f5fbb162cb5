// Package shell quotes commands for shells.
package shell

import (
	"regexp"
	"strings"
)

// Shell is a kind of shell.
type Shell string

// The shells.
const (
	POSIX      Shell = "a POSIX shell"
	PowerShell Shell = "PowerShell"
	Cmd        Shell = "cmd.exe"
)

var (
	plain          = regexp.MustCompile(`^[\w@%+:.,/=-]+$`) // a word that needs no quotes in a POSIX shell
	plainOnWindows = regexp.MustCompile(`^[\w+:./\\=-]+$`)  // a word that needs no quotes in PowerShell and cmd.exe
)

// apostrophe matches the characters that PowerShell takes for a single quote.
var apostrophe = regexp.MustCompile(`['\x{2018}-\x{201B}]`)

// Command returns a command line, with quotes where necessary. Words for cmd.exe must not contain a double quote.
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
	if s == PowerShell && strings.HasPrefix(line, "'") { // without &, PowerShell prints the line as a string
		line = "& " + line
	}
	return line
}

// Quote returns a word in quotes.
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
