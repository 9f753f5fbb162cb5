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

// Nearest returns which of some names was probably meant; empty for none.
func Nearest(typed string, names []string) (meant string) {
	least := 3
	for _, name := range names {
		if d := distance(strings.ToLower(typed), strings.ToLower(name)); d < least && d < len(name)-1 {
			meant, least = name, d
		}
	}
	return meant
}

// distance returns how many characters must be added, removed, replaced or swapped
// with their neighbour to make one text the other.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case x[i-1] == y[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}
