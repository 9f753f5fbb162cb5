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
	fs.Func(name, usage, func(text string) error {
		value = text
		return CheckWord(text, words...)
	})
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
