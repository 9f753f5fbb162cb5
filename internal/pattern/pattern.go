// Package pattern has regular expressions that are compiled when they are first used: most
// runs of the program use none, and compiling them all took a millisecond of its start.
package pattern

import (
	"regexp"
	"sync"
)

// Of returns a function that returns a regular expression. It panics if that is wrong.
func Of(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
