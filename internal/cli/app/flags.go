package app

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	flag "github.com/spf13/pflag"
)

var (
	commandWord = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
	quoted      = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
)

// SplitCommandLine splits a command line at spaces. Double or single quotes keep
// a part with spaces together; a backslash is a character like any other, since
// paths on Windows have them.
func SplitCommandLine(text string) (parts []string, err error) {
	if strings.TrimSpace(commandWord.ReplaceAllString(text, "")) != "" {
		return nil, fmt.Errorf("%q: a quotation mark is not closed", text)
	}
	for _, word := range commandWord.FindAllString(text, -1) {
		parts = append(parts, quoted.ReplaceAllString(word, "${1}${2}"))
	}
	return parts, nil
}

// WordFlag adds a flag whose value is one of some words.
func WordFlag(fs *flag.FlagSet, name, def, usage string, words ...string) *string {
	value := def
	fs.Func(name, usage, word(&value, words...).set)
	fs.Lookup(name).DefValue = def
	return &value
}

// NumberFlag adds a flag whose value is a whole number from 0 to most.
func NumberFlag(fs *flag.FlagSet, name string, def int, usage string, most int) *int {
	value := def
	fs.Func(name, usage, number(&value, "", 1, 0, most).set)
	fs.Lookup(name).DefValue = strconv.Itoa(def)
	return &value
}

// Nearest returns which of some names was probably meant: one that differs in one place,
// by at most two characters and not by all of them. It is empty for none.
func Nearest(typed string, names []string) (meant string) {
	least := 3
	for _, name := range names {
		if d := difference(strings.ToLower(typed), strings.ToLower(name)); d < least && d < len(name)-1 {
			meant, least = name, d
		}
	}
	return meant
}

// difference returns how many characters are left of the longer text without the
// beginning and the end that both have.
func difference(a, b string) int {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b))
}
